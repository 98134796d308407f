"""A cluster to work with by hand: `python -m tests.cluster up`, and `down`; `make cluster-up` calls this.

`up` leaves a process behind that holds the cluster, since a cluster ends with the process that started it.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from enum import StrEnum
from pathlib import Path

import psutil

from tests.cluster.api_level import CHECKOUT, ApiCluster
from tests.cluster.binaries import binaries
from tests.cluster.cache import cache_folder, try_lock
from tests.cluster.errors import ClusterError
from tests.cluster.node_level.cluster import NodeCluster
from tests.cluster.node_level.requirements import check_privileges, prepare_machine
from tests.cluster.waiting import wait_until

START_WITHIN = 180.0


class Level(StrEnum):
    """What the cluster is to have."""

    API = "api"
    NODE = "node"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["up", "down", "hold"])
    parser.add_argument("--level", type=Level, help="node runs containers and takes root; api only pretends to")
    chosen = parser.parse_args()
    try:
        match chosen.command:
            case "up":
                up(chosen.level)
            case "down":
                down()
            case "hold":
                hold(chosen.level)
    except ClusterError as fault:
        print(f"error: {fault}", file=sys.stderr)
        sys.exit(1)


def up(level: Level | None) -> None:
    """Start a cluster, unless one runs, and say how to use it."""
    if (lock := try_lock(_place("lock"))) is None:
        print("a cluster is running already", file=sys.stderr)
        print(_place("usage").read_text(), end="")
        return
    if level is None:
        level = _best_level()
    # What takes long or may fail for want of something is done where its messages are seen.
    binaries()
    if level is Level.NODE:
        prepare_machine()
    lock.close()
    _place("usage").unlink(missing_ok=True)
    log = _place("log")
    with log.open("wb") as output:
        holder = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster", "hold", "--level", level],
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    wait_until(lambda: _place("usage").exists() or holder.poll() is not None, START_WITHIN, f"the cluster; see {log}")
    if holder.poll() is not None:
        raise ClusterError(f"the cluster did not start:\n{log.read_text()}")
    print(_place("usage").read_text(), end="")


def down() -> None:
    """Stop the cluster that `up` started; nothing else."""
    if (lock := try_lock(_place("lock"))) is not None:
        lock.close()
        print("no cluster is running", file=sys.stderr)
        return
    holder = psutil.Process(int(_place("pid").read_text()))
    holder.send_signal(signal.SIGTERM)
    try:
        holder.wait(60)
    except psutil.TimeoutExpired:
        raise ClusterError(f"process {holder.pid} still takes the cluster down; see {_place('log')}") from None
    print("the cluster is gone")


def hold(level: Level) -> None:
    """Run a cluster until SIGTERM."""
    lock = try_lock(_place("lock"))
    if lock is None:
        raise ClusterError("a cluster is running already", "make cluster-down")
    _place("pid").write_text(str(os.getpid()))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    programs = binaries()
    begin = time.monotonic()
    with NodeCluster(programs, wait=0) if level is Level.NODE else ApiCluster(programs) as cluster:
        try:
            usage = _place("usage")
            usage.with_suffix(".new").write_text(_usage(level, cluster.kubeconfig, time.monotonic() - begin))
            usage.with_suffix(".new").rename(usage)
            while True:
                signal.pause()
        finally:
            usage.unlink(missing_ok=True)


def _usage(level: Level, kubeconfig: Path, took: float) -> str:
    kubectl = binaries()["kubectl"]
    lines = [
        f"Kubernetes is up ({level} level, {took:.0f} s). Use it with",
        f"  export KUBECONFIG={kubeconfig}",
        f"  alias kubectl={kubectl}",
        "and end it with: make cluster-down",
    ]
    if level is Level.NODE:
        lines.append("Images without a registry: shoal.test/busybox:1, with imagePullPolicy: Never")
    return "\n".join(lines) + "\n"


def _best_level() -> Level:
    try:
        check_privileges()
    except ClusterError as fault:
        print(f"no containers will run: {fault}", file=sys.stderr)
        return Level.API
    return Level.NODE


def _place(name: str) -> Path:
    folder = cache_folder() / "up"
    folder.mkdir(exist_ok=True)
    return folder / name


if __name__ == "__main__":
    main()
