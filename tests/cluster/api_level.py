"""The API level: a control plane on loopback, and a fake kubelet for its nodes.

Up in seconds; several may run at once.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from tests.cluster.binaries import Binaries
from tests.cluster.cache import RunFolder
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import ClusterError
from tests.cluster.kubectl import Kubectl
from tests.cluster.programs import Program

PORTS = (2379, 2380, 6443, 10250, 10257, 10259)
CHECKOUT = Path(__file__).parents[2]


class ApiCluster:
    """A cluster whose pods only pretend to run. Use it in a `with` statement."""

    def __init__(self, binaries: Binaries, nodes: int = 3, capacity: Mapping[str, str] | None = None) -> None:
        """`capacity` is what each node offers beside cpu, memory and pods, such as {"nvidia.com/gpu": "8"}."""
        self._binaries = binaries
        self._nodes = nodes
        self._capacity = dict(capacity or {})
        self._open = ExitStack()

    def __enter__(self) -> ApiCluster:
        with ExitStack() as undo:
            folder = RunFolder("api")
            undo.callback(folder.close)
            self.folder = folder.path
            self.control_plane = ControlPlane(folder.path, self._binaries, free_loopback_address())
            undo.callback(self.control_plane.stop)
            self.control_plane.start()
            self.fake_kubelet = self._start_fake_kubelet()
            undo.callback(self.fake_kubelet.stop)
            self.fake_kubelet.wait_until(lambda: self._schedulable() == self._nodes, 30, "ready with all its nodes")
            self._open = undo.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    @property
    def kubectl(self) -> Kubectl:
        return self.control_plane.kubectl

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.control_plane.kubeconfig

    @property
    def host_address(self) -> str:
        """Where the API server reaches programs of this machine, such as a test's webhook."""
        return self.control_plane.address

    def _start_fake_kubelet(self) -> Program:
        address = self.control_plane.address
        certificate = self.control_plane.authority.issue("fake-kubelet", hosts=[address])
        options = [f"--kubeconfig={self.kubeconfig}", f"--nodes={self._nodes}", f"--address={address}"]
        options += [f"--cert={certificate.cert}", f"--key={certificate.key}"]
        return Program(
            "fake kubelet",
            [sys.executable, "-m", "tests.cluster.fake_kubelet", *options, "--capacity", json.dumps(self._capacity)],
            self.folder / "fake-kubelet.log",
            environment={"PYTHONPATH": f"{CHECKOUT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        )

    def _schedulable(self) -> int:
        nodes = self.kubectl.json("get", "nodes")["items"]
        return sum(1 for each in nodes if not each["spec"].get("taints"))


def free_loopback_address() -> str:
    """A loopback address of its own, on which every port that a control plane wants is free.

    All of 127.0.0.0/8 is loopback, and what is bound to one address is nothing to another. Well-known ports on a random
    address need no search for free ones, in which clusters that start together would race.
    """
    for _ in range(100):
        address = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(2, 254)}"
        if all(_is_free(address, port) for port in PORTS):
            return address
    raise ClusterError(
        "no loopback address has the ports of a control plane free", f"who listens on {PORTS}? (ss -ltnp)"
    )


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
