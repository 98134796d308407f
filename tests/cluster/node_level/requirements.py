"""What the node level needs of the machine: root, and programs of the distribution, which it installs where it can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.cache import locked
from tests.cluster.errors import ClusterError

# What is looked for, and the Debian package that has it.
NEEDED = {
    "/usr/bin/containerd": "containerd",
    "/usr/bin/ctr": "containerd",
    "/usr/sbin/runc": "runc",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
    "/usr/sbin/iptables": "iptables",
    "/usr/bin/busybox": "busybox-static",
    "/usr/sbin/debootstrap": "debootstrap",
    "/usr/bin/buildah": "buildah",
    "/usr/bin/nsenter": "util-linux",
    "/usr/sbin/ip": "iproute2",
}
CAP_SYS_ADMIN, CAP_NET_ADMIN = 21, 12
CHECKS = {CAP_SYS_ADMIN: "CAP_SYS_ADMIN", CAP_NET_ADMIN: "CAP_NET_ADMIN"}
APT_LOCK = Path("/run/lock/shoal-test-packages.lock")


def prepare_machine() -> None:
    """Install what is missing. Raises ClusterError that says what the machine lacks and what to do."""
    check_privileges()
    if missing := lacking(NEEDED):
        if shutil.which("apt-get") is None:
            raise ClusterError(
                f"the node level needs {', '.join(missing)}, and this machine has no apt-get to install it with",
                f"install what has Debian's packages {' '.join(sorted(set(missing.values())))}, or use Debian 12",
            )
        _install(sorted(set(missing.values())))
        if missing := lacking(NEEDED):
            raise ClusterError(f"apt-get has run, and there is still no {', '.join(missing)}")


def check_privileges() -> None:
    """Raise ClusterError unless this process may make namespaces, mounts and links."""
    status = Path("/proc/self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    missing = [name for bit, name in CHECKS.items() if not effective >> bit & 1]
    if os.geteuid() != 0 or missing:
        lacks = f", and this process lacks {' and '.join(missing)}" if missing else ""
        raise ClusterError(
            f"the node level runs real containers, which takes root{lacks}",
            "run it as root on a machine or in a privileged container; `make cluster-up LEVEL=api` needs no privileges",
        )


def lacking(needed: Mapping[str, str]) -> dict[str, str]:
    """The part of `needed` that this machine does not have."""
    return {path: package for path, package in needed.items() if not Path(path).exists()}


def _install(packages: list[str]) -> None:
    print(f"installing {' '.join(packages)} …", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "--yes", "--no-install-recommends", "-qq", *packages]
    # A Debian package starts its service, and this containerd would run beside ours for ever.
    policy = Path("/usr/sbin/policy-rc.d")
    with locked(APT_LOCK):
        ours = not policy.exists()
        if ours:
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
        try:
            for command in (["apt-get", "update", "-qq"], install):
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        finally:
            if ours:
                policy.unlink()
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(install)} failed:\n{done.stderr[-2000:]}", "can this machine reach its mirror?")
