"""What a tenant's pods may take together, and each of them."""

from __future__ import annotations

from typing import Any

from shoal.kubernetes.gpu_names import GPU_RESOURCES
from shoal.kubernetes.tenants.names import metadata
from shoal.resources.quantity import parse_quantity
from shoal.resources.tenant import Tenant

Object = dict[str, Any]

DEFAULT_CPU, DEFAULT_MEMORY = "1", "2Gi"
"""Requests of a container that says nothing. TensorFlow takes 530 MiB before it does anything."""


def resource_quota(tenant: Tenant) -> Object:
    """Requests are bounded, and not limits: what has a limit alone requests as much.

    Ports of nodes and load balancers would lead around the network policy, so there are none.
    """
    hard: dict[str, Any] = {
        "requests.cpu": str(tenant.cpu),
        "requests.memory": str(tenant.memory),
        **{f"requests.{resource}": str(tenant.gpus) for resource in GPU_RESOURCES},
        "services.nodeports": "0",
        "services.loadbalancers": "0",
    }
    if tenant.pods is not None:
        hard["pods"] = str(tenant.pods)
    if tenant.storage is not None:
        hard["requests.storage"] = str(tenant.storage)
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata(tenant), "spec": {"hard": hard}}


def limit_range(tenant: Tenant) -> Object:
    """Under a quota every container must request; these are the requests of those that say nothing.

    There is no default limit, since a container that requests more than it would be refused. Where `max` stands alone
    Kubernetes takes it for the default: no container gets more memory than its tenant has.
    """
    whole = str(tenant.memory)
    memory = min(DEFAULT_MEMORY, whole, key=parse_quantity)
    limits = {"type": "Container", "defaultRequest": {"cpu": DEFAULT_CPU, "memory": memory}, "max": {"memory": whole}}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata(tenant), "spec": {"limits": [limits]}}
