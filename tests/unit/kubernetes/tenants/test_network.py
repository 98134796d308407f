"""Network policies against the pods that Shoal makes: who may talk to whom.

Kubernetes leaves it to network plugins to keep policies; here they are read as their definition says
(https://kubernetes.io/docs/concepts/services-networking/network-policies/).
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

import pytest

from shoal.kubernetes.gpu_names import GPU_NAMES
from shoal.kubernetes.install import Values, operator_objects
from shoal.kubernetes.pods import pod
from shoal.kubernetes.serving.pods import pod_template
from shoal.kubernetes.tenants.objects import tenant_objects
from shoal.kubernetes.tensorboard import render_board
from shoal.kubernetes.workbench import render_workbench
from shoal.resources import parse, parse_board, parse_server, parse_workbench
from shoal.resources.tenant import Tenant
from shoal.training import replica_ids

TENANTS = [
    Tenant(name="team-a", cpu="4", memory="8Gi", egress=["10.9.0.0/16"]),
    Tenant(name="team-b", cpu="4", memory="8Gi"),
]
POLICIES = [each for tenant in TENANTS for each in tenant_objects(tenant) if each["kind"] == "NetworkPolicy"]


class End(NamedTuple):
    """A pod, or an address beyond the cluster."""

    namespace: str
    labels: dict[str, str]
    address: str = ""


def _job() -> Any:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "example/train"}]}}
    roles = {"Worker": {"replicas": 2, "template": template}, "PS": {"template": template}}
    return parse(
        {
            "apiVersion": "shoal.dev/v1",
            "kind": "TFJob",
            "metadata": {"name": "train", "namespace": "team-a"},
            "spec": {"tfReplicaSpecs": roles},
        }
    )


def _server() -> Any:
    models = [{"name": "digits", "basePath": "s3://bucket/digits"}]
    about = {"name": "digits", "namespace": "team-a"}
    return parse_server(
        {"apiVersion": "shoal.dev/v1", "kind": "ModelServer", "metadata": about, "spec": {"models": models}}
    )


def _board_labels() -> dict[str, str]:
    about = {"name": "curves", "namespace": "team-a"}
    spec = {"logDirs": {"first": "/logs"}, "storage": [{"name": "logs", "existingClaim": "logs", "mountPath": "/logs"}]}
    board = parse_board({"apiVersion": "shoal.dev/v1", "kind": "TensorBoard", "metadata": about, "spec": spec})
    return _pod_labels(render_board(board))


def _workbench_labels() -> dict[str, str]:
    about = {"name": "desk", "namespace": "team-a"}
    bench = parse_workbench({"apiVersion": "shoal.dev/v1", "kind": "Workbench", "metadata": about, "spec": {}})
    return _pod_labels(render_workbench(bench))


def _operator_labels() -> dict[str, str]:
    return _pod_labels(operator_objects(Values(), "shoal-system"))


def _pod_labels(objects: Iterable[Any]) -> dict[str, str]:
    deployment = next(each for each in objects if each["kind"] == "Deployment")
    labels: dict[str, str] = deployment["spec"]["template"]["metadata"]["labels"]
    return labels


WORKER, OTHER = (End("team-a", pod(_job(), id)["metadata"]["labels"]) for id in replica_ids(_job())[:2])
SERVER = End("team-a", pod_template(_server(), GPU_NAMES)["metadata"]["labels"])
BOARD = End("team-a", _board_labels())
BENCH = End("team-a", _workbench_labels())
OPERATOR = End("shoal-system", _operator_labels())
STRANGER = End("team-b", WORKER.labels)
DISGUISED = End("team-b", OPERATOR.labels)
INGRESS = End("ingress-nginx", {"app.kubernetes.io/name": "ingress-nginx"})
DNS = End("kube-system", {"k8s-app": "kube-dns"})
STORE = End("", {}, "10.9.3.4")
WORLD = End("", {}, "203.0.113.7")


@pytest.mark.parametrize(
    ("source", "target", "port", "protocol", "allowed"),
    [
        (WORKER, OTHER, 2222, "TCP", True),
        (OTHER, WORKER, 41234, "TCP", True),
        (WORKER, SERVER, 8500, "TCP", True),
        (WORKER, DNS, 53, "UDP", True),
        (WORKER, DNS, 53, "TCP", True),
        (WORKER, DNS, 443, "TCP", False),
        (WORKER, End("", {}, "169.254.20.10"), 53, "UDP", True),
        (WORKER, End("", {}, "169.254.169.254"), 80, "TCP", False),
        (WORKER, STORE, 443, "TCP", True),
        (WORKER, WORLD, 443, "TCP", False),
        (STRANGER, STORE, 443, "TCP", False),
        (STRANGER, WORKER, 2222, "TCP", False),
        (WORKER, STRANGER, 2222, "TCP", False),
        (STRANGER, SERVER, 8501, "TCP", False),
        (OPERATOR, SERVER, 8501, "TCP", True),
        (OPERATOR, SERVER, 8500, "TCP", False),
        (OPERATOR, WORKER, 2222, "TCP", False),
        (DISGUISED, SERVER, 8501, "TCP", False),
        (End("shoal-system", {"app": "other"}), SERVER, 8501, "TCP", False),
        (INGRESS, SERVER, 8500, "TCP", True),
        (INGRESS, SERVER, 8501, "TCP", True),
        (INGRESS, WORKER, 2222, "TCP", False),
        (INGRESS, BOARD, 6006, "TCP", True),
        (INGRESS, BOARD, 22, "TCP", False),
        (STRANGER, BOARD, 6006, "TCP", False),
        (INGRESS, BENCH, 8888, "TCP", True),
        (INGRESS, BENCH, 22, "TCP", False),
        (STRANGER, BENCH, 8888, "TCP", False),
        (BENCH, WORKER, 2222, "TCP", True),
        (BENCH, WORLD, 443, "TCP", False),
        (WORLD, SERVER, 8501, "TCP", False),
    ],
)
def test_who_may_talk_to_whom(source: End, target: End, port: int, protocol: str, allowed: bool) -> None:
    assert (
        _passes(source, target, port, protocol, "Egress") and _passes(target, source, port, protocol, "Ingress")
    ) is (allowed)


def _passes(own: End, other: End, port: int, protocol: str, direction: str) -> bool:
    """Whether `own`'s policies let it: without one of this direction, all is allowed."""
    bound = [
        each["spec"]
        for each in POLICIES
        if each["metadata"]["namespace"] == own.namespace
        and direction in each["spec"]["policyTypes"]
        and _selects(each["spec"]["podSelector"], own.labels)
    ]
    if not bound:
        return True
    key, peers = ("egress", "to") if direction == "Egress" else ("ingress", "from")
    return any(
        _port(rule, port, protocol) and any(_peer(each, other, own.namespace) for each in rule[peers])
        for spec in bound
        for rule in spec[key]
    )


def _port(rule: dict[str, Any], port: int, protocol: str) -> bool:
    return "ports" not in rule or {"port": port, "protocol": protocol} in rule["ports"]


def _peer(peer: dict[str, Any], end: End, here: str) -> bool:
    if "ipBlock" in peer:
        return bool(end.address) and ip_address(end.address) in ip_network(peer["ipBlock"]["cidr"])
    if end.address:
        return False
    namespace = peer.get("namespaceSelector")
    if namespace is None:
        inside = end.namespace == here
    else:
        inside = _selects(namespace, {"kubernetes.io/metadata.name": end.namespace})
    return inside and _selects(peer.get("podSelector", {}), end.labels)


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    wanted: dict[str, str] = selector.get("matchLabels", {})
    needed = selector.get("matchExpressions", [])
    assert all(each["operator"] == "Exists" for each in needed)
    return wanted.items() <= labels.items() and all(each["key"] in labels for each in needed)
