"""What `shoal operator` may do, and nothing beyond; the cluster tests run it with exactly these rights.

`charts/shoal/templates/operator-role.yaml` is generated from here by tools/generate_chart.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from shoal.kubernetes.operator.lease_name import LEASE
from shoal.kubernetes.tenants.names import POOL_SECRET
from shoal.kubernetes.webhook.names import SECRET


@dataclass(frozen=True, slots=True)
class Right:
    """One rule of a role. `why` is for who reads the role and wonders."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    why: str = ""

    def rule(self) -> dict[str, Any]:
        """As RBAC has it."""
        rule = {"apiGroups": list(self.groups), "resources": list(self.resources), "verbs": list(self.verbs)}
        return {**rule, "resourceNames": list(self.names)} if self.names else rule


_JOBS = ("shoal.dev", "kubeflow.org")
_READ = ("get", "list", "watch")
_ALL = (*_READ, "create", "patch", "delete")
_MADE_ONCE = ("get", "create", "patch")

OF_WORKBENCHES = (
    Right(_JOBS, ("tfjobs",), _ALL),
    Right(("shoal.dev",), ("modelservers", "tensorboards"), _ALL),
    Right(_JOBS, ("tfjobs/scale", "modelservers/scale"), ("get", "patch")),
    Right(("",), ("configmaps",), _ALL),
    Right(("",), ("pods", "services", "persistentvolumeclaims", "events"), _READ),
    Right(("",), ("pods/log",), ("get",)),
    Right(("apps",), ("deployments",), _READ),
    Right(("events.k8s.io",), ("events",), _READ),
)
"""What code in a workbench may do in its namespace: what `shoal`'s commands take to run jobs and to look at them. It is
less than a tenant's members may, and no way to more: no pods, no secrets, no roles, no workbenches."""

IN_NAMESPACES = (
    Right(_JOBS, ("tfjobs",), ("get", "list", "watch", "delete")),
    Right(_JOBS, ("tfjobs/status",), ("patch",)),
    Right(("shoal.dev",), ("tfjobs/scale",), ("patch",), why="`scaling` changes the number of workers."),
    Right(("shoal.dev",), ("modelservers",), ("get", "list", "watch", "create", "patch")),
    Right(("shoal.dev",), ("tensorboards",), ("get", "list", "watch")),
    Right(("shoal.dev",), ("workbenches",), ("get", "list", "watch", "patch"), why="It stops those that are idle."),
    Right(("shoal.dev",), ("modelservers/status", "tensorboards/status", "workbenches/status"), ("patch",)),
    Right(
        _JOBS,
        ("tfjobs/finalizers", "modelservers/finalizers", "tensorboards/finalizers", "workbenches/finalizers"),
        ("update",),
        why="OwnerReferencesPermissionEnforcement, as OpenShift has it, asks for the right to set owners' finalizers.",
    ),
    Right(("",), ("pods",), ("get", "list", "watch", "create", "delete")),
    Right(("",), ("pods/log",), ("get",)),
    Right(
        ("",),
        ("services", "configmaps"),
        _ALL,
        why="A server-side apply that creates needs both rights.",
    ),
    Right(("",), ("persistentvolumeclaims",), ("get", "create", "patch")),
    Right(("apps",), ("deployments",), _ALL),
    Right(("autoscaling",), ("horizontalpodautoscalers",), _ALL),
    Right(("policy",), ("poddisruptionbudgets",), _ALL),
    Right(("networking.k8s.io",), ("ingresses",), _ALL),
    Right(("gateway.networking.k8s.io",), ("httproutes",), _ALL),
    Right(("scheduling.volcano.sh", "scheduling.x-k8s.io"), ("podgroups",), ("create", "patch", "delete")),
    Right(("events.k8s.io",), ("events",), ("create",)),
    Right(("",), ("secrets",), ("create",), why="Workbenches' tokens, which it makes and never reads."),
    Right(("",), ("serviceaccounts",), _MADE_ONCE),
    Right(("rbac.authorization.k8s.io",), ("roles", "rolebindings"), _MADE_ONCE, why="Of workbenches."),
    replace(OF_WORKBENCHES[0], why="From here on: what it gives workbenches. Nobody can give what he has not."),
    *OF_WORKBENCHES[1:],
)
"""In the namespaces whose jobs and servers it looks after."""

IN_CLUSTER = (Right(("",), ("persistentvolumes",), ("list", "create", "patch", "delete")),)
"""Volumes belong to no namespace: those that jobs on NFS need."""

OF_LEASE = (
    Right(("coordination.k8s.io",), ("leases",), ("create",), why="A name cannot bound what is created."),
    Right(("coordination.k8s.io",), ("leases",), ("get", "patch"), (LEASE,)),
)
"""In the namespace of the lease alone: elsewhere leases are those of nodes and of other controllers."""

OF_SECRET = (
    Right(("",), ("secrets",), ("create",), why="A name cannot bound what is created."),
    Right(("",), ("secrets",), ("get", "patch"), (SECRET,)),
)
"""In the operator's namespace alone: the webhook's certificates."""

OF_POOL = (
    Right(("",), ("pods", "pods/status"), ("patch",), why="The gate is lifted, and why a pod waits is told."),
    Right(("",), ("secrets",), ("create", "delete"), why="What was lent, for the pod."),
    Right(("",), ("namespaces",), ("get",), why="Whether it is a tenant's, who asks by a token of its own."),
    Right(("",), ("secrets",), ("get",), (POOL_SECRET,), "That token."),
)
"""In the namespaces whose pods ask for GPUs of a pool."""

OF_NODES = (
    Right(
        ("",),
        ("nodes",),
        ("patch",),
        why="Labels; templates/device-plugin.yaml has the policy that keeps each device plugin to its own node.",
    ),
)
"""Of the device plugins."""


def of_configurations(name: str) -> tuple[Right, ...]:
    """The webhook configurations called `name`, which belong to no namespace: whom the API server is to trust."""
    kinds = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
    return (Right(("admissionregistration.k8s.io",), kinds, ("get", "patch"), (name,)),)
