"""The network, mount and PID namespaces that a node lives in.

Their first process is the one to kill: the kernel then ends every process in the PID namespace, unmounts what the mount
namespace had mounted, and removes the network namespace with its links. If whoever made them is killed, so is that
process, for the same end.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.cluster.errors import ClusterError
from tests.cluster.programs import Program, tool

# Bash, since it reaps what containerd's shims leave to the first process.
FIRST = """
set -eu
mount --make-rshared /
ip link set lo up
{mounts}
touch {ready}
sleep infinity &
wait
"""


class Namespaces:
    """Namespaces in which each of `binds` is mounted over the path it names (path: source)."""

    def __init__(self, folder: Path, binds: Mapping[str, Path]) -> None:
        self._ready = folder / "namespaces-ready"
        mounts = "\n".join(f"mount --bind {source} {path}" for path, source in binds.items())
        unshare = [tool("unshare", "util-linux"), "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self._outer = Program(
            "the node's namespaces",
            [*unshare, "--propagation=private", "--", "bash", "-c", FIRST.format(mounts=mounts, ready=self._ready)],
            folder / "namespaces.log",
        )
        try:
            self._outer.wait_until(self._ready.exists, 10)
            self.first = psutil.Process(self._outer.pid).children()[0].pid
        except BaseException:
            self._outer.kill()
            raise

    @property
    def enter(self) -> list[str]:
        """A command that runs its arguments in all three namespaces."""
        return [tool("nsenter", "util-linux"), f"--target={self.first}", "--net", "--mount", "--pid", "--"]

    @property
    def enter_network(self) -> list[str]:
        """A command that runs its arguments in the network namespace alone."""
        return [tool("nsenter", "util-linux"), f"--net=/proc/{self.first}/ns/net", "--"]

    def run(self, *command: str, timeout: float = 120) -> str:
        """Run a command inside to its end. Raises ClusterError when it fails."""
        return run([*self.enter, *command], timeout=timeout)

    def close(self) -> None:
        """Take the namespaces down, and all that runs in them."""
        # The first process dies last: the kernel ends and buries all others before it.
        with suppress(ProcessLookupError):
            os.kill(self.first, signal.SIGKILL)
        self._outer.stop()


class Link:
    """A pair of virtual network cards: one end here, the other in the namespaces."""

    def __init__(self, namespaces: Namespaces, name: str, here: str, there: str) -> None:
        """`here` and `there` are the addresses of both ends, in one network of two addresses (/30)."""
        self.name = name
        self._remove()
        ip = tool("ip", "iproute2")
        pid = str(namespaces.first)
        run([ip, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", pid])
        run([ip, "address", "add", f"{here}/30", "dev", name])
        run([ip, "link", "set", name, "up"])
        namespaces.run(ip, "address", "add", f"{there}/30", "dev", "eth0")
        namespaces.run(ip, "link", "set", "eth0", "up")
        # The kernel wants a route even for addresses of Services, before it looks at iptables.
        namespaces.run(ip, "route", "add", "default", "via", here)
        # The machine knows no way back to a pod, only to this link.
        iptables = tool("iptables", "iptables")
        namespaces.run(iptables, "-t", "nat", "-A", "POSTROUTING", "-o", "eth0", "-j", "MASQUERADE")

    def close(self) -> None:
        """Remove both ends; the kernel would, too, but in its own time."""
        self._remove()

    def _remove(self) -> None:
        if (Path("/sys/class/net") / self.name).exists():
            run([tool("ip", "iproute2"), "link", "delete", self.name])


def run(command: Sequence[str], timeout: float = 120) -> str:
    """Run a command to its end. Raises ClusterError with what it said when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, env=dict(os.environ))
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
