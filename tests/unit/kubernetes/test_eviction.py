"""What a cluster autoscaler may evict of a job that scales."""

from __future__ import annotations

import pytest

from shoal.kubernetes.pods import pod
from shoal.resources import TFJob
from shoal.training import replica_ids
from tests.unit.training.scenario import job

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SCALING = {"maxWorkers": 4}


def marks(wanted: TFJob) -> dict[str, str | None]:
    pods = {str(id): pod(wanted, id) for id in replica_ids(wanted)}
    return {name: made["metadata"].get("annotations", {}).get(SAFE_TO_EVICT) for name, made in pods.items()}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (job(PS=1, Worker=2, scaling=SCALING), {"ps-0": "false", "worker-0": "false", "worker-1": None}),
        (job(Worker=2, scaling=SCALING), {"worker-0": "false", "worker-1": "false"}),
        (
            job(Chief=1, PS=1, Worker=1, Evaluator=1, scaling=SCALING),
            {"chief-0": "false", "ps-0": "false", "worker-0": None, "evaluator-0": None},
        ),
        (job(PS=1, Worker=2), {"ps-0": None, "worker-0": None, "worker-1": None}),
    ],
)
def test_those_whose_end_costs_others_their_work_stay(wanted, expected):
    assert marks(wanted) == expected


def test_what_the_user_says_holds():
    wanted = job(PS=1, Worker=1, scaling=SCALING)
    for spec in wanted.spec.tf_replica_specs.values():
        spec.template = {**spec.template, "metadata": {"annotations": {SAFE_TO_EVICT: "true", "a": "b"}}}
    assert marks(wanted) == {"ps-0": "true", "worker-0": "true"}
