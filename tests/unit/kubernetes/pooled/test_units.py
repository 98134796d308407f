"""Who asks together, and whose GPUs are which."""

from __future__ import annotations

from typing import Any

import msgspec

from shoal.kubernetes.gpu_names import GPU_NAMES
from shoal.kubernetes.operator.views import PooledPod
from shoal.kubernetes.pooled.asked import POOLED_RESOURCES
from shoal.kubernetes.pooled.units import Gang, Unit, Units, gang, units
from shoal.resources import parse

LIMITS = {"limits": {"shoal.dev/gpu": 1}}


def pod(name: str, gated: bool = True, phase: str = "Pending", deleting: bool = False, **annotations: str) -> PooledPod:
    found: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": f"uid-{name}",
            "annotations": {f"shoal.dev/gpu-{key}": value for key, value in annotations.items()},
        },
        "spec": {"containers": [{"name": "tensorflow", "resources": LIMITS}]},
        "status": {"phase": phase},
    }
    if gated:
        found["spec"]["schedulingGates"] = [{"name": "shoal.dev/gpu"}]
    if deleting:
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return msgspec.convert(found, PooledPod)


def job_gang(workers: int) -> Gang:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "i", "resources": LIMITS}]}}
    plain = {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}
    roles = {
        "Worker": {"replicas": workers, "template": template},
        "PS": {"replicas": 1, "template": plain},
        "Evaluator": {"replicas": 1, "template": template},
    }
    manifest = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "j"}}
    made = gang(parse({**manifest, "spec": {"tfReplicaSpecs": roles}}), "uid-job", GPU_NAMES, POOLED_RESOURCES)
    assert made is not None
    return made


def found(*pods: PooledPod, workers: int = 2, lent: dict[str, int] | None = None) -> Units:
    made = job_gang(workers)
    return units(pods, POOLED_RESOURCES, lambda pod: made if pod.metadata.name.startswith("j-") else None, lent or {})


def places(unit: Unit) -> list[tuple[str, int]]:
    return [(member.name, member.first) for member in unit.members]


def test_pods_of_no_job_ask_each_for_itself() -> None:
    made = found(pod("a"), pod("b", gated=False, phase="Running"), pod("c", phase="Succeeded"))
    assert [unit.key for unit in made.units] == ["uid-a", "uid-b"]
    assert [len(unit.waiting) for unit in made.units] == [1, 0]


def test_a_pod_asks_with_the_priority_that_it_names() -> None:
    assert [unit.priority for unit in found(pod("a", priority="7"), pod("b")).units] == [7, 0]


def test_a_job_asks_as_a_whole_and_workers_come_last() -> None:
    (unit,) = found(pod("j-worker-0"), pod("j-worker-1")).units
    assert places(unit) == [("j-evaluator-0", 0), ("j-worker-0", 1), ("j-worker-1", 2)]
    assert len(unit.requests) == 3
    assert unit.missing == ["j-evaluator-0"]


def test_a_pod_that_is_being_deleted_waits_for_nothing_and_is_missing() -> None:
    (unit,) = found(pod("j-evaluator-0"), pod("j-worker-0", deleting=True), pod("j-worker-1")).units
    assert unit.missing == ["j-worker-0"]
    assert [member.name for member in unit.waiting] == ["j-evaluator-0", "j-worker-1"]


def test_a_job_of_which_all_pods_have_ended_has_no_unit() -> None:
    names = ("j-evaluator-0", "j-worker-0", "j-worker-1")
    assert found(*(pod(name, phase="Succeeded") for name in names)).units == ()


def test_a_worker_more_than_the_lease_has_asks_for_itself_and_moves_nobody() -> None:
    pods = [pod("j-evaluator-0"), *(pod(f"j-worker-{i}") for i in range(3))]
    extra, whole = found(*pods, workers=3, lent={"uid-job": 3}).units
    assert places(whole) == [("j-evaluator-0", 0), ("j-worker-0", 1), ("j-worker-1", 2)]
    assert (extra.key, places(extra)) == ("uid-j-worker-2", [("j-worker-2", 0)])


def test_what_annotations_say_wrongly_is_a_fault_of_that_pod_alone() -> None:
    odd = pod("odd")
    odd.metadata.annotations["shoal.dev/gpu-percent"] = "half"
    made = found(odd, pod("a"))
    assert [unit.key for unit in made.units] == ["uid-a"]
    assert [(each.metadata.name, "'half'" in told) for each, told in made.faults] == [("odd", True)]
