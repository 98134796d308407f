"""A node leaves the machine as it found it: stopped, started again, or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.cluster.api_level import CHECKOUT
from tests.cluster.binaries import Binaries, binaries
from tests.cluster.busybox import BUSYBOX
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.node_level.kubelet import KERNEL_SETTINGS
from tests.cluster.pods import container, pod
from tests.cluster.waiting import wait_until

HOLD = """
import sys
from tests.cluster.node.test_leftovers import run_a_pod
from tests.cluster.binaries import binaries
from tests.cluster.node_level.cluster import NodeCluster
with NodeCluster(binaries()) as cluster:
    run_a_pod(cluster)
    print(cluster.folder, flush=True)
    sys.stdin.read()  # until whoever started it is gone
"""


def test_nothing_is_left_after_stop_and_a_second_start_works(kubernetes: Binaries) -> None:
    before = traces()
    for _ in range(2):
        with NodeCluster(kubernetes) as cluster:
            run_a_pod(cluster)
            assert traces() != before
            assert kernel_settings() == before["kernel settings"]
        assert traces() == before
        assert not cluster.folder.exists()


def test_nothing_is_left_when_its_owner_is_killed(kubernetes: Binaries) -> None:
    before = traces()
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    assert folder.name.startswith("node-")
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    # The kernel cannot remove groups and folders; the next start does.
    kept = ("control groups", "folders")
    left = {name: what for name, what in before.items() if name not in kept}
    wait_until(
        lambda: {name: what for name, what in traces().items() if name not in kept} == left,
        20,
        lambda: f"{left}, but {traces()}",
    )
    with NodeCluster(kubernetes):
        assert not folder.exists()
    assert traces() == before


def run_a_pod(cluster: NodeCluster) -> None:
    """A pod with a volume of its own, so that the kubelet and containerd have something mounted."""
    main = container(
        image=BUSYBOX,
        command=["sleep", "600"],
        imagePullPolicy="Never",
        volumeMounts=[{"name": "memory", "mountPath": "/memory"}],
    )
    volume = {"name": "memory", "emptyDir": {"medium": "Memory"}}
    cluster.kubectl.apply(pod("stays", [main], volumes=[volume]))
    cluster.kubectl.wait_for("pod/stays", lambda each: each["status"].get("phase") == "Running")


def traces() -> dict[str, Any]:
    """Everything of the machine that a node touches."""
    ours = str(binaries().folder)
    processes = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or [""]
        if "containerd" in words[0] or (words[0].startswith(ours) and "node-" in " ".join(words)):
            processes.append(" ".join(words))
    return {
        "processes": sorted(processes),
        "mounts": Path("/proc/self/mounts").read_text(),
        "links": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "network namespaces": len({_network(process.pid) for process in psutil.process_iter()} - {None}),
        "kernel settings": kernel_settings(),
        "control groups": sorted(
            str(path)
            for pattern in ("*shoal*", "*/*shoal*", "*/kubepods*")
            for path in Path("/sys/fs/cgroup").glob(pattern)
        ),
        "folders": [path for path in ("/var/lib/kubelet", "/var/lib/cni", "/run/containerd") if Path(path).exists()],
    }


def kernel_settings() -> dict[str, str]:
    return {name: (Path("/proc/sys") / name).read_text() for name in KERNEL_SETTINGS}


def _network(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None
