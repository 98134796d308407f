"""The node's kubelet: its configuration, and what it would change on the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.cluster.binaries import Binaries
from tests.cluster.control_plane import NODE_GRACE_SECONDS, ControlPlane
from tests.cluster.node_level.containerd import SOCKET
from tests.cluster.node_level.namespaces import Namespaces
from tests.cluster.programs import Program

NODE = "node"
DNS_SERVICE = "10.96.0.10"
DOMAIN = "cluster.local"
# Where the kubelet keeps everything; device plugins look for its socket below this very path.
ROOT = "/var/lib/kubelet"

# The kubelet sets these for the whole machine. It reads first and leaves alone what is as it wants it, so in its mount
# namespace it reads files that say so, and the machine's own values are never touched.
KERNEL_SETTINGS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}


def kernel_settings(folder: Path) -> dict[str, Path]:
    """Files that say what the kubelet wants to read, by the paths they are to be mounted on."""
    folder.mkdir()
    found = {}
    for name, value in KERNEL_SETTINGS.items():
        path = folder / name.replace("/", ".")
        path.write_text(f"{value}\n")
        found[f"/proc/sys/{name}"] = path
    return found


def start_kubelet(
    folder: Path, binaries: Binaries, control_plane: ControlPlane, namespaces: Namespaces, cgroup: str
) -> Program:
    """Start the kubelet, all of whose pods are below the control group `cgroup`."""
    kubeconfig = control_plane.identity(f"system:node:{NODE}", ["system:nodes"], file="kubelet")
    configuration = folder / "kubelet.yaml"
    configuration.write_text(yaml.safe_dump(_configuration(folder, control_plane, cgroup)))
    flags = [f"--config={configuration}", f"--kubeconfig={kubeconfig}", f"--root-dir={ROOT}"]
    return Program(
        "kubelet",
        [binaries["kubelet"], *flags, f"--node-ip={control_plane.address}", f"--hostname-override={NODE}"],
        folder / "kubelet.log",
        within=namespaces.enter,
        # It would ask for six seconds whether this is a machine of a cloud.
        environment={"AWS_EC2_METADATA_DISABLED": "true"},
    )


def _configuration(folder: Path, control_plane: ControlPlane, cgroup: str) -> dict[str, Any]:
    resolver = folder / "resolv.conf"
    resolver.touch()
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": control_plane.address,
        "healthzBindAddress": control_plane.address,
        "authentication": {
            "x509": {"clientCAFile": str(control_plane.authority.certificate.cert)},
            "anonymous": {"enabled": False},
        },
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "clusterDNS": [DNS_SERVICE],
        "clusterDomain": DOMAIN,
        "resolvConf": str(resolver),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failSwapOn": False,
        # Root may lack CAP_SYS_RESOURCE, and then cannot lower the score.
        "oomScoreAdj": 0,
        # The machine's disk may be as full as it likes.
        "evictionHard": dict.fromkeys(("memory.available", "nodefs.available", "imagefs.available"), "0%")
        | {"nodefs.inodesFree": "0%", "imagefs.inodesFree": "0%"},
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "2s",
        "volumeStatsAggPeriod": "2s",
        # A quarter of it is how often the node says that it is there.
        "nodeLeaseDurationSeconds": NODE_GRACE_SECONDS,
        "registryPullQPS": 0,
        "kubeAPIQPS": 200,
        "kubeAPIBurst": 400,
    }
