"""What a ModelServer is on Kubernetes: golden files, and the facts in them that matter.

After an intended change: UPDATE_GOLDEN=1 pytest tests/unit/kubernetes, and read the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.kubernetes.serving.config import batching_parameters, model_list
from shoal.kubernetes.serving.of_job import model_server
from shoal.kubernetes.serving.render import render_server
from shoal.kubernetes.serving.routes import grpc, url
from shoal.resources import load, parse, parse_server
from tests.unit.resources.manifests import changed, manifest

HERE = Path(__file__).parent
EVERYTHING = HERE / "model-server.yaml"
MANIFESTS = [EVERYTHING, *sorted((HERE.parents[2] / "examples" / "serving").glob("*.yaml"))]
SMALL: dict[str, Any] = {
    "apiVersion": "shoal.dev/v1",
    "kind": "ModelServer",
    "metadata": {"name": "digits"},
    "spec": {"models": [{"name": "digits", "basePath": "s3://bucket/digits"}]},
}


def everything(path: str = "metadata.name", value: Any = "digits") -> dict[str, dict[str, Any]]:
    return of_kind(changed(yaml.safe_load(EVERYTHING.read_text()), path, value))


def small(path: str = "metadata.name", value: Any = "digits") -> dict[str, dict[str, Any]]:
    return of_kind(changed(SMALL, path, value))


def of_kind(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in render_server(parse_server(manifest))}


def container(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_golden(path):
    golden = HERE / "golden" / f"serving-{path.stem}.yaml"
    servers = [document.server for document in load(path) if document.server]
    rendered = yaml.safe_dump_all([each for server in servers for each in render_server(server)], sort_keys=False)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(rendered)
    assert rendered == golden.read_text()


def test_the_smallest_server_is_a_deployment_and_a_service():
    assert list(small()) == ["ConfigMap", "Deployment", "Service", "PodDisruptionBudget"]
    assert small()["Deployment"]["spec"]["replicas"] == 1
    assert small("spec.replicas", 0)["Deployment"]["spec"]["replicas"] == 0


def test_everything_has_every_object():
    kinds = "ConfigMap PersistentVolume PersistentVolumeClaim Deployment Service PodDisruptionBudget"
    assert list(everything()) == [*kinds.split(), "HorizontalPodAutoscaler", "Ingress", "HTTPRoute"]


def test_original_parses_the_texts():
    """By TensorFlow Serving's own protocol buffers."""
    from google.protobuf import text_format
    from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

    server = parse_server(yaml.safe_load(EVERYTHING.read_text()))
    read = ModelServerConfig()
    text_format.Parse(model_list(server.spec.models), read)
    digits, newest, every = read.model_config_list.config
    assert (digits.name, digits.base_path, digits.model_platform) == ("digits", "/models/digits", "tensorflow")
    assert list(digits.model_version_policy.specific.versions) == [1, 2]
    assert dict(digits.version_labels) == {"stable": 1, "canary": 2}
    assert newest.model_version_policy.latest.num_versions == 2
    assert every.model_version_policy.WhichOneof("policy_choice") == "all"
    assert every.base_path == '/models/"all"'


def test_batching_parameters_have_a_line_each():
    server = parse_server(yaml.safe_load(EVERYTHING.read_text()))
    assert batching_parameters(server.spec.batching).splitlines() == [
        "max_batch_size { value: 32 }",
        "batch_timeout_micros { value: 0 }",
        "max_enqueued_batches { value: 100 }",
        "num_batch_threads { value: 4 }",
        "allowed_batch_sizes: 8",
        "allowed_batch_sizes: 32",
        "pad_variable_length_inputs: true",
    ]


def test_a_change_of_models_makes_no_new_pods_and_one_of_batching_does():
    before = everything()["Deployment"]
    models = everything("spec.models.0.versionPolicy", {"specific": {"versions": [1, 2, 3]}})
    assert models["Deployment"] == before
    assert models["ConfigMap"] != everything()["ConfigMap"]
    assert everything("spec.batching.maxEnqueuedBatches", 7)["Deployment"] != before


@pytest.mark.parametrize(
    ("path", "value", "image"),
    [
        ("spec.replicas", 1, r"tensorflow/serving:\d+\.\d+\.\d+"),
        ("spec.gpu", {}, r"tensorflow/serving:\d+\.\d+\.\d+-gpu"),
        ("spec.image", "example/serving:1", "example/serving:1"),
    ],
)
def test_images(path, value, image):
    made = container(small(path, value))
    assert re.fullmatch(image, made["image"])
    assert made["command"] == ["tensorflow_model_server"]


def test_shoals_server_is_told_in_its_own_words_and_says_when_it_is_ready():
    made = container(everything())
    assert re.fullmatch(r"shoal/server:\d+\.\d+\.\d+\S*", made["image"])
    assert made["command"] == ["shoal", "serve"]
    assert made["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert made["args"][-1] == "--grpc-max-threads=8"


def test_labels_may_name_versions_that_are_not_loaded_yet():
    flag = "--allow_version_labels_for_unavailable_models=true"
    assert flag in container(everything())["args"]
    assert flag not in container(small())["args"]


def test_a_rolling_update_takes_no_replica_before_the_next_is_ready():
    spec = small()["Deployment"]["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    pod = spec["template"]["spec"]
    drain = int(container(small())["lifecycle"]["preStop"]["exec"]["command"][1])
    grace = int(next(arg for arg in container(everything())["args"] if arg.startswith("--grace=")).partition("=")[2])
    assert pod["terminationGracePeriodSeconds"] > drain + grace


def test_an_autoscaler_alone_decides_how_many_there_are():
    assert "replicas" not in everything()["Deployment"]["spec"]
    (metric,) = everything()["HorizontalPodAutoscaler"]["spec"]["metrics"]
    assert metric["pods"]["target"] == {"type": "AverageValue", "averageValue": "8"}


def test_rest_of_a_model_is_reached_without_a_path_being_rewritten():
    made = small("spec.ingress", {"host": "models.example.com"})["Ingress"]
    (rule,) = made["spec"]["rules"]
    assert [(each["pathType"], each["path"]) for each in rule["http"]["paths"]] == [
        ("Prefix", "/v1/models/digits"),
        ("Exact", "/v1/models/digits:predict"),
        ("Exact", "/v1/models/digits:classify"),
        ("Exact", "/v1/models/digits:regress"),
    ]
    assert "annotations" not in made["metadata"]


def test_a_share_of_the_requests():
    annotations = everything()["Ingress"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/canary"] == "true"
    assert annotations["nginx.ingress.kubernetes.io/canary-weight"] == "10"
    (rule,) = everything()["HTTPRoute"]["spec"]["rules"]
    assert [(each["name"], each["weight"]) for each in rule["backendRefs"]] == [("digits", 9), ("digits-next", 1)]
    assert {each["port"] for each in rule["backendRefs"]} == {81}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.replicas", 1, "http://digits.default.svc:8501"),
        ("spec.ports", {"rest": 80}, "http://digits.default.svc:80"),
        ("spec.ingress", {"path": "/a"}, "http://digits.default.svc:8501"),
        ("spec.ingress", {"host": "m.example", "path": "/a/"}, "http://m.example/a"),
        ("spec.ingress", {"host": "m.example", "tls": {"secretName": "s"}}, "https://m.example"),
        ("spec.gateway", {"name": "g", "host": "m.example", "path": "/"}, "http://m.example"),
    ],
)
def test_where_it_is_reached(path, value, expected):
    server = parse_server(changed(SMALL, path, value))
    assert url(server) == expected
    assert grpc(server) == "digits.default.svc:8500"


def test_pods_pass_the_strictest_level_and_hold_no_token():
    pod = small()["Deployment"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for each in everything()["Deployment"]["spec"]["template"]["spec"]["containers"]:
        assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_models_are_mounted_for_reading():
    mounts = container(everything())["volumeMounts"]
    assert {each["name"]: each.get("readOnly", False) for each in mounts} == {
        "shoal-model-config": True,
        "models": True,
        "scratch": False,
    }


def of_job(**spec: Any) -> dict[str, Any]:
    """The ModelServer's spec of a job; it is one that the loader takes."""
    made = model_server(parse(manifest(**spec)))
    assert made["metadata"] == {
        "name": "train",
        "namespace": "default",
        "labels": {"training.kubeflow.org/job-name": "train"},
    }
    parse_server(made)
    return dict(made["spec"])


def test_the_server_of_a_job_says_no_more_than_the_job():
    serve = {"basePath": "/train/model"}
    storage = [
        {"name": "other", "mountPath": "/tra", "existingClaim": "other"},
        {"name": "train", "mountPath": "/train", "existingClaim": "shared"},
    ]
    assert of_job(serve=serve, storage=storage) == {
        "models": [{"name": "train", "basePath": "/train/model"}],
        "storage": [{"name": "train", "mountPath": "/train", "existingClaim": "shared"}],
    }
    more = {"modelName": "digits", "server": "Shoal", "image": "example/server", "replicas": 2}
    made = of_job(serve={**serve, **more}, storage=storage)
    assert (made["models"][0]["name"], made["server"], made["image"], made["replicas"]) == tuple(more.values())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"size": "1Gi"}, {"name": "data", "existingClaim": "train-data"}),
        (
            {"nfs": {"server": "nas", "path": "/"}},
            {"name": "data-served", "nfs": {"server": "nas", "path": "/"}},
        ),
    ],
    ids=["the job's own claim", "an export, claimed anew: the job's claim goes with it"],
)
def test_the_server_mounts_what_the_job_wrote(source, expected):
    storage = [{"name": "data", "mountPath": "/data", **source}]
    assert of_job(serve={"basePath": "/data"}, storage=storage)["storage"] == [{"mountPath": "/data", **expected}]


def test_a_claim_of_the_pods_own_is_found():
    job = manifest(serve={"basePath": "/train/model"})
    pod = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "shared"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/train"}]
    assert model_server(parse(job))["spec"]["storage"] == [
        {"name": "model", "mountPath": "/train", "existingClaim": "shared"}
    ]
    pod["containers"][0]["volumeMounts"][0]["subPath"] = "part"
    assert "storage" not in model_server(parse(job))["spec"]


def test_a_model_in_a_bucket_is_mounted_from_nowhere():
    assert "storage" not in of_job(serve={"basePath": "s3://bucket/model"})
