"""Which edits of a job that has begun are refused, and with what words."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.resources.document import check_job
from shoal.resources.place import format_path
from shoal.resources.update_rules import check_update

from .manifests import changed, manifest

SPECS = "spec.tfReplicaSpecs"
TEMPLATE_PATH = f"{SPECS}.Worker.template.spec.nodeSelector"
SUSPEND = "its replicas run as they were made; suspend the job, change it, and resume it (runPolicy.suspend)"


def job(phase: str = "Running", **spec: Any) -> dict[str, Any]:
    """A job of workers and servers, as the operator has told of it."""
    created = {"type": "Created", "status": "True", "reason": "TFJobCreated", "message": ""}
    times = {"lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    value = manifest(roles=("Worker", "PS"), **spec)
    return {**value, "status": {"phase": phase, "conditions": [created | times]}}


def refusals(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    (checked_before, none), (checked_after, faults) = check_job(before), check_job(after)
    assert none == faults == []
    found = check_update(checked_before, checked_after)
    return [f"{format_path(path)}: {problem}; {hint}" for path, problem, hint, _ in found]


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (TEMPLATE_PATH, {"zone": "a"}, f"{SPECS}.Worker.template"),
        (f"{SPECS}.PS.template.metadata.labels", {"a": "b"}, f"{SPECS}.PS.template"),
        (f"{SPECS}.Worker.restartPolicy", "Always", f"{SPECS}.Worker.restartPolicy"),
        (f"{SPECS}.Worker.gpu", {"count": 1}, f"{SPECS}.Worker.gpu"),
        ("spec.strategy", "BetweenGraphSync", "spec.strategy"),
        ("spec.code", {"git": {"url": "https://example.com/a.git", "revision": "ab" * 20}}, "spec.code"),
        ("spec.enableDynamicWorker", True, "spec.enableDynamicWorker"),
        ("spec.storage", [{"name": "data", "mountPath": "/data", "existingClaim": "data"}], "spec.storage"),
    ],
)
def test_replicas_that_are_there_keep_what_they_were_made_from(path, value, where):
    assert refusals(job(), changed(job(), path, value)) == [f"{where}: cannot change now; {SUSPEND}"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{SPECS}.Worker.replicas", 5),
        (f"{SPECS}.PS.replicas", 2),
        (f"{SPECS}.Worker.restartPolicy", "Never"),
        ("spec.enableDynamicWorker", False),
        ("spec.successPolicy", "AllWorkers"),
        ("spec.runPolicy", {"activeDeadlineSeconds": 5, "backoffLimit": 1, "ttlSecondsAfterFinished": 5}),
        ("spec.runPolicy.suspend", True),
        ("metadata.labels", {"a": "b"}),
    ],
)
def test_what_the_operator_can_follow_may_change(path, value):
    assert refusals(job(), changed(job(), path, value)) == []


def test_roles_neither_come_nor_go():
    without = changed(job(), f"{SPECS}.PS", ...)
    assert refusals(job(), without) == [f"{SPECS}.PS: a role cannot be taken from a job that has begun; {SUSPEND}"]
    assert refusals(without, job()) == [f"{SPECS}.PS: a role cannot be added to a job that has begun; {SUSPEND}"]
    respelt = changed(changed(job(), f"{SPECS}.ps", job()["spec"]["tfReplicaSpecs"]["PS"]), f"{SPECS}.PS", ...)
    assert refusals(job(), respelt) == []


@pytest.mark.parametrize(("before", "after"), [(True, True), (True, False), (False, True)])
def test_a_suspended_job_may_change_also_as_it_is_suspended_or_resumed(before, after):
    stored = job("Suspended", runPolicy={"suspend": before})
    edited = changed(changed(stored, TEMPLATE_PATH, {"zone": "a"}), "spec.runPolicy.suspend", after)
    assert refusals(stored, changed(edited, "spec.strategy", "BetweenGraphSync")) == []


def test_a_job_that_has_not_begun_may_change():
    assert refusals({**job(), "status": {}}, changed({**job(), "status": {}}, TEMPLATE_PATH, {"zone": "a"})) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_job_that_has_ended_does_not_begin_again(phase):
    (refusal,) = refusals(job(phase), changed(job(phase), TEMPLATE_PATH, {"zone": "a"}))
    assert refusal.endswith("the job has ended; delete it first, or give the new one another name")


def test_a_job_of_another_controller_is_that_ones():
    stored = job(runPolicy={"managedBy": "kubeflow.org/training-operator"})
    assert refusals(stored, changed(stored, TEMPLATE_PATH, {"zone": "a"})) == []
    ours = job(runPolicy={"managedBy": "shoal.dev/operator"})
    assert len(refusals(ours, changed(ours, TEMPLATE_PATH, {"zone": "a"}))) == 1


CLAIM = {"name": "data", "mountPath": "/data", "size": "10Gi", "storageClassName": "fast"}
NFS = {"name": "data", "mountPath": "/data", "nfs": {"server": "a", "path": "/"}}


@pytest.mark.parametrize(
    ("claim", "field", "value", "refused"),
    [
        (CLAIM, "size", "9Gi", "size: 9Gi is less than the 10Gi that were made"),
        (CLAIM, "size", "10240Mi", None),
        (CLAIM, "size", "20Gi", None),
        (CLAIM, "storageClassName", "slow", "storageClassName: data was made already"),
        (CLAIM, "mountPath", "/elsewhere", None),
        (NFS, "nfs", {"server": "b", "path": "/"}, "nfs: data was made already"),
    ],
)
def test_a_claim_that_was_made_stays_what_it_is_even_while_suspended(claim, field, value, refused):
    stored = job("Suspended", runPolicy={"suspend": True}, storage=[claim])
    expected = [f"spec.storage[0].{refused}; add another under a new name"] if refused else []
    assert refusals(stored, changed(stored, f"spec.storage.0.{field}", value)) == expected


def test_a_claim_may_grow_under_replicas():
    stored = job(storage=[CLAIM])
    assert refusals(stored, changed(stored, "spec.storage.0.size", "20Gi")) == []
