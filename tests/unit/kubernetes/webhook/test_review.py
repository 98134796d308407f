"""What the webhook answers to reviews: what is refused and why, and what is none of its business."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from shoal.kubernetes.webhook.review import PATHS, ReviewError, answer
from tests.unit.resources.test_tensorboard import SMALL as BOARD
from tests.unit.resources.test_workbench import SMALL as BENCH

from ...resources.manifests import changed, manifest

CONTAINER = "spec.tfReplicaSpecs.Worker.template.spec.containers.0"
FAULTY = changed(manifest(), f"{CONTAINER}.volumeMounts", [{"name": "data", "mountPath": "/data"}])
FAULT = (
    "spec.tfReplicaSpecs.Worker.template.spec.containers[0].volumeMounts[0].name: "
    'no volume is named "data"; add it to the template\'s spec.volumes'
)
CREATED = {"type": "Created", "status": "True", "reason": "", "message": ""}


def review(path: str, job: Any, stored: Any = None, **request: Any) -> dict[str, Any]:
    operation = "CREATE" if stored is None else "UPDATE"
    asked = {"uid": "u", "operation": operation, "object": job, "oldObject": stored, **request}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    found = json.loads(answer(PATHS[path], json.dumps(body).encode()))
    assert (found["apiVersion"], found["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = found["response"]
    assert response.pop("uid") == "u"
    return response


def test_a_valid_job_is_allowed():
    assert review("/validate", manifest()) == {"allowed": True}


def test_every_fault_is_told_with_its_path_and_what_to_do():
    job = changed(FAULTY, "spec.strategy", "ParameterServer")
    response = review("/validate", job)
    assert (response["allowed"], response["status"]["code"], response["status"]["reason"]) == (False, 422, "Invalid")
    assert response["status"]["message"].splitlines() == [
        FAULT,
        "spec.strategy: ParameterServer needs a parameter server; add a PS, or choose another strategy",
        "spec.strategy: ParameterServer needs a chief, which drives the workers; add a Chief",
    ]


def test_a_fault_that_was_there_may_stay_but_no_other_may_come():
    edited = changed(FAULTY, "spec.runPolicy", {"backoffLimit": 3})
    assert review("/validate", edited, FAULTY) == {"allowed": True, "warnings": [FAULT]}
    worse = review("/validate", changed(edited, "spec.strategy", "InGraph"), FAULTY)
    assert worse["status"]["message"].startswith("spec.strategy: InGraph needs a chief")
    assert len(worse["status"]["message"].splitlines()) == 1


@pytest.mark.parametrize(
    "request_",
    [
        {"job": changed(FAULTY, "metadata.labels", {"a": "b"}), "stored": FAULTY},
        {"job": changed(FAULTY, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z"), "stored": manifest()},
        {"job": FAULTY, "stored": manifest(), "subResource": "status"},
        {"job": None, "stored": FAULTY, "operation": "DELETE"},
        {"job": FAULTY, "operation": "CONNECT"},
    ],
    ids=["metadata alone", "being deleted", "status", "deletion", "another operation"],
)
@pytest.mark.parametrize("path", ["/validate", "/default"])
def test_what_does_not_touch_the_spec_is_never_refused(path, request_):
    assert review(path, **request_) == {"allowed": True}


def test_an_edit_that_cannot_be_followed_is_refused():
    stored = {**manifest(), "status": {"conditions": [CREATED]}}
    response = review("/validate", changed(stored, f"{CONTAINER}.image", "example/other"), stored)
    assert response["status"]["message"].startswith("spec.tfReplicaSpecs.Worker.template: cannot change now")


def test_what_lint_calls_an_error_is_a_warning_here():
    response = review("/validate", manifest(roles=("Worker", "Evaluator")))
    assert response["allowed"]
    (warning,) = response["warnings"]
    assert "the evaluator mounts no volume" in warning


def test_defaults_are_a_patch_of_the_roles():
    written = manifest()["spec"]["tfReplicaSpecs"]["Worker"]
    response = review("/default", manifest(tfReplicaSpecs={"worker": written}))
    assert (response["allowed"], response["patchType"]) == (True, "JSONPatch")
    value = {"Worker": {**written, "replicas": 1}}
    expected = [{"op": "replace", "path": "/spec/tfReplicaSpecs", "value": value}]
    assert json.loads(base64.b64decode(response["patch"])) == expected
    assert review("/default", manifest(tfReplicaSpecs=value)) == {"allowed": True}


@pytest.mark.parametrize("spec", [None, [], {}, {"tfReplicaSpecs": None}, {"tfReplicaSpecs": 3}])
def test_nonsense_is_given_no_defaults_and_is_refused(spec):
    job = {**manifest(), "spec": spec}
    assert review("/default", job) == {"allowed": True}
    assert not review("/validate", job)["allowed"]
    assert review("/default", job, {"spec": 5}) == {"allowed": True}


DEEP = b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"object": ' + b'{"a":' * 100_000


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b"{}", DEEP], ids=["nothing", "cut off", "a list", "no text", "empty", "deep"]
)
def test_what_is_no_review_is_told(body):
    with pytest.raises(ReviewError, match="AdmissionReview"):
        answer(PATHS["/validate"], body)


@pytest.mark.parametrize(
    ("version", "request_", "told"),
    [
        ("v1beta1", {"uid": "u", "operation": "CREATE"}, "v1beta1 AdmissionReview where"),
        ("v1", {"uid": 3, "operation": "CREATE"}, r"\$\.request\.uid"),
        ("v1", {"uid": "u", "operation": "CREATE", "object": "text"}, r"\$\.request\.object"),
        ("v1", None, "AdmissionReview"),
    ],
)
def test_a_review_of_another_shape_is_told(version, request_, told):
    body = {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": request_}
    with pytest.raises(ReviewError, match=told):
        answer(PATHS["/validate"], json.dumps(body).encode())


SERVER: dict[str, Any] = {
    "apiVersion": "shoal.dev/v1",
    "kind": "ModelServer",
    "metadata": {"name": "digits"},
    "spec": {
        "models": [{"name": "digits", "basePath": "/models/digits"}],
        "storage": [{"name": "models", "mountPath": "/models", "size": "2Gi"}],
    },
}


def test_a_model_server_is_checked_by_its_own_rules():
    assert review("/validate", SERVER) == {"allowed": True}
    assert review("/default", SERVER) == {"allowed": True}
    response = review("/validate", changed(SERVER, "spec.storage", []))
    assert response["status"]["message"].startswith("spec.models[0].basePath: nothing is mounted at /models/digits")


def test_a_tensorboard_is_checked_by_its_own_rules():
    assert review("/validate", BOARD) == {"allowed": True}
    response = review("/validate", changed(BOARD, "spec.logDirs", {"a": "logs"}))
    assert response["status"]["message"].startswith('spec.logDirs.a: "logs" is not absolute')


def test_a_workbench_is_checked_by_its_own_rules():
    assert review("/validate", BENCH) == {"allowed": True}
    response = review("/validate", changed(BENCH, "spec.folder", "/elsewhere"))
    assert response["status"]["message"].startswith("spec.folder: nothing is mounted at /elsewhere")


@pytest.mark.parametrize(
    ("path", "value", "refused"),
    [
        ("spec.storage.0.size", "1Gi", "spec.storage[0].size: 1Gi is less than the 2Gi that were made"),
        ("spec.storage.0.storageClassName", "fast", "spec.storage[0].storageClassName: models was made already"),
        ("spec.storage.0.size", "3Gi", ""),
        ("spec.storage.0.mountPath", "/models/digits", ""),
        ("spec.models.0.name", "other", ""),
        ("spec.replicas", 3, ""),
    ],
)
def test_pods_of_a_server_follow_every_edit_and_claims_do_not(path, value, refused):
    response = review("/validate", changed(SERVER, path, value), SERVER)
    assert response["allowed"] is not bool(refused)
    assert refused in response.get("status", {}).get("message", "")
