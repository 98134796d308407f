"""The fields of nodes, their pods and quotas that tell what is free; see `shoal.kubernetes.operator.views`."""

from __future__ import annotations

from typing import Any

from msgspec import field

from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.views import Metadata, PodCondition, View


class NodeSpec(View):
    unschedulable: bool = False
    taints: list[dict[str, Any]] = field(default_factory=list)


class NodeStatus(View):
    allocatable: dict[str, str] = field(default_factory=dict)
    conditions: list[PodCondition] = field(default_factory=list)


class NodeView(View):
    metadata: Metadata
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


class PlacedSpec(View):
    node_name: str = ""
    containers: list[dict[str, Any]] = field(default_factory=list)
    init_containers: list[dict[str, Any]] = field(default_factory=list)


class PlacedPod(View):
    metadata: Metadata
    spec: PlacedSpec = field(default_factory=PlacedSpec)


class QuotaStatus(View):
    hard: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)


class QuotaView(View):
    metadata: Metadata
    status: QuotaStatus = field(default_factory=QuotaStatus)


NODES = Kind("v1", "Node", "nodes", NodeView, namespaced=False)
PLACED_PODS = Kind("v1", "Pod", "pods", PlacedPod)
QUOTAS = Kind("v1", "ResourceQuota", "resourcequotas", QuotaView)
