"""What the pod of an attempt has beyond what the renderer makes of its replica."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.kubernetes.operator.replica_pods import attempt_pod
from shoal.resources import TFJob
from shoal.tf import protocol
from shoal.training import Create, ReplicaId

CONTAINERS = [{"name": "sidecar", "image": "proxy"}, {"name": "tensorflow", "image": "train"}]
ROLE = {"template": {"spec": {"containers": CONTAINERS}}}
JOB = TFJob.model_validate(
    {"metadata": {"name": "train"}, "spec": {"tfReplicaSpecs": {"Chief": ROLE, "PS": ROLE, "Evaluator": ROLE}}}
)


def told(replica: str, attempt: int) -> dict[str, Any]:
    """The environment of the container that trains."""
    made = attempt_pod(JOB, "uid", Create(ReplicaId.parse(replica), attempt, "shape"))
    sidecar, main = made["spec"]["containers"]
    assert "env" not in sidecar
    return {each["name"]: each.get("value") for each in main["env"]}


def test_every_replica_is_told_all_that_a_program_may_ask_for():
    known = {value for name, value in vars(protocol).items() if name.isupper() and name != "PROGRESS_PREFIX"}
    assert known - set(told("chief-0", 0)) == {protocol.PROGRESS_FILE}
    assert told("ps-0", 3)[protocol.ATTEMPT] == "3"


@pytest.mark.parametrize(("replica", "asked"), [("chief-0", True), ("evaluator-0", True), ("ps-0", False)])
def test_who_speaks_for_the_job_is_asked_for_its_progress(replica, asked):
    assert (protocol.PROGRESS_LOG in told(replica, 0)) is asked
