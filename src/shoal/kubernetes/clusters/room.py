"""How many of a job's pods a cluster has room for. Pure.

An estimate of what its scheduler will say: requests, GPUs, node selectors, required node affinity and taints count;
spreading, zones of volumes and priorities do not. What a namespace's quota leaves counts as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from shoal.resources.quantity import parse_quantity

Object = dict[str, Any]
Amounts = Mapping[str, Decimal]
"""By resource, as `cpu` in cores, `memory` in bytes, `nvidia.com/gpu`, or `pods`."""

ONE = Decimal(1)
NONE = Decimal(0)


@dataclass(frozen=True, slots=True)
class Node:
    """A node that takes pods. `free` may be below zero where requests were admitted without the scheduler."""

    name: str
    free: Amounts
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Room:
    """What a cluster has left: on its nodes, and of the namespace's quotas, whose keys are as `requests.cpu`. None
    where it cannot be seen: who is no administrator may often not list nodes."""

    nodes: Sequence[Node] | None
    quota: Amounts | None

    @property
    def known(self) -> bool:
        return self.nodes is not None or self.quota is not None

    def free(self, resource: str) -> Decimal | None:
        """Of all nodes; of the quota where nodes cannot be seen, and None where it does not limit the resource."""
        if self.nodes is not None:
            return sum((max(node.free.get(resource, NONE), NONE) for node in self.nodes), NONE)
        return (self.quota or {}).get(f"requests.{resource}")


def places(pods: Sequence[Object], room: Room) -> int:
    """How many of the pods would find a place, the largest first. All of them where nothing is known."""
    wanted = sorted(pods, key=_size, reverse=True)
    if room.quota is not None:
        wanted = list(_within(room.quota, wanted))
    if room.nodes is None:
        return len(wanted)
    free = {node.name: dict(node.free) for node in room.nodes}
    return sum(any(_take(free[node.name], requests(pod)) for node in room.nodes if _suits(node, pod)) for pod in wanted)


def requests(pod: Object) -> dict[str, Decimal]:
    """What the scheduler counts for the pod: the sum over its containers, or the largest of those that run before."""
    spec = pod["spec"]
    total = {"pods": ONE}
    for container in spec["containers"]:
        for resource, amount in _asked(container).items():
            total[resource] = total.get(resource, NONE) + amount
    for before in spec.get("initContainers") or ():
        for resource, amount in _asked(before).items():
            total[resource] = max(total.get(resource, NONE), amount)
    return total


def _asked(container: Object) -> dict[str, Decimal]:
    """A limit without a request is one."""
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {resource: parse_quantity(amount) for resource, amount in asked.items()}


def _size(pod: Object) -> tuple[Decimal, Decimal, Decimal]:
    """GPUs and the like before memory before CPU."""
    asked = requests(pod)
    devices = sum((amount for resource, amount in asked.items() if "/" in resource), NONE)
    return devices, asked.get("memory", NONE), asked.get("cpu", NONE)


def _within(quota: Amounts, pods: Iterable[Object]) -> Iterable[Object]:
    """The pods that the quota lets through."""
    left = dict(quota)
    for pod in pods:
        asked = requests(pod)
        booked = {f"requests.{resource}": amount for resource, amount in asked.items()} | asked
        if _take(left, {key: amount for key, amount in booked.items() if key in left}):
            yield pod


def _take(free: dict[str, Decimal], asked: Amounts) -> bool:
    if any(free.get(resource, NONE) < amount for resource, amount in asked.items() if amount):
        return False
    for resource, amount in asked.items():
        free[resource] = free.get(resource, NONE) - amount
    return True


def _suits(node: Node, pod: Object) -> bool:
    spec = pod["spec"]
    wanted = spec.get("nodeSelector") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms")
    return (
        all(node.labels.get(label) == value for label, value in wanted.items())
        and (terms is None or any(_meets(node.labels, term) for term in terms))
        and all(_tolerated(taint, spec.get("tolerations") or ()) for taint in node.taints)
    )


_OPERATORS: dict[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
    "Gt": lambda value, values: value is not None and value.isdigit() and int(value) > int(values[0]),
    "Lt": lambda value, values: value is not None and value.isdigit() and int(value) < int(values[0]),
}
"""https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#NodeAffinity"""


def _meets(labels: Mapping[str, str], term: Object) -> bool:
    """Fields of a node other than its labels are not known, and let through."""
    return all(
        _OPERATORS[each["operator"]](labels.get(each["key"]), each.get("values") or [])
        for each in term.get("matchExpressions") or ()
    )


def _tolerated(taint: Mapping[str, str], tolerations: Iterable[Object]) -> bool:
    if taint.get("effect") not in ("NoSchedule", "NoExecute"):
        return True
    return any(
        each.get("effect") in (None, "", taint["effect"])
        and each.get("key") in (None, "", taint.get("key"))
        and (each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""))
        for each in tolerations
    )
