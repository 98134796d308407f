"""What processes have cost: seconds of CPU, and the most memory that was resident at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from tests.cluster.api_level import ApiCluster


@dataclass(frozen=True)
class Spent:
    """CPU seconds by process between two looks, the benchmark's own among them."""

    seconds: Mapping[str, float]

    @classmethod
    def so_far(cls, pids: Mapping[str, int]) -> Spent:
        return cls({name: sum(psutil.Process(pid).cpu_times()[:2]) for name, pid in pids.items()})

    def since(self, before: Spent) -> Spent:
        return Spent({name: now - before.seconds[name] for name, now in self.seconds.items()})


def cluster_pids(cluster: ApiCluster) -> dict[str, int]:
    """All processes that share the machine's cores in a measurement, but for the operator."""
    own = {"fake kubelet": cluster.fake_kubelet.pid, "benchmark": os.getpid()}
    return {**cluster.control_plane.pids, **own}


def peak_megabytes(pid: int) -> float:
    """The peak of resident memory as the kernel counts it (proc(5), VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
