from __future__ import annotations

import io
import json
import sys

import pytest
import yaml

from shoal.resources import ManifestError, Other, ReplicaType, TFJob, load, parse
from shoal.resources.sources import MAX_BYTES

from .manifests import TEMPLATE, changed, faults_of, manifest, told

CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": None}
POD = "spec.tfReplicaSpecs.Worker.template.spec"


def refusal(source) -> list[str]:
    with pytest.raises(ManifestError) as error:
        load(source)
    return str(error.value).splitlines()


def test_a_file_holds_documents_of_any_kind(tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(f"{yaml.safe_dump(CLAIM)}---\n# nothing\n---\n{yaml.safe_dump(manifest())}")
    claim, job = load(file)
    assert claim.resource == Other(CLAIM)
    assert (claim.resource.kind, claim.resource.name, claim.job) == ("PersistentVolumeClaim", "data", None)
    assert (job.source, job.number, job.line) == (str(file), 2, 9)
    assert isinstance(job.resource, TFJob)
    assert job.resource is job.job
    assert list(job.job.spec.tf_replica_specs) == [ReplicaType.WORKER]


@pytest.mark.parametrize("metadata", [None, "data", ["data"], {}, 7])
def test_other_documents_are_taken_as_they_are(tmp_path, metadata):
    file = tmp_path / "claim.yaml"
    file.write_text(yaml.safe_dump({**CLAIM, "metadata": metadata}))
    (document,) = load(file)
    assert (document.resource.name, document.resource.value["metadata"]) == ("", metadata)


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path):
    for name, job in {"b.yml": "second", "a.yaml": "first", "c.json": "third", "notes.txt": "none"}.items():
        (tmp_path / name).write_text(json.dumps(changed(manifest(), "metadata.name", job)))
    (tmp_path / "d.yaml").mkdir()
    assert [document.job.name for document in load(tmp_path)] == ["first", "second", "third"]


def test_standard_input(monkeypatch):
    text = yaml.safe_dump(changed(manifest(), "spec.suspended", True)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert refusal("-") == ["stdin:6 spec.suspended: unknown field; did you mean spec.runPolicy.suspend?"]


def test_lists_as_kubectl_writes_them(tmp_path):
    items = [
        CLAIM,
        {**manifest(), "status": {"conditions": [{"type": "Created", "status": "True"}]}},
        changed(manifest(), "spec.strategy", "Sync"),
    ]
    good, bad = ({"apiVersion": "v1", "kind": "List", "items": part} for part in (items[:2], items))
    file = tmp_path / "jobs.yaml"
    file.write_text(yaml.safe_dump(good))
    assert [type(document.resource) for document in load(file)] == [Other, TFJob]
    assert [fault.path for fault in faults_of(tmp_path, bad)] == ["items[2].spec.strategy"]


def test_what_the_api_server_adds_is_taken():
    job = manifest()
    job["metadata"] |= {
        "uid": "1-2-3",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-31T12:00:00Z",
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {".": {}}}}],
    }
    assert parse(job).metadata.model_extra == {
        "uid": "1-2-3",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-31T12:00:00Z",
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {".": {}}}}],
    }


def test_null_means_not_set(tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(
        yaml.safe_dump(
            {
                **manifest(runPolicy={"suspend": None}, successPolicy=None),
                "status": None,
                "metadata": {"name": "train", "creationTimestamp": None, "labels": {}},
            }
        )
    )
    (document,) = load(file)
    assert document.job == parse(changed(manifest(), "metadata.labels", {}))


def test_all_faults_of_all_documents_come_at_once(tmp_path):
    first, second = manifest(cleanPodPolicy="Running"), manifest(runPolicy={"backoffLimit": "3"})
    (tmp_path / "a.yaml").write_text(f"{yaml.safe_dump(first)}---\n{yaml.safe_dump(second)}")
    (tmp_path / "b.yaml").write_text("a: [")
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(manifest()))
    assert refusal(tmp_path) == [
        f"{tmp_path}/a.yaml:6 (document 1) spec.cleanPodPolicy: unknown field; "
        "did you mean spec.runPolicy.cleanPodPolicy?",
        f'{tmp_path}/a.yaml:21 (document 2) spec.runPolicy.backoffLimit: expected a whole number, found the text "3"; '
        "remove the quotes",
        f"{tmp_path}/b.yaml:2: not valid YAML: while parsing a flow node, did not find expected node content",
    ]


def test_faults_before_a_syntax_error_are_told_too(tmp_path):
    assert [(fault.document, fault.line) for fault in faults_of(tmp_path, manifest(x=1), "a:\n\t- b\n")] == [
        (1, 13),
        (None, 16),
    ]


def test_a_document_is_numbered_only_where_there_are_several(tmp_path):
    assert [fault.document for fault in faults_of(tmp_path, manifest(x=1))] == [None]
    assert [fault.document for fault in faults_of(tmp_path, CLAIM, manifest(x=1))] == [2]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty; a manifest has apiVersion, kind, metadata and spec"),
        (b"# a comment\n---\n", "empty; a manifest has apiVersion, kind, metadata and spec"),
        (b"\x7fELF\x02\x01\x00\x00", "not a text file; a manifest is YAML or JSON in UTF-8"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not a text file; a manifest is YAML or JSON in UTF-8"),
        (b"#" * (MAX_BYTES + 1), "larger than 4 MiB; is this a manifest?"),
        (b"just words\n", "not a manifest; a manifest is a mapping with apiVersion, kind, metadata and spec"),
        (b"- a\n", "not a manifest; a manifest is a mapping with apiVersion, kind, metadata and spec"),
        (b"a:\n\t- b\n", "not valid YAML: while scanning for the next token, found character that cannot start any "
         "token; YAML is indented with spaces, not tabs"),
    ],
)  # fmt: skip
def test_files_that_are_no_manifests(tmp_path, content, problem):
    file = tmp_path / "file.yaml"
    file.write_bytes(content)
    (line,) = refusal(file)
    assert line.partition(": ")[2] == problem


def test_sources_that_are_not_there(tmp_path):
    assert refusal(tmp_path / "none.yaml") == [
        f"{tmp_path}/none.yaml: no such file; check the path; - reads standard input"
    ]
    assert refusal(tmp_path) == [
        f"{tmp_path}: this folder holds no manifest; name a file, or add *.yaml, *.yml, *.json"
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path, encoding):
    file = tmp_path / "job.yaml"
    file.write_text("# größe\n" + yaml.safe_dump(manifest()), encoding=encoding)
    assert load(file)[0].job.name == "train"


@pytest.mark.parametrize(
    ("api", "kind", "expected"),
    [
        ("kubeflow.org/v1beta1", "TFJob", "apiVersion: kubeflow.org/v1beta1 is outdated; write kubeflow.org/v1; fields that have moved are listed too"),
        ("kubeflow.org/v1alpha2", "TFJob", "apiVersion: kubeflow.org/v1alpha2 is outdated; write kubeflow.org/v1; fields that have moved are listed too"),
        ("tensorflow.org/v1alpha1", "TfJob", 'kind: no such kind as "TfJob"; did you mean TFJob?'),
        ("shoal.dev/v2", "TFJob", 'apiVersion: no TFJob in "shoal.dev/v2"; did you mean shoal.dev/v1?'),
        ("batch/v1", "TFJob", 'apiVersion: no TFJob in "batch/v1"; write shoal.dev/v1, or kubeflow.org/v1'),
        ("kubeflow.org/v1", "PyTorchJob", "kind: Shoal does not run a PyTorchJob; remove the document, or write the job as a TFJob"),
        ("kubeflow.org/v1", "TFJobs", "kind: Shoal does not run a TFJobs; did you mean TFJob?"),
        ("shoal.dev/v1", "TFJobs", 'kind: shoal.dev/v1 has no kind "TFJobs"; did you mean TFJob?'),
        ("shoal.dev/v1", "Gadget", 'kind: shoal.dev/v1 has no kind "Gadget"; it has TFJob, ModelServer, TensorBoard, Workbench'),
        (None, "TFJob", "apiVersion: missing; every manifest says what it is, as in apiVersion: shoal.dev/v1"),
        ("shoal.dev/v1", None, "kind: missing; every manifest says what it is, as in kind: TFJob"),
        (1, "TFJob", "apiVersion: expected text; every manifest says what it is, as in apiVersion: shoal.dev/v1"),
    ],
)  # fmt: skip
def test_kinds_and_versions_that_shoal_does_not_read(tmp_path, api, kind, expected):
    assert expected in told(faults_of(tmp_path, {**manifest(), "apiVersion": api, "kind": kind}))


def test_an_outdated_manifest_is_told_where_its_fields_are_now(tmp_path):
    old = manifest("kubeflow.org/v1beta1", cleanPodPolicy="All", ttlSecondsAfterFinished=60)
    old["spec"]["replicaSpecs"] = old["spec"].pop("tfReplicaSpecs")
    assert told(faults_of(tmp_path, old)) == [
        "apiVersion: kubeflow.org/v1beta1 is outdated; write kubeflow.org/v1; fields that have moved are listed too",
        "spec.tfReplicaSpecs: missing; the cluster: Chief (or Master), Worker, PS and Evaluator, in any case",
        "spec.cleanPodPolicy: unknown field; did you mean spec.runPolicy.cleanPodPolicy?",
        "spec.ttlSecondsAfterFinished: unknown field; did you mean spec.runPolicy.ttlSecondsAfterFinished?",
        "spec.replicaSpecs: unknown field; did you mean tfReplicaSpecs?",
    ]


@pytest.mark.parametrize(
    ("path", "value", "meant"),
    [
        ("spec.runPolicy.cleanPodPolcy", "All", "cleanPodPolicy"),
        ("spec.cleanPodPolcy", "All", "spec.runPolicy.cleanPodPolicy"),
        ("spec.backoffLimit", 1, "spec.runPolicy.backoffLimit"),
        ("spec.restartPolicy", "Never", "spec.tfReplicaSpecs.*.restartPolicy"),
        ("spec.queue", "a", "spec.runPolicy.schedulingPolicy.queue"),
        ("spec.TFReplicaSpecs", {}, "tfReplicaSpecs"),
        ("spec.tfReplicaSpecs.Worker.spec", {}, "spec.tfReplicaSpecs.Worker.template.spec"),
        ("spec.tfReplicaSpecs.Worker.containers", [], "spec.tfReplicaSpecs.Worker.template.spec.containers"),
        ("spec.tfReplicaSpecs.Worker.replica", 1, "replicas"),
        (f"{POD}.image", "a", f"{POD}.containers[].image"),
        (f"{POD}.containers.0.nodeSelector", {}, f"{POD}.nodeSelector"),
        (f"{POD}.containers.0.volumeMount", [], "volumeMounts"),
        (f"{POD}.containers.0.limits", {}, f"{POD}.containers[0].resources.limits"),
        (f"{POD}.containers.0.resources.memory", "1Gi", None),
        ("metadata.lables", {}, "labels"),
        ("status.phse", "Running", "phase"),
    ],
)
def test_unknown_fields_are_recognised(tmp_path, path, value, meant):
    (fault,) = faults_of(tmp_path, changed(manifest(), path, value))
    assert fault.path == path.replace(".0", "[0]")
    assert fault.problem == "unknown field"
    assert fault.hint == (f"did you mean {meant}?" if meant else "known here: claims, limits, requests")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.tfReplicaSpecs.Worker.replicas", "2", 'expected a whole number, found the text "2"; remove the quotes'),
        ("spec.tfReplicaSpecs.Worker.replicas", 1.5, "expected a whole number, found 1.5"),
        ("spec.tfReplicaSpecs.Worker.replicas", -1, "-1 is too small: at least 0; how many"),
        ("spec.tfReplicaSpecs", [], "expected a mapping, found a list"),
        ("spec.tfReplicaSpecs", {}, "empty; the cluster: Chief (or Master), Worker, PS and Evaluator, in any case"),
        ("spec.tfReplicaSpecs.Worker.template", ..., "missing; the pod that each replica runs in"),
        ("spec.runPolicy", {"suspend": "true"}, 'expected true or false, found the text "true"; remove the quotes'),
        ("spec.runPolicy", {"cleanPodPolicy": "runing"}, '"runing" is not one of None, Running, All; did you mean Running?'),
        ("spec.successPolicy", "AllWorker", '"AllWorker" is not one of "", AllWorkers; did you mean AllWorkers?'),
        ("spec.runPolicy", {"managedBy": "me"}, '"me" is not one of shoal.dev/operator, kubeflow.org/training-operator, kueue.x-k8s.io/multikueue'),
        ("spec.runPolicy", {"schedulingPolicy": {"minResources": {"cpu": "lots"}}}, '"lots" is not a quantity; write a number and a unit, as in 500m, 2 or 4Gi'),
        ("spec.storage", [{"name": "A_B", "mountPath": "/a", "size": "1Gi"}], '"A_B" does not match ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$; name of the volume: lower-case letters, digits and dashes'),
        ("spec.storage", [{"name": "a", "mountPath": "a", "size": "1Gi"}], '"a" does not match ^/; absolute path at which every container sees the folder'),
        ("spec.storage", [{"name": "a" * 64, "mountPath": "/a", "size": "1Gi"}], "longer than 63 characters; name of the volume: lower-case letters, digits and dashes"),
        ("spec.storage", [{"name": n, "mountPath": "/a", "size": 1} for n in "aba"], '"a" is already item 0'),
        ("spec.serve", {"basePath": ""}, "empty; the folder that holds the exported versions, as the leader sees it"),
        (f"{POD}.containers.0.command", "python 'my file.py' -v", "expected a list, found the text \"python 'my file.py' -v\"; write a list: [\"python\", \"my file.py\", \"-v\"]"),
        (f"{POD}.containers.0.command", "echo 'oops", "expected a list, found the text \"echo 'oops\"; write a list: [\"echo\", \"'oops\"]"),
        (f"{POD}.containers.0.env", {"A": "b"}, 'expected a list, found a mapping; begin each item with "- "'),
        (f"{POD}.containers.0.env", [{"name": "A", "value": 1}], 'expected text, found 1; put it in quotes: "1"'),
        (f"{POD}.containers.0.env", [{"name": "A", "value": True}], "expected text, found true; put the word in quotes"),
        (f"{POD}.containers.0.env", [{"name": "A"}, {"name": "A"}], '"A" is already item 0'),
        (f"{POD}.containers.0.args", ["a", None], "expected text, found nothing"),
        (f"{POD}.containers.0.imagePullPolicy", "always", '"always" is not one of Always, IfNotPresent, Never; did you mean Always?'),
        (f"{POD}.containers.0.resources", {"limits": {"cpu": 0.5}}, 'expected a whole number or text, found 0.5; put it in quotes: "0.5"'),
        (f"{POD}.containers.0.resources", {"limits": {"memory": "4GB"}}, '"4GB" is not a quantity; write a number and a unit, as in 500m, 2 or 4Gi'),
        (f"{POD}.containers.0.resources", {"limits": {"memory": [1]}}, "expected a number or text, found a list"),
        ("metadata.labels", {"example.com/a": None}, "expected text, found nothing"),
        ("status", {"startTime": "yesterday"}, '"yesterday" is not a time; write it as 2026-01-31T12:00:00Z'),
        ("status", {"startTime": "2026-01-31T12:00:00"}, '"2026-01-31T12:00:00" is not a time; write it as 2026-01-31T12:00:00Z'),
        ("status", {"started": {"Leader": "0"}}, "Input should be 'chief', 'ps', 'worker' or 'evaluator'"),
    ],
)  # fmt: skip
def test_values_of_the_wrong_kind(tmp_path, path, value, expected):
    (fault,) = told(faults_of(tmp_path, changed(manifest(), path, value)))
    assert fault.split(": ", 1)[1] == expected


def test_paths_name_keys_that_are_no_words_in_brackets(tmp_path):
    (fault,) = faults_of(tmp_path, changed(manifest(), "metadata.labels", {"example.com/a": 1}))
    assert fault.path == "metadata.labels[example.com/a]"


def test_a_fault_in_a_merged_part_is_told_on_its_own_line(tmp_path):
    text = (
        "apiVersion: shoal.dev/v1\nkind: TFJob\nmetadata: {name: train}\nspec:\n  tfReplicaSpecs:\n"
        "    Chief: &chief\n      replica: 1\n"
        "      template: {spec: {containers: [{name: tensorflow, image: example/train}]}}\n"
        "    Worker:\n      <<: *chief\n"
    )
    assert [(fault.line, fault.path) for fault in faults_of(tmp_path, text)] == [
        (7, "spec.tfReplicaSpecs.Chief.replica"),
        (7, "spec.tfReplicaSpecs.Worker.replica"),
    ]


def test_templates_that_were_not_rendered(tmp_path):
    text = yaml.safe_dump(changed(manifest(), "metadata.name", "NAME")).replace("NAME", "{{ .Values.name }}")
    assert told(faults_of(tmp_path, text)) == [
        'metadata.name: a key must be text; put text with braces in quotes, as in name: "{{ name }}"'
    ]


def test_parse_reads_one_job():
    assert parse(manifest()).name == "train"
    with pytest.raises(ManifestError, match=r"^cluster kind: expected TFJob, found PersistentVolumeClaim$"):
        parse(CLAIM, source="cluster")
    with pytest.raises(ManifestError, match=r"^spec.x: unknown field"):
        parse(manifest(x=1))


def test_parsing_leaves_what_it_was_given_alone():
    given = manifest(runPolicy={"suspend": None})
    before = json.dumps(given)
    job = parse(given)
    job.spec.tf_replica_specs[ReplicaType.WORKER].template["spec"]["containers"].clear()
    assert json.dumps(given) == before
    assert TEMPLATE["spec"]["containers"]
