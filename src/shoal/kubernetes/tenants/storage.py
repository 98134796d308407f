"""Which NFS exports a tenant's jobs, servers and TensorBoards may name.

The operator makes persistent volumes for them, which Pod Security does not look at: without this policy of admission a
tenant could mount what another keeps on the same NFS server. It takes Kubernetes 1.30 or later.
"""

from __future__ import annotations

import json
from typing import Any

from shoal.kubernetes.tenants.names import cluster_name, labels
from shoal.resources.tenant import NFSExport, Tenant

Object = dict[str, Any]
ADMISSION = "admissionregistration.k8s.io/v1"


def nfs_policy(tenant: Tenant) -> list[Object]:
    """The policy, and its binding to the tenant's namespace."""
    name, own = cluster_name(tenant.name), {"kubernetes.io/metadata.name": tenant.name}
    allowed = " || ".join(map(_within, tenant.nfs)) or "false"
    named = ", ".join(f"{each.server}:{each.path}" for each in tenant.nfs) or "none"
    rule = {
        "apiGroups": ["shoal.dev"],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["*"],
        "scope": "Namespaced",
    }
    policy = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "labels": labels(tenant)},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": {"matchLabels": own}},
            "matchConditions": [
                {"name": "has-storage", "expression": "has(object.spec) && has(object.spec.storage)"},
                # What was granted before and is being deleted must still be able to go.
                {"name": "is-news", "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec"},
            ],
            "validations": [
                {
                    "expression": f"object.spec.storage.all(s, !has(s.nfs) || {allowed})",
                    "message": f"spec.storage: tenant {tenant.name} may use these NFS exports: {named}",
                }
            ],
        },
    }
    binding = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name, "labels": labels(tenant)},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": own}},
        },
    }
    return [policy, binding]


def _within(export: NFSExport) -> str:
    """CEL: the export itself, or a folder of it. JSON's strings are CEL's, too."""
    server, path = json.dumps(export.server), export.path.rstrip("/")
    below = f"(s.nfs.path == {json.dumps(path or '/')} || s.nfs.path.startsWith({json.dumps(f'{path}/')}))"
    return f"(s.nfs.server == {server} && {below} && !s.nfs.path.split('/').exists(part, part == '..'))"
