"""What pods say of replicas, as a table."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.kubernetes.operator.observe import observe, replica_id
from shoal.kubernetes.operator.views import Pod
from shoal.training import Cause, Replica, ReplicaId, ReplicaState
from tests.unit.kubernetes.operator.objects import condition, container, pod, running, seconds, terminated, waiting

PENDING, RUNNING, SUCCEEDED, FAILED, TERMINATING = ReplicaState


def look(seen: Pod) -> Replica:
    id = replica_id(seen)
    assert id is not None
    return observe(seen, id, "tensorflow")


disrupted = condition("DisruptionTarget", "EvictionByEvictionAPI", "drained")

DELETED = {"message": "its pod is being deleted"}
TABLE: dict[str, tuple[Pod, ReplicaState, dict[str, Any]]] = {
    "nothing is known yet": (pod("Pending"), PENDING, {"message": ""}),
    "no node has room": (
        pod("Pending", conditions=[condition("PodScheduled", "Unschedulable", "0/3 nodes", "False")]),
        PENDING,
        {"message": "Unschedulable: 0/3 nodes", "gated": False},
    ),
    "a queue has not let it through": (
        pod("Pending", conditions=[condition("PodScheduled", "SchedulingGated", "gates", "False")]),
        PENDING,
        {"message": "SchedulingGated: gates", "gated": True},
    ),
    "no image": (
        pod("Pending", container(waiting("ImagePullBackOff", "back-off pulling x"))),
        PENDING,
        {"message": "ImagePullBackOff: back-off pulling x"},
    ),
    "it waits for GPUs of a pool": (
        pod(
            "Pending",
            conditions=[
                condition("PodScheduled", "SchedulingGated", "gates are there", "False"),
                condition("shoal.dev/gpu-lease", "GPUsAwaited", "place 2 in the queue", "False"),
            ],
        ),
        PENDING,
        {"message": "GPUsAwaited: place 2 in the queue", "gated": True},
    ),
    "the pool has lent them": (
        pod(
            "Pending",
            conditions=[
                condition("shoal.dev/gpu-lease", "GPUsLent", "lease-1 lends 1 GPU of h", "True"),
                condition("PodScheduled", "Unschedulable", "0/3 nodes", "False"),
            ],
        ),
        PENDING,
        {"message": "Unschedulable: 0/3 nodes", "gated": False},
    ),
    "the image is being pulled": (pod("Pending", container(waiting("ContainerCreating"))), PENDING, {"message": ""}),
    "an init container fails again and again": (
        pod("Pending", initContainerStatuses=[container(waiting("CrashLoopBackOff"), "prepare")]),
        PENDING,
        {"message": "CrashLoopBackOff"},
    ),
    "it runs": (pod("Running", container(running(3))), RUNNING, {"started_at": seconds(3), "exit_code": None}),
    "it runs again, in place": (
        pod("Running", container(running(3), restarts=2), restart="OnFailure"),
        RUNNING,
        {"in_place_restarts": 2},
    ),
    "it waits to be restarted in place": (
        pod("Running", container(waiting("CrashLoopBackOff"), restarts=3), restart="OnFailure"),
        PENDING,
        {"in_place_restarts": 3, "message": "CrashLoopBackOff"},
    ),
    "it ended and will be restarted in place": (
        pod("Running", container(terminated(1)), restart="OnFailure"),
        PENDING,
        {"exit_code": None},
    ),
    "it is done": (
        pod("Succeeded", container(terminated(0, at=7))),
        SUCCEEDED,
        {"exit_code": 0, "started_at": seconds(1), "finished_at": seconds(7)},
    ),
    "it is done, and a sidecar runs on": (
        pod("Running", container(terminated(0)), container(running(), "proxy")),
        SUCCEEDED,
        {"exit_code": 0},
    ),
    "it is done, and a sidecar failed on being stopped": (
        pod("Failed", container(terminated(0)), container(terminated(143), "proxy")),
        SUCCEEDED,
        {},
    ),
    "it is done, and is to be restarted all the same": (
        pod("Running", container(terminated(0)), restart="Always"),
        PENDING,
        {},
    ),
    "a bug": (
        pod("Failed", container(terminated(1, message="Traceback\nValueError"))),
        FAILED,
        {"exit_code": 1, "cause": Cause.EXIT, "log_tail": ("Traceback", "ValueError"), "message": ""},
    ),
    "it failed, and a sidecar runs on": (
        pod("Running", container(terminated(1)), container(running(), "proxy")),
        FAILED,
        {"exit_code": 1},
    ),
    "out of memory": (
        pod("Failed", container(terminated(137, "OOMKilled"))),
        FAILED,
        {"exit_code": 137, "cause": Cause.OUT_OF_MEMORY},
    ),
    "killed": (pod("Failed", container(terminated(137))), FAILED, {"cause": Cause.EXIT, "signal": "SIGKILL"}),
    "the command cannot be started": (
        pod("Failed", container(terminated(128, "StartError", message="exec: not found"))),
        FAILED,
        {"message": "StartError: exec: not found", "log_tail": ()},
    ),
    "an init container failed": (
        pod("Failed", container(waiting("PodInitializing")), initContainerStatuses=[container(terminated(4), "init")]),
        FAILED,
        {"exit_code": 4, "cause": Cause.EXIT},
    ),
    "evicted by its node": (
        pod("Failed", reason="Evicted", message="low on memory", conditions=[condition("Ready", status="False", at=4)]),
        FAILED,
        {"cause": Cause.EVICTED, "exit_code": None, "message": "low on memory", "finished_at": seconds(4)},
    ),
    "evicted, and its container was gone before the kubelet looked": (
        pod("Failed", container(terminated(137, "ContainerStatusUnknown"), restarts=1), reason="Evicted"),
        FAILED,
        {"cause": Cause.EVICTED, "in_place_restarts": 0},
    ),
    "the same after it was restarted twice": (
        pod("Failed", container(terminated(137, "ContainerStatusUnknown"), restarts=3), restart="OnFailure"),
        FAILED,
        {"cause": Cause.NODE_LOST, "in_place_restarts": 2},
    ),
    "its container is nowhere, though it is never restarted": (
        pod("Running", container(waiting("ContainerCreating"), restarts=1)),
        PENDING,
        {"in_place_restarts": 0},
    ),
    "preempted": (
        pod("Failed", container(terminated(143)), conditions=[condition("DisruptionTarget", "PreemptionByScheduler")]),
        FAILED,
        {"cause": Cause.PREEMPTED},
    ),
    "its node is gone": (
        pod("Failed", container(running()), conditions=[condition("DisruptionTarget", "DeletionByPodGC")]),
        FAILED,
        {"cause": Cause.NODE_LOST, "exit_code": None},
    ),
    "its node was restarted": (
        pod("Failed", container(terminated(137, "ContainerStatusUnknown"))),
        FAILED,
        {"cause": Cause.NODE_LOST},
    ),
    "turned away by the kubelet": (pod("Failed", reason="UnexpectedAdmissionError"), FAILED, {"cause": Cause.EVICTED}),
    "it is being deleted": (pod("Running", container(running()), deleted_at=20), TERMINATING, DELETED),
    "it is being drained": (
        pod("Running", container(running()), deleted_at=20, conditions=[disrupted]),
        TERMINATING,
        {"cause": Cause.EXIT, "message": "its pod is being deleted: drained"},
    ),
    "it was drained, and has ended": (
        pod("Failed", container(terminated(143)), deleted_at=20, conditions=[disrupted]),
        FAILED,
        {"cause": Cause.EVICTED, "message": "drained"},
    ),
    "it ended with an error after it was told to": (
        pod("Failed", container(terminated(143, at=18)), deleted_at=20),
        TERMINATING,
        {"exit_code": None},
    ),
    "it ended well after it was told to end": (
        pod("Succeeded", container(terminated(0, at=18)), deleted_at=20),
        TERMINATING,
        {"exit_code": None},
    ),
    "it was done before it was deleted": (
        pod("Succeeded", container(terminated(0, at=9)), deleted_at=20),
        SUCCEEDED,
        {},
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_a_pod_is_observed_as(case: str) -> None:
    seen, state, facts = TABLE[case]
    replica = look(seen)
    assert replica.state is state
    assert {name: getattr(replica, name) for name in facts} == facts


def test_attempt_and_shape_are_read_back() -> None:
    seen = pod(attempt=3)
    seen.metadata.annotations["shoal.dev/cluster-shape"] = "worker=2"
    assert (look(seen).attempt, look(seen).shape) == (3, "worker=2")


def test_a_master_is_the_chief() -> None:
    seen = pod(name="train-chief-0", labels={"training.kubeflow.org/replica-type": "master"})
    assert replica_id(seen) == ReplicaId.parse("chief-0")


@pytest.mark.parametrize(
    "labels", [{"training.kubeflow.org/replica-type": "launcher"}, {"training.kubeflow.org/replica-index": "x"}]
)
def test_a_pod_whose_labels_make_no_sense_is_no_replica(labels: dict[str, str]) -> None:
    assert replica_id(pod(labels=labels)) is None
