"""The installation as plain objects, equal to what Helm makes of `charts/shoal` under the same values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shoal import __version__
from shoal.kubernetes.install.deployment import deployment
from shoal.kubernetes.install.device_plugin import daemon_set, device_plugin_metadata, own_node_policy
from shoal.kubernetes.install.monitoring import monitoring_objects
from shoal.kubernetes.install.naming import Release
from shoal.kubernetes.install.rights import (
    IN_CLUSTER,
    IN_NAMESPACES,
    OF_LEASE,
    OF_NODES,
    OF_POOL,
    OF_SECRET,
    Right,
    of_configurations,
)
from shoal.kubernetes.install.values import Values
from shoal.kubernetes.install.webhook import webhook_objects
from shoal.kubernetes.labels import MODEL_SERVER
from shoal.kubernetes.serving.pods import REST
from shoal.resources.crd import kubeflow_crd, shoal_crd
from shoal.resources.model_server_crd import model_server_crd
from shoal.resources.tensorboard_crd import tensorboard_crd
from shoal.resources.workbench_crd import workbench_crd

Object = dict[str, Any]
RBAC_API = "rbac.authorization.k8s.io"


def definitions() -> list[Object]:
    """The CRDs."""
    return [shoal_crd(), kubeflow_crd(), model_server_crd(), tensorboard_crd(), workbench_crd()]


def namespace_object(name: str, values: Values) -> Object:
    """The operator's namespace. It needs no more than the *restricted* level, so nothing else in it gets more, unless
    device plugins are there, which need a folder of their nodes."""
    level = "privileged" if values.device_plugin.enabled else "restricted"
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def operator_objects(values: Values, namespace: str, release: str = "shoal") -> list[Object]:
    """Everything but the CRDs and the namespace, in the order in which it is needed."""
    return list(_Installation(values, Release(release, namespace, __version__, values)).objects())


@dataclass(frozen=True, slots=True)
class _Installation:
    values: Values
    release: Release

    def objects(self) -> Iterator[Object]:
        values = self.values
        if values.service_account.create:
            yield self._service_account()
        if values.rbac.create:
            yield from self._roles()
            yield from self._bindings()
            if values.webhook.enabled and not values.webhook.certificate.existing_secret:
                yield from self._certificate_rights()
        yield self._service()
        if values.webhook.enabled:
            yield from webhook_objects(values, self.release)
        yield deployment(values, self.release)
        if values.device_plugin.enabled:
            yield from self._device_plugin()
        if values.pod_disruption_budget.enabled:
            yield self._disruption_budget()
        if values.network_policy.enabled:
            yield self._network_policy()
        yield from monitoring_objects(values, self.release)

    @property
    def _pooled(self) -> bool:
        return bool(self.values.gpu.pool.broker)

    def _service_account(self) -> Object:
        about = self.release.metadata(self.release.service_account)
        if annotations := self.values.service_account.annotations:
            about["annotations"] = dict(annotations)
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about}

    def _roles(self) -> Iterator[Object]:
        name, cluster = self.release.fullname, f"{self.release.fullname}-volumes"
        yield _role("ClusterRole", self.release.cluster_metadata(name), IN_NAMESPACES)
        yield _role("ClusterRole", self.release.cluster_metadata(cluster), IN_CLUSTER)
        yield _role("Role", self._lease_metadata(), OF_LEASE)
        if self._pooled:
            yield _role("ClusterRole", self.release.cluster_metadata(f"{name}-pool"), OF_POOL)

    def _bindings(self) -> Iterator[Object]:
        name, cluster = self.release.fullname, f"{self.release.fullname}-volumes"
        watched = self.values.operator.watch_namespace
        for role in [name] + [f"{name}-pool"] * self._pooled:
            if watched:
                about = {**self.release.metadata(role), "namespace": watched}
                yield self._binding("RoleBinding", about, "ClusterRole", role)
            else:
                yield self._binding("ClusterRoleBinding", self.release.cluster_metadata(role), "ClusterRole", role)
        yield self._binding("ClusterRoleBinding", self.release.cluster_metadata(cluster), "ClusterRole", cluster)
        lease = self._lease_metadata()
        yield self._binding("RoleBinding", lease, "Role", lease["name"])

    def _certificate_rights(self) -> Iterator[Object]:
        name = self.release.webhook
        everywhere, here = self.release.cluster_metadata(name), self.release.metadata(name)
        yield _role("ClusterRole", everywhere, of_configurations(self.release.fullname))
        yield _role("Role", here, OF_SECRET)
        yield self._binding("ClusterRoleBinding", everywhere, "ClusterRole", name)
        yield self._binding("RoleBinding", here, "Role", name)

    def _device_plugin(self) -> Iterator[Object]:
        name, values = self.release.device_plugin, self.values
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": device_plugin_metadata(self.release)}
        if values.device_plugin.label_node and values.rbac.create:
            # The policy first, so that the right is never wider than it.
            yield from own_node_policy(values, self.release)
            about = self.release.cluster_metadata(name)
            yield _role("ClusterRole", about, OF_NODES)
            yield self._binding("ClusterRoleBinding", about, "ClusterRole", name, account=name)
        yield daemon_set(values, self.release)

    def _lease_metadata(self) -> Object:
        """The lease lies beside the operator, or beside the jobs of the one namespace that it looks after."""
        about = self.release.metadata(f"{self.release.fullname}-lease")
        return {**about, "namespace": self.values.operator.watch_namespace or self.release.namespace}

    def _binding(self, kind: str, about: Object, role_kind: str, role: str, account: str = "") -> Object:
        subject = {
            "kind": "ServiceAccount",
            "name": account or self.release.service_account,
            "namespace": self.release.namespace,
        }
        return {
            "apiVersion": f"{RBAC_API}/v1",
            "kind": kind,
            "metadata": about,
            "roleRef": {"apiGroup": RBAC_API, "kind": role_kind, "name": role},
            "subjects": [subject],
        }

    def _service(self) -> Object:
        port = {"name": "metrics", "port": self.values.metrics.port, "targetPort": "metrics", "protocol": "TCP"}
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.release.metadata(f"{self.release.fullname}-metrics"),
            "spec": {"selector": self.release.selector, "ports": [port]},
        }

    def _disruption_budget(self) -> Object:
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": self.release.metadata(self.release.fullname),
            "spec": {
                "maxUnavailable": self.values.pod_disruption_budget.max_unavailable,
                "selector": {"matchLabels": self.release.selector},
            },
        }

    def _network_policy(self) -> Object:
        policy = self.values.network_policy
        scraped: Object = {"ports": [{"port": "metrics", "protocol": "TCP"}]}
        if policy.metrics_from:
            scraped["from"] = policy.metrics_from
        # The API server is often no pod, so that no peer stands for it.
        asked = [{"ports": [{"port": "webhook", "protocol": "TCP"}]}] if self.values.webhook.enabled else []
        # Model servers are asked which versions they serve.
        servers = {"matchExpressions": [{"key": MODEL_SERVER, "operator": "Exists"}]}
        to_servers = {
            "to": [{"namespaceSelector": {}, "podSelector": servers}],
            "ports": [{"port": REST, "protocol": "TCP"}],
        }
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": self.release.metadata(self.release.fullname),
            "spec": {
                "podSelector": {"matchLabels": self.release.selector},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [scraped, *asked],
                "egress": [
                    {"ports": [{"port": port, "protocol": "TCP"} for port in policy.api_server_ports]},
                    to_servers,
                    *([{"ports": [{"port": self.values.gpu.pool.port, "protocol": "TCP"}]}] if self._pooled else []),
                ],
            },
        }


def _role(kind: str, about: Object, rights: tuple[Right, ...]) -> Object:
    return {
        "apiVersion": f"{RBAC_API}/v1",
        "kind": kind,
        "metadata": about,
        "rules": [each.rule() for each in rights],
    }
