"""The node level as a whole: started part by part, and taken down with its namespaces."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from tests.cluster.binaries import Binaries
from tests.cluster.busybox import busybox, pause
from tests.cluster.cache import RunFolder, try_lock
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import ClusterError
from tests.cluster.images import Loadable
from tests.cluster.kubectl import Kubectl
from tests.cluster.node_level.containerd import SOCKET, Containerd
from tests.cluster.node_level.control_groups import ControlGroup
from tests.cluster.node_level.kubelet import NODE, ROOT, kernel_settings, start_kubelet
from tests.cluster.node_level.namespaces import Link, Namespaces
from tests.cluster.node_level.requirements import prepare_machine
from tests.cluster.node_level.services import start_coredns, start_kube_proxy
from tests.cluster.programs import Program
from tests.cluster.waiting import wait_until

LOCK = Path("/run/lock/shoal-test-node.lock")
# From the network that is set aside for benchmarks: no other network has them.
HERE, THERE = "198.18.77.1", "198.18.77.2"
LINK = "shoal-test"


class NodeCluster:
    """A cluster of one node that runs containers. Use it in a `with` statement, as root."""

    def __init__(self, binaries: Binaries, wait: float = 900) -> None:
        """Another cluster of this machine is waited for, up to `wait` seconds."""
        self._binaries = binaries
        self._wait = wait
        self._open = ExitStack()
        self._programs: list[Program] = []
        self._control_plane: ControlPlane | None = None

    def __enter__(self) -> NodeCluster:
        prepare_machine()
        with ExitStack() as undo:
            self._lock(undo)
            folder = RunFolder("node")
            undo.callback(folder.close)
            self.folder = folder.path
            group = ControlGroup()
            undo.callback(group.close)
            undo.callback(self._bury)
            self.namespaces = Namespaces(self.folder, self._mounts(undo))
            undo.callback(self.namespaces.close)
            link = Link(self.namespaces, LINK, HERE, THERE)
            undo.callback(link.close)
            self._start(group.path)
            self._open = undo.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    @property
    def control_plane(self) -> ControlPlane:
        assert self._control_plane, "the cluster was not started"
        return self._control_plane

    @property
    def kubectl(self) -> Kubectl:
        return self.control_plane.kubectl

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.control_plane.kubeconfig

    @property
    def device_plugins(self) -> Path:
        """The folder that pods and the kubelet see as /var/lib/kubelet/device-plugins."""
        return self.folder / "kubelet" / "device-plugins"

    @property
    def host_address(self) -> str:
        """Where the API server and pods reach programs of this machine, such as a test's webhook."""
        return HERE

    def load(self, image: Loadable) -> None:
        """Put an image into the node; pods name it by its name, with imagePullPolicy: Never or IfNotPresent."""
        self.containerd.load(image)

    def restart_kubelet(self) -> None:
        """Stop the kubelet and start it again; pods go on meanwhile."""
        self.kubelet.stop()
        self.kubelet = self._started(start_kubelet(*self._kubelet_arguments))
        self.kubelet.wait_until(self._kubelet_answers, 60)

    def _start(self, cgroup: str) -> None:
        self.containerd = Containerd(self.folder, self.namespaces)
        self._started(self.containerd.program)
        self._control_plane = ControlPlane(self.folder, self._binaries, THERE, within=self.namespaces.enter)
        self.control_plane.start()
        self.containerd.wait(lambda: (self.folder / "run" / Path(SOCKET).name).exists())
        self.load(pause())
        self.load(busybox())
        self._kubelet_arguments = (self.folder, self._binaries, self.control_plane, self.namespaces, cgroup)
        self.kubelet = self._started(start_kubelet(*self._kubelet_arguments))
        parts = (self.folder, self._binaries, self.control_plane, self.namespaces)
        self.kube_proxy = self._started(start_kube_proxy(*parts))
        self.coredns = self._started(start_coredns(*parts))
        self.kubelet.wait_until(self._node_is_ready, 90, "ready with its node")
        self.kube_proxy.wait_until(lambda: _answers(f"http://{THERE}:10256/healthz"), 30)
        self.coredns.wait_until(lambda: _answers(f"http://{THERE}:8181/ready"), 30)

    def _started(self, program: Program) -> Program:
        self._programs.append(program)
        return program

    def _bury(self) -> None:
        """Collect what ended with the namespaces."""
        for each in self._programs:
            each.kill()
        if self._control_plane:
            self._control_plane.stop()

    def _lock(self, undo: ExitStack) -> None:
        held = [try_lock(LOCK)]
        if held[0] is None:

            def free() -> bool:
                held[0] = try_lock(LOCK)
                return held[0] is not None

            if (owner := LOCK.read_text().strip()) == str(os.getpid()):
                raise ClusterError(
                    "this process runs a node-level cluster already, and there can be only one a machine"
                )
            print(f"waiting for the node-level cluster of process {owner} to end …", file=sys.stderr)
            try:
                wait_until(free, self._wait)
            except ClusterError:
                owner = LOCK.read_text().strip()
                raise ClusterError(
                    f"process {owner} runs the node-level cluster of this machine, and there can be only one",
                    "`make cluster-down` ends one that `make cluster-up` started",
                ) from None
        lock = held[0]
        assert lock is not None
        undo.callback(lock.close)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()

    def _mounts(self, undo: ExitStack) -> dict[str, Path]:
        """What the node sees in place of the machine's own folders and settings."""
        folders = {ROOT: "kubelet", "/var/lib/cni": "cni-state", "/var/log": "log", "/run/containerd": "run"}
        found = {}
        for path, name in folders.items():
            (self.folder / name).mkdir()
            found[path] = self.folder / name
            Path(path).mkdir(parents=True, exist_ok=True)
            # One that is there and empty was most likely made by a run that was killed.
            undo.callback(_remove_empty, Path(path))
        return found | kernel_settings(self.folder / "kernel-settings")

    def _node_is_ready(self) -> bool:
        done = self.kubectl.try_("get", f"node/{NODE}", "-o", "jsonpath={.spec.taints}{.status.conditions[-1:].status}")
        return done.returncode == 0 and done.stdout == "True"

    def _kubelet_answers(self) -> bool:
        return _answers(f"http://{THERE}:10248/healthz")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _remove_empty(path: Path) -> None:
    with suppress(OSError):
        path.rmdir()
