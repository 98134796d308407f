from __future__ import annotations

import json

import pytest

from shoal.resources.roles import Role
from shoal.training import ReplicaId, cluster_shape, cluster_spec, replica_ids, tf_config
from tests.unit.training.scenario import job


def addresses(a_job):
    return {id: f"{id}:2222" for id in replica_ids(a_job) if id.role is not Role.EVALUATOR}


def config(a_job, name):
    return json.loads(tf_config(a_job, ReplicaId.parse(name), addresses(a_job)))


def test_dense_spec_is_the_same_for_every_member():
    a_job = job(Chief=1, PS=2, Worker=2)
    expected = {
        "chief": ["chief-0:2222"],
        "ps": ["ps-0:2222", "ps-1:2222"],
        "worker": ["worker-0:2222", "worker-1:2222"],
    }
    for name in ("chief-0", "ps-1", "worker-1"):
        assert config(a_job, name)["cluster"] == expected
    assert config(a_job, "ps-1")["task"] == {"type": "ps", "index": 1}


def test_the_evaluator_is_told_the_cluster_and_is_not_part_of_it():
    a_job = job(Chief=1, Worker=1, Evaluator=1)
    told = config(a_job, "evaluator-0")
    assert told["task"] == {"type": "evaluator", "index": 0}
    assert set(told["cluster"]) == {"chief", "worker"}
    assert config(a_job, "worker-0")["cluster"] == told["cluster"]


def test_master_is_the_chief():
    assert config(job(Master=1, Worker=1), "chief-0")["cluster"]["chief"] == ["chief-0:2222"]


def test_one_process_needs_no_cluster():
    assert tf_config(job(Worker=1), ReplicaId.parse("worker-0"), {}) is None


def test_one_process_with_an_evaluator_does():
    assert config(job(Chief=1, Evaluator=1), "chief-0")["cluster"] == {"chief": ["chief-0:2222"]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("worker-3", {"ps": ["ps-0:2222", "ps-1:2222"], "worker": {"3": "worker-3:2222"}}),
        ("ps-1", {"chief": ["chief-0:2222"], "ps": ["ps-0:2222", "ps-1:2222"]}),
        ("chief-0", {"chief": ["chief-0:2222"], "ps": ["ps-0:2222", "ps-1:2222"]}),
        ("evaluator-0", {"chief": ["chief-0:2222"], "ps": ["ps-0:2222", "ps-1:2222"]}),
    ],
)
def test_sparse_spec_of_every_role(name, expected):
    a_job = job(Chief=1, PS=2, Worker=4, Evaluator=1, enableDynamicWorker=True)
    told = config(a_job, name)
    assert told["cluster"] == expected
    assert {told["task"]["type"], str(told["task"]["index"])} == set(name.split("-"))


def test_every_task_finds_itself_in_its_own_spec():
    for dynamic in (False, True):
        a_job = job(Chief=1, PS=2, Worker=3, enableDynamicWorker=dynamic)
        for id in replica_ids(a_job):
            tasks = cluster_spec(a_job, id, addresses(a_job))[id.role.value]
            own = tasks[str(id.index)] if isinstance(tasks, dict) else tasks[id.index]
            assert own == f"{id}:2222"


def test_the_shape_changes_exactly_when_a_role_is_told_of_another_cluster():
    for dynamic in (False, True):
        small, large = (job(Chief=1, PS=1, Worker=n, enableDynamicWorker=dynamic) for n in (2, 3))
        for role in (Role.CHIEF, Role.PS, Role.WORKER):
            id = ReplicaId(role, 0)
            told = [cluster_spec(a_job, id, addresses(a_job)) for a_job in (small, large)]
            same_shape = cluster_shape(small, role) == cluster_shape(large, role)
            assert same_shape == (told[0] == told[1]), role
