"""The kinds of objects that a tenant is, and how they are read: whole, since what differs is told."""

from __future__ import annotations

from typing import Any

from msgspec import field

from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.views import Metadata, View

ADMISSION = "admissionregistration.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"


class Stored(View):
    """An object as stored, with whatever of these parts its kind has."""

    metadata: Metadata
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    rules: list[dict[str, Any]] | None = None
    subjects: list[dict[str, Any]] | None = None
    data: dict[str, str] | None = None


NAMESPACES = Kind("v1", "Namespace", "namespaces", Stored, namespaced=False)
QUOTAS = Kind("v1", "ResourceQuota", "resourcequotas", Stored)
LIMIT_RANGES = Kind("v1", "LimitRange", "limitranges", Stored)
SECRETS = Kind("v1", "Secret", "secrets", Stored)
NETWORK_POLICIES = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", Stored)
ROLES = Kind(RBAC, "Role", "roles", Stored)
ROLE_BINDINGS = Kind(RBAC, "RoleBinding", "rolebindings", Stored)
POLICIES = Kind(ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", Stored, namespaced=False)
POLICY_BINDINGS = Kind(
    ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", Stored, namespaced=False
)

_ALL = (
    NAMESPACES,
    QUOTAS,
    LIMIT_RANGES,
    SECRETS,
    NETWORK_POLICIES,
    ROLES,
    ROLE_BINDINGS,
    POLICIES,
    POLICY_BINDINGS,
)
_BY_NAME = {each.name: each for each in _ALL}


def kind_of(object: dict[str, Any]) -> Kind[Stored]:
    """The kind of one of a tenant's objects."""
    return _BY_NAME[str(object["kind"])]
