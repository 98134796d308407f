"""What a tenant's objects are called and labelled. By the label they are found again, whoever made them."""

from __future__ import annotations

from typing import Any

from shoal.resources.tenant import Tenant

TENANT = "shoal.dev/tenant"
"""Label of a tenant's namespace and of everything in it that grants or bounds, with the tenant's name."""

OBJECT = "shoal-tenant"
"""The name of the one object of each kind in the tenant's namespace."""

POOL_SECRET = "shoal-gpu-pool"
"""The Secret with the tenant's token for the pool."""

MANAGER = "shoal-tenant"
"""The field manager: what was granted by this command is taken back by it, and what others set is left alone."""


def labels(tenant: Tenant) -> dict[str, str]:
    return {TENANT: tenant.name}


def metadata(tenant: Tenant, name: str = OBJECT) -> dict[str, Any]:
    """Of an object in the tenant's namespace."""
    return {"name": name, "namespace": tenant.name, "labels": labels(tenant)}


def cluster_name(tenant: str) -> str:
    """Of an object that belongs to no namespace."""
    return f"{OBJECT}-{tenant}"
