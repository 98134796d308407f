"""The plain objects that a tenant is."""

from __future__ import annotations

from typing import Any

from shoal.kubernetes.tenants.names import labels
from shoal.kubernetes.tenants.network import network_policies
from shoal.kubernetes.tenants.quota import limit_range, resource_quota
from shoal.kubernetes.tenants.rights import role, role_binding
from shoal.kubernetes.tenants.storage import nfs_policy
from shoal.resources.tenant import Tenant

Object = dict[str, Any]


def tenant_objects(tenant: Tenant) -> list[Object]:
    """In the order in which they are applied: members come in when everything that bounds them stands."""
    return [
        *nfs_policy(tenant),
        namespace(tenant),
        resource_quota(tenant),
        limit_range(tenant),
        *network_policies(tenant),
        role(tenant),
        role_binding(tenant),
    ]


def namespace(tenant: Tenant) -> Object:
    """At the *restricted* Pod Security level: what pods ask for beyond it is refused."""
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": tenant.name, "labels": {**labels(tenant), **levels}},
    }
