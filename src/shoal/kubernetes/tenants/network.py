"""Whom a tenant's pods may talk to: each other, DNS, and the networks that were named. All else is denied.

Peers are chosen by namespace first: a label alone could be given to a pod by anybody. A policy holds only where the
cluster's network plugin enforces policies.
"""

from __future__ import annotations

from typing import Any

from shoal.kubernetes.labels import COMPONENT, MODEL_SERVER, TENSORBOARD, WORKBENCH
from shoal.kubernetes.serving.pods import GRPC, REST
from shoal.kubernetes.tenants.names import OBJECT, metadata
from shoal.kubernetes.tensorboard import PORT as TENSORBOARD_PORT
from shoal.kubernetes.workbench import PORT as WORKBENCH_PORT
from shoal.resources.tenant import Tenant

Object = dict[str, Any]

DNS_NAMESPACE = "kube-system"
NODE_LOCAL_DNS = "169.254.0.0/16"
"""Link-local addresses, where a DNS cache of the node listens."""


def network_policies(tenant: Tenant) -> list[Object]:
    return [
        _among_themselves(tenant),
        _to_servers(tenant),
        _to_app(tenant, "boards", TENSORBOARD, TENSORBOARD_PORT),
        _to_app(tenant, "workbenches", WORKBENCH, WORKBENCH_PORT),
    ]


def _among_themselves(tenant: Tenant) -> Object:
    """For all pods. Replicas talk to each other at ports that users choose, so no port is named."""
    own: Object = {"podSelector": {}}
    dns = {
        "to": [_namespace(DNS_NAMESPACE), {"ipBlock": {"cidr": NODE_LOCAL_DNS}}],
        "ports": [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")],
    }
    beyond = [{"to": [{"ipBlock": {"cidr": network}} for network in tenant.egress]}] if tenant.egress else []
    spec = {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [own]}],
        "egress": [{"to": [own]}, dns, *beyond],
    }
    return _policy(tenant, OBJECT, spec)


def _to_servers(tenant: Tenant) -> Object:
    """Model servers are asked by clients from outside, and by the operator, which versions they serve."""
    operator = {
        **_namespace(tenant.operator_namespace),
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "shoal", COMPONENT: "operator"}},
    }
    rules: list[Object] = [{"from": [operator], "ports": [{"port": REST, "protocol": "TCP"}]}]
    rules += _from_outside(tenant, (GRPC, REST))
    return _policy(tenant, f"{OBJECT}-servers", _into(MODEL_SERVER, rules))


def _to_app(tenant: Tenant, name: str, label: str, port: int) -> Object:
    return _policy(tenant, f"{OBJECT}-{name}", _into(label, _from_outside(tenant, (port,))))


def _into(label: str, rules: list[Object]) -> Object:
    """For pods with the label, whatever its value."""
    selector = {"matchExpressions": [{"key": label, "operator": "Exists"}]}
    return {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": rules}


def _from_outside(tenant: Tenant, ports: tuple[int, ...]) -> list[Object]:
    """What an ingress controller brings."""
    if not tenant.ingress_from:
        return []
    named = [{"port": port, "protocol": "TCP"} for port in ports]
    return [{"from": [_namespace(name) for name in tenant.ingress_from], "ports": named}]


def _namespace(name: str) -> Object:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def _policy(tenant: Tenant, name: str, spec: Object) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(tenant, name),
        "spec": spec,
    }
