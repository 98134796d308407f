"""ModelServers: what is read, what is refused and in which words, and what the API server's schema takes."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from shoal.resources import ManifestError, ModelServer, dump, load, parse, parse_server
from shoal.resources.model_server_crd import model_server_crd
from shoal.resources.schema import model_server_schema

from .json_schema import plain
from .manifests import changed, faults_of, manifest, told

SCHEMA = jsonschema.Draft202012Validator(plain(model_server_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))

EVERYTHING: dict[str, Any] = yaml.safe_load("""
apiVersion: shoal.dev/v1
kind: ModelServer
metadata: {name: digits, namespace: team, labels: {team: a}}
spec:
  models:
  - name: digits
    basePath: /models/digits
    versionPolicy: {specific: {versions: [1, 2]}}
    labels: {stable: 1, canary: 2}
  - {name: newest, basePath: /models/newest, versionPolicy: {latest: {count: 2}}}
  - {name: every.one, basePath: /models, versionPolicy: {all: true}}
  server: Shoal
  image: example/server:1
  autoscaling: {minReplicas: 2, maxReplicas: 5, requestsInFlight: 8}
  ports: {grpc: 80, rest: 81, legacyGrpc: 9000}
  ingress:
    host: models.example.com
    path: /digits
    className: nginx
    tls: {secretName: certificate}
    canaryWeight: 10
    annotations: {a/b: c}
  gateway:
    name: public
    namespace: gateways
    sectionName: https
    host: '*.example.com'
    path: /digits
    weights: {digits: 9, digits-next: 1}
  batching:
    maxBatchSize: 32
    batchTimeoutMicros: 0
    maxEnqueuedBatches: 100
    numBatchThreads: 4
    allowedBatchSizes: [8, 32]
    padVariableLengthInputs: true
  storage:
  - {name: models, mountPath: /models, existingClaim: train}
  resources: {requests: {cpu: 500m}, limits: {memory: 1Gi}}
  gpu: {count: 2, models: [A100]}
  podDisruptionBudget: {minAvailable: 1}
  template:
    metadata: {labels: {tier: web}}
    spec:
      serviceAccountName: reader
      containers:
      - {name: server, env: [{name: A, value: b}]}
      - {name: beside, image: example/beside}
status:
  phase: Ready
  message: all is well
  conditions:
  - {type: Ready, status: 'True', reason: ServerReady, message: m, lastTransitionTime: '2026-01-01T00:00:00.000000Z',
     observedGeneration: 3}
  replicas: 2
  readyReplicas: 2
  updatedReplicas: 2
  models:
  - name: digits
    versions:
    - {version: 3, state: END, replicas: 2, message: no such file}
    - {version: 2, state: AVAILABLE, replicas: 2}
  servedVersions: digits:2
  silentReplicas: 1
  selector: a=b
  url: https://models.example.com
  grpc: digits.team:80
  observedGeneration: 3
""")
SMALL: dict[str, Any] = {
    "apiVersion": "shoal.dev/v1",
    "kind": "ModelServer",
    "metadata": {"name": "digits"},
    "spec": {"models": [{"name": "digits", "basePath": "s3://bucket/digits"}]},
}
FOREIGN = ("metadata", "spec.template", "spec.resources", "spec.storage")
"""Where Kubernetes' own fields begin, or those of TFJob."""


def fields(schema: dict[str, Any], path: str = "") -> set[str]:
    if path in FOREIGN:
        return {path}
    if "items" in schema:
        return fields(schema["items"], path)
    if "properties" not in schema:
        return {path}
    return set().union(*(fields(part, f"{path}.{name}".lstrip(".")) for name, part in schema["properties"].items()))


def written(value: Any, path: str = "") -> set[str]:
    if path in FOREIGN:
        return {path}
    if isinstance(value, list):
        return set().union(*(written(each, path) for each in value)) or {path}
    if not isinstance(value, dict) or path.rpartition(".")[2] in ("labels", "annotations", "weights"):
        return {path}
    return set().union(*(written(part, f"{path}.{name}".lstrip(".")) for name, part in value.items()))


def test_the_example_of_everything_has_every_field():
    assert fields(model_server_schema()) - written(EVERYTHING) == {"spec.replicas", "spec.autoscaling.cpuUtilization",
                                                                   "spec.podDisruptionBudget.maxUnavailable"}  # fmt: skip


@pytest.mark.parametrize("value", [EVERYTHING, SMALL], ids=["everything", "small"])
def test_nothing_is_lost_or_changed(tmp_path, value):
    SCHEMA.validate(value)
    server = parse_server(value)
    assert server.dump() == value
    (tmp_path / "server.yaml").write_text(dump(server))
    (document,) = load(tmp_path / "server.yaml")
    assert (document.server, document.job) == (server, None)


def test_jobs_and_servers_share_a_file(tmp_path):
    (tmp_path / "both.yaml").write_text(f"{yaml.safe_dump(manifest())}---\n{yaml.safe_dump(SMALL)}")
    job, server = load(tmp_path / "both.yaml")
    assert (job.job is not None, isinstance(server.resource, ModelServer)) == (True, True)


def test_a_list_as_kubectl_writes_it(tmp_path):
    both = {"apiVersion": "v1", "kind": "List", "items": [SMALL, manifest()]}
    alone = {"apiVersion": "shoal.dev/v1", "kind": "ModelServerList", "items": [SMALL]}
    for number, value in enumerate((both, alone)):
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump(value))
    assert [type(each.resource).__name__ for each in load(tmp_path)] == ["ModelServer", "TFJob", "ModelServer"]


def test_one_kind_is_not_taken_for_the_other():
    with pytest.raises(ManifestError, match="kind: expected ModelServer, found TFJob"):
        parse_server(manifest())
    with pytest.raises(ManifestError, match="kind: expected TFJob, found ModelServer"):
        parse(SMALL)


def test_a_model_server_of_another_group_is_left_alone(tmp_path):
    other = {"apiVersion": "models.example.com/v1", "kind": "ModelServer", "metadata": {"name": "x"}, "any": 1}
    assert faults_of(tmp_path, other) == []


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("kind", "Modelserver", ['kind: no such kind as "Modelserver"; did you mean ModelServer?']),
        ("kind", "ModelSever", ['kind: shoal.dev/v1 has no kind "ModelSever"; did you mean ModelServer?']),
        ("kind", "Thing", ['kind: shoal.dev/v1 has no kind "Thing"; it has TFJob, ModelServer, TensorBoard, Workbench']),
        ("apiVersion", "shoal.dev/v2", ['apiVersion: no ModelServer in "shoal.dev/v2"; did you mean shoal.dev/v1?']),
        ("apiVersion", "kubeflow.org/v1", ['apiVersion: no ModelServer in "kubeflow.org/v1"; write shoal.dev/v1']),
        ("metadata.name", ..., ["metadata.name: missing; name the server"]),
        ("metadata.name", "My_Server", ['metadata.name: "My_Server" cannot be a host name; use lower-case letters, digits and dashes, and begin with a letter, as in my-server']),
        ("metadata.name", "a" * 64, ["metadata.name: too long for a host name; shorten it to 63 characters"]),
        ("spec.models", [], ["spec.models: empty; the models"]),
        ("spec.models.0.basepath", "/m", ["spec.models[0].basepath: unknown field; did you mean basePath?"]),
        ("spec.models.0.basePath", "models", ['spec.models[0].basePath: "models" is not absolute; begin it with /, as the container sees it']),
        ("spec.models.0.basePath", "/models", ["spec.models[0].basePath: nothing is mounted at /models; add spec.storage, or an image that has the model"]),
        ("spec.models.0.name", "a/b", ['spec.models[0].name: "a/b" does not match ^[A-Za-z0-9_.-]+$; what clients call it: letters, digits, dots, dashes and underscores']),
        ("spec.models.0.versionPolicy", {}, ["spec.models[0].versionPolicy: no policy; give one of latest, all: true, and specific"]),
        ("spec.models.0.versionPolicy", {"latest": {}, "all": True}, ["spec.models[0].versionPolicy.all: a second policy beside latest; keep one of the two"]),
        ("spec.models.0.versionPolicy", {"all": False}, ["spec.models[0].versionPolicy.all: false says nothing; write true, or leave the policy out"]),
        ("spec.models.0.versionPolicy", {"latest": {"count": 0}}, ["spec.models[0].versionPolicy.latest.count: 0 is too small: at least 1; how many"]),
        ("spec.server", "shoal", ['spec.server: "shoal" is not one of TensorFlowServing, Shoal; did you mean Shoal?']),
        ("spec.server", "Shoal", ["spec.models[0].basePath: Shoal's server reads folders alone; mount it, or use server: TensorFlowServing"]),
        ("spec.autoscaling", {"maxReplicas": 3}, ["spec.autoscaling: by what?; give one of cpuUtilization and requestsInFlight"]),
        ("spec.autoscaling", {"maxReplicas": 3, "cpuUtilization": 80}, ["spec.autoscaling.cpuUtilization: percent of what?; add spec.resources.requests.cpu"]),
        ("spec.autoscaling", {"maxReplicas": 3, "requestsInFlight": 8}, ["spec.autoscaling.requestsInFlight: TensorFlow Serving does not count them; use cpuUtilization"]),
        ("spec.autoscalling", {}, ["spec.autoscalling: unknown field; did you mean autoscaling?"]),
        ("spec.ports", {"grpc": 8501}, ["spec.ports.grpc: 8501 is rest already; choose another"]),
        ("spec.ports", {"legacyGrpc": 90000}, ["spec.ports.legacyGrpc: 90000 is too large: at most 65535; A second port for gRPC, such as the 9000 that clients of older set-ups call"]),
        ("spec.batching", {"allowedBatchSizes": [8, 4]}, ["spec.batching.allowedBatchSizes: the sizes do not rise; write [4, 8]"]),
        ("spec.batching", {"allowedBatchSizes": [4, 8], "maxBatchSize": 16}, ["spec.batching.allowedBatchSizes: ends in 8, and maxBatchSize is 16; make the two equal"]),
        ("spec.storage", [{"name": "m", "mountPath": "/m"}], ["spec.storage[0]: no source; give one of existingClaim, nfs, or size (to make a claim)"]),
        ("spec.podDisruptionBudget", {}, ["spec.podDisruptionBudget: empty; give one of maxUnavailable and minAvailable"]),
        ("spec.podDisruptionBudget", {"maxUnavailable": 1, "minAvailable": 1}, ["spec.podDisruptionBudget.minAvailable: a second bound beside maxUnavailable; keep one of the two"]),
        ("spec.gateway", {"name": "g", "weights": {"other": 1}}, ["spec.gateway.weights: this server has no share; add digits: 1, or remove the weights"]),
        ("spec.gateway", {"name": "g", "weights": {"digits": 0}}, ["spec.gateway.weights: nobody has a share; give one server a weight above 0"]),
        ("spec.ingress", {"path": "digits"}, ['spec.ingress.path: "digits" does not match ^/; everything below this path goes to the server, without the path (ingress-nginx takes it off)']),
        ("spec.resources", {"requests": {"cpu": 2}, "limits": {"cpu": "1"}}, ["spec.resources.requests.cpu: 2 is more than the limit, 1; raise the limit"]),
        ("spec.resources", {"limits": {"nvidia.com/gpu": "0.5"}}, ["spec.resources.limits[nvidia.com/gpu]: 0.5 is not a whole number of devices; devices come whole"]),
        ("spec.template.spec", {"containers": [{"name": "server", "image": "x"}]}, ["spec.template.spec.containers[0].image: the server has its own; write spec.image"]),
        ("spec.template.spec", {"containers": [{"name": "beside"}]}, ["spec.template.spec.containers[0].image: missing; name the image that the container runs"]),
        ("spec.template.spec", {"containers": [{"name": "server", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}, ['spec.template.spec.containers[0].volumeMounts[0].name: no volume is named "v"; add it to the template\'s spec.volumes']),
        ("spec.template.spec", {"nodeSelecter": {}}, ["spec.template.spec.nodeSelecter: unknown field; did you mean nodeSelector?"]),
    ],
)  # fmt: skip
def test_what_is_refused_and_in_which_words(tmp_path, path, value, expected):
    assert told(faults_of(tmp_path, changed(SMALL, path, value))) == expected


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.models.0.labels.next", 3, ["spec.models[0].labels.next: version 3 is not served; add it to versionPolicy.specific.versions"]),
        ("spec.models.1.name", "digits", ['spec.models[1].name: "digits" is already item 0']),
        ("spec.replicas", 2, ["spec.replicas: autoscaling decides how many there are; remove it, or autoscaling"]),
        ("spec.autoscaling.minReplicas", 6, ["spec.autoscaling.minReplicas: more than maxReplicas; at most 5"]),
        ("spec.autoscaling.cpuUtilization", 80, ["spec.autoscaling.requestsInFlight: a second measure beside cpuUtilization; keep one of the two"]),
        ("spec.resources.limits", {"nvidia.com/gpu": 1}, ["spec.resources.limits[nvidia.com/gpu]: GPUs are asked for twice; remove this limit, or spec.gpu"]),
        ("spec.image", ..., []),
        ("spec.storage.0.mountPath", "/models/digits", []),
    ],
)  # fmt: skip
def test_what_must_fit_together(tmp_path, path, value, expected):
    assert told(faults_of(tmp_path, changed(EVERYTHING, path, value))) == expected


def test_a_model_outside_of_every_mount_is_found_without_an_image_of_the_users(tmp_path):
    server = changed(changed(EVERYTHING, "spec.image", ...), "spec.storage.0.mountPath", "/models/digits")
    assert told(faults_of(tmp_path, server)) == [
        "spec.models[1].basePath: nothing is mounted at /models/newest; mounted are /models/digits",
        "spec.models[2].basePath: nothing is mounted at /models; mounted are /models/digits",
    ]


def test_all_faults_are_told_at_once(tmp_path):
    server = changed(changed(SMALL, "spec.replicas", -1), "spec.models.0.basePath", "models")
    assert len(faults_of(tmp_path, changed(server, "spec.ports", {"rest": 8500}), changed(SMALL, "spec", {}))) == 4
