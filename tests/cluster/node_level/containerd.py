"""containerd for the node: its configuration, and images put into it without a registry."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.cluster.busybox import PAUSE
from tests.cluster.errors import ClusterError
from tests.cluster.images import Loadable
from tests.cluster.node_level.namespaces import Namespaces
from tests.cluster.programs import Program

SOCKET = "/run/containerd/containerd.sock"
CONFIGURATION = """
version = 2
root = "{folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = "{socket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Root may lack CAP_SYS_RESOURCE, and then cannot lower the score below its own.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""
# Point-to-point links are routed packet by packet. A bridge would answer a Service's client past kube-proxy's rules,
# unless the kernel has br_netfilter.
NETWORK = {
    "cniVersion": "0.4.0",
    "name": "pods",
    "plugins": [
        {
            "type": "ptp",
            "ipMasq": False,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": "10.244.0.0/24"}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}


class Containerd:
    """A containerd whose files lie in `folder`."""

    def __init__(self, folder: Path, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        (folder / "cni").mkdir()
        (folder / "cni" / "10-pods.conflist").write_text(json.dumps(NETWORK))
        configuration = folder / "containerd.toml"
        configuration.write_text(CONFIGURATION.format(folder=folder, socket=SOCKET, pause=PAUSE))
        command = ["/usr/bin/containerd", "--config", str(configuration), "--log-level=warn"]
        self.program = Program("containerd", command, folder / "containerd.log", within=namespaces.enter)

    def wait(self, within: Callable[[], bool]) -> None:
        """Wait until it answers and `within()` holds."""
        self.program.wait_until(within, 30)

    def load(self, image: Loadable) -> None:
        """Put an image where the kubelet finds it."""
        command = ["ctr", "--namespace=k8s.io", "images", "import", "--all-platforms", "-"]
        importing = subprocess.Popen(
            [*self._namespaces.enter, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert importing.stdin is not None
        # When it ends early, what it says of that is worth more than the broken pipe.
        with suppress(BrokenPipeError):
            image.write(importing.stdin)
        _, said = importing.communicate()
        if importing.returncode != 0:
            raise ClusterError(f"{' '.join(command)} refused {image.name}: {said.decode().strip()}")
