"""Queues and jobs of the tests, and what Kueue says of them."""

from __future__ import annotations

from typing import Any

from tests.cluster.api.test_kueue import conditions
from tests.cluster.kubectl import Kubectl
from tests.cluster.waiting import wait_until

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"


def named(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    """An object of Kueue's."""
    made = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}}
    return {**made, "spec": spec} if spec else made


def make_queue(namespace: Kubectl, name: str, pool: str) -> None:
    """A queue for the namespace alone, with four CPUs in a pool, in which the more important go first."""
    whole = f"{namespace.namespace}-{name}"
    quota = {"name": pool, "resources": [{"name": "cpu", "nominalQuota": 4}]}
    namespace.within("").apply(
        named(
            "ClusterQueue",
            whole,
            namespaceSelector={},
            resourceGroups=[{"coveredResources": ["cpu"], "flavors": [quota]}],
            preemption={"withinClusterQueue": "LowerPriority"},
        )
    )
    namespace.apply(named("LocalQueue", name, clusterQueue=whole))


def templates(job: dict[str, Any]) -> list[dict[str, Any]]:
    """The pod template of each role, with metadata to add to, and one CPU for each replica."""
    found = [each["template"] for each in job["spec"]["tfReplicaSpecs"].values()]
    for each in found:
        each["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        for field in ("labels", "annotations"):
            each["metadata"].setdefault(field, {})
    return found


def workloads(namespace: Kubectl, owner: str) -> list[dict[str, Any]]:
    """What Kueue knows of a job, or of a pod."""
    found = namespace.json("get", "workloads")["items"]
    return [each for each in found if each["metadata"]["ownerReferences"][0]["name"] == owner]


def condition(namespace: Kubectl, owner: str, type: str) -> str:
    """`True`, `False`, or nothing where Kueue has not said it."""
    return next((conditions(each).get(type, "") for each in workloads(namespace, owner) if "status" in each), "")


def wait_until_it_queues(namespace: Kubectl, owner: str) -> None:
    """Until Kueue has thought of it, and found no room."""
    wait_until(lambda: condition(namespace, owner, "QuotaReserved") == "False", 30, f"{owner} in its queue")
