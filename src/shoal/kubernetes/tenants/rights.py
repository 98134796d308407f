"""What a tenant's members may do in its namespace: what `shoal`'s commands and `kubectl` take for their work.

Nothing of it leads further: no roles and bindings, no service accounts or their tokens, nothing that bounds the tenant,
and nothing outside its namespace. Pods and what they may be is bounded by the namespace's Pod Security level.
"""

from __future__ import annotations

from typing import Any

from shoal.kubernetes.install.rights import Right
from shoal.kubernetes.tenants.names import OBJECT, metadata
from shoal.resources.tenant import Tenant

Object = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"

READ = ("get", "list", "watch")
WRITE = (*READ, "create", "update", "patch", "delete")

OF_MEMBERS = (
    Right(("shoal.dev", "kubeflow.org"), ("tfjobs",), WRITE),
    Right(("shoal.dev",), ("modelservers", "tensorboards", "workbenches"), WRITE),
    Right(("shoal.dev", "kubeflow.org"), ("tfjobs/scale", "modelservers/scale"), ("get", "update", "patch")),
    Right(("",), ("pods",), (*READ, "create", "delete"), why="`shoal run --code-claim` copies by a pod."),
    Right(("",), ("pods/log",), ("get",)),
    Right(("",), ("pods/exec", "pods/portforward"), ("get", "create"), why="By WebSocket it is a get."),
    Right(("",), ("configmaps", "secrets", "persistentvolumeclaims"), WRITE, why="What stands beside jobs in a file."),
    Right(("",), ("services", "events", "resourcequotas", "limitranges"), READ),
    Right(("events.k8s.io",), ("events",), READ),
    Right(("apps",), ("deployments",), READ),
    Right(("autoscaling",), ("horizontalpodautoscalers",), READ),
    Right(("networking.k8s.io",), ("ingresses", "networkpolicies"), READ),
    Right(("rbac.authorization.k8s.io",), ("rolebindings",), ("get",), (OBJECT,), "For `shoal tenant show`."),
)


def role(tenant: Tenant) -> Object:
    rules = [each.rule() for each in OF_MEMBERS]
    return {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata(tenant), "rules": rules}


def role_binding(tenant: Tenant) -> Object:
    named = [*(("User", name) for name in tenant.members), *(("Group", name) for name in tenant.groups)]
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(tenant),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": OBJECT},
        "subjects": [{"apiGroup": RBAC, "kind": kind, "name": name} for kind, name in named],
    }
