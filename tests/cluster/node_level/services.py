"""Services on the node: kube-proxy, and CoreDNS behind the address that every pod asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.cluster.binaries import Binaries
from tests.cluster.control_plane import PODS, ControlPlane
from tests.cluster.node_level.kubelet import DNS_SERVICE, DOMAIN, NODE
from tests.cluster.node_level.namespaces import Namespaces
from tests.cluster.programs import Program

COREFILE = """
{domain}:53 in-addr.arpa:53 {{
    bind {address}
    errors
    ready {address}:8181
    kubernetes {domain} in-addr.arpa {{
        kubeconfig {kubeconfig}
        ttl 5
    }}
    cache 5
}}
.:53 {{
    bind {address}
    errors
}}
"""


def start_kube_proxy(folder: Path, binaries: Binaries, control_plane: ControlPlane, namespaces: Namespaces) -> Program:
    """Start kube-proxy, which turns Services into rules of iptables."""
    kubeconfig = control_plane.identity("system:kube-proxy", file="kube-proxy")
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "clusterCIDR": PODS,
        "hostnameOverride": NODE,
        "bindAddress": control_plane.address,
        "healthzBindAddress": f"{control_plane.address}:10256",
        "metricsBindAddress": f"{control_plane.address}:10249",
        # These limits are the machine's, not the namespace's.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "iptables": {"minSyncPeriod": "100ms", "syncPeriod": "30s"},
    }
    path = folder / "kube-proxy.yaml"
    path.write_text(yaml.safe_dump(configuration))
    command = [binaries["kube-proxy"], f"--config={path}"]
    return Program("kube-proxy", command, folder / "kube-proxy.log", within=namespaces.enter)


def start_coredns(folder: Path, binaries: Binaries, control_plane: ControlPlane, namespaces: Namespaces) -> Program:
    """Start CoreDNS, and make the Service that leads pods to it."""
    control_plane.kubectl.within("kube-system").apply(*_dns_objects(control_plane.address))
    kubeconfig = control_plane.identity("system:coredns", file="coredns")
    corefile = folder / "Corefile"
    corefile.write_text(COREFILE.format(domain=DOMAIN, address=control_plane.address, kubeconfig=kubeconfig))
    command = [binaries["coredns"], "-conf", str(corefile)]
    return Program("coredns", command, folder / "coredns.log", within=namespaces.enter)


def _dns_objects(address: str) -> list[dict[str, Any]]:
    place = {"name": "kube-dns", "namespace": "kube-system"}
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    rules = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces", "nodes"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:coredns"}
    proxy = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"}
    rbac = "rbac.authorization.k8s.io/v1"
    return [
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "system:coredns"}, "rules": rules},
        {
            "apiVersion": rbac,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "system:coredns"},
            "roleRef": proxy,
            "subjects": [user],
        },
        {"apiVersion": "v1", "kind": "Service", "metadata": place, "spec": {"clusterIP": DNS_SERVICE, "ports": ports}},
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**place, "labels": {"kubernetes.io/service-name": "kube-dns"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": ports,
        },
    ]
