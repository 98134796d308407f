"""What a cluster has left, as far as the user may see it."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from shoal.kubernetes.clusters.room import NONE, Amounts, Node, Room, requests
from shoal.kubernetes.clusters.views import NODES, PLACED_PODS, QUOTAS, NodeView
from shoal.kubernetes.operator.api import APIError
from shoal.kubernetes.operator.client import Client
from shoal.resources.quantity import parse_quantity

PLACED = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
FORBIDDEN = 403


async def see(client: Client, namespace: str) -> Room:
    """Raises as the client does, but for what the user may not list."""
    return Room(await _nodes(client), await _quota(client, namespace))


async def _nodes(client: Client) -> list[Node] | None:
    try:
        nodes, _ = await client.list(NODES)
        pods, _ = await client.list(PLACED_PODS, fields=PLACED)
    except APIError as fault:
        if fault.code != FORBIDDEN:
            raise
        return None
    taken: defaultdict[str, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for pod in pods:
        spec = {"containers": pod.spec.containers, "initContainers": pod.spec.init_containers}
        for resource, amount in requests({"spec": spec}).items():
            taken[pod.spec.node_name][resource] += amount
    return [
        Node(node.metadata.name, _left(node, taken[node.metadata.name]), node.metadata.labels, node.spec.taints)
        for node in nodes
        if _ready(node)
    ]


def _ready(node: NodeView) -> bool:
    ready = any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)
    return ready and not node.spec.unschedulable


def _left(node: NodeView, taken: Amounts) -> dict[str, Decimal]:
    has = node.status.allocatable
    return {resource: parse_quantity(amount) - taken.get(resource, NONE) for resource, amount in has.items()}


async def _quota(client: Client, namespace: str) -> dict[str, Decimal] | None:
    """What the tightest of the namespace's quotas leaves of each resource."""
    try:
        quotas, _ = await client.list(QUOTAS, namespace)
    except APIError as fault:
        if fault.code != FORBIDDEN:
            raise
        return None
    left: dict[str, Decimal] = {}
    for quota in quotas:
        for resource, most in quota.status.hard.items():
            free = parse_quantity(most) - parse_quantity(quota.status.used.get(resource, "0"))
            left[resource] = min(free, left.get(resource, free))
    return left or None
