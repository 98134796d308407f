"""Defaults under which a pod passes the *restricted* Pod Security level
(https://kubernetes.io/docs/concepts/security/pod-security-standards/). What the user has set stays as it is.

Only for `shoal.dev` jobs: a TFJob that has run under Kubeflow may count on being root.
"""

from __future__ import annotations

from shoal.kubernetes.cluster_config import Object

USER = 1000
"""An image's own user may be root, which `runAsNonRoot` refuses; so one is named. Volumes get the same group."""


def restrict(spec: Object) -> None:
    """Fill in what is not set, in the pod and in each of its containers."""
    pod = spec.setdefault("securityContext", {})
    pod.setdefault("runAsNonRoot", True)
    if pod["runAsNonRoot"]:
        for field in ("runAsUser", "runAsGroup", "fsGroup"):
            pod.setdefault(field, USER)
    pod.setdefault("seccompProfile", {"type": "RuntimeDefault"})
    for container in [*spec["containers"], *(spec.get("initContainers") or [])]:
        context = container.setdefault("securityContext", {})
        if not context.get("privileged"):
            context.setdefault("allowPrivilegeEscalation", False)
            context.setdefault("capabilities", {"drop": ["ALL"]})
