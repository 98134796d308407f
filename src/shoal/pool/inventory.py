"""What the pool owns and what of it is free: hosts with CPU, memory and GPUs, as arrays that policies read at once.

A GPU is shared in thousandths, CPU in thousandths of a core, memory in MiB, all whole numbers: what was taken and is
released leaves nothing behind. `touched` tells those who remember something of a host when it last changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.pool.arrays import Bools, Ints
from shoal.pool.request import WHOLE, Placement


@dataclass(frozen=True)
class GPU:
    """One GPU of a host. `memory_mib` may be unknown (0) where nobody asks for a fraction by memory."""

    model: str
    memory_mib: int = 0
    healthy: bool = True


@dataclass(frozen=True)
class Host:
    """A machine of the pool. A drained one keeps what runs on it and takes nothing new."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: tuple[GPU, ...] = ()
    drained: bool = False


class Overdrawn(ValueError):
    """More was taken than is free, or more released than was taken. The inventory is as it was before."""


class Inventory:
    """The hosts of a pool and what is free on each. Rows are hosts, columns a host's GPUs."""

    def __init__(self, hosts: Iterable[Host]) -> None:
        self.hosts = list(hosts)
        self.row = {host.name: i for i, host in enumerate(self.hosts)}
        if len(self.row) != len(self.hosts):
            raise ValueError("two hosts of the inventory have the same name")
        self.models = sorted({gpu.model for host in self.hosts for gpu in host.gpus})
        width = max((len(host.gpus) for host in self.hosts), default=0)
        shape = (len(self.hosts), width)
        self.cpu = np.array([host.cpu_milli for host in self.hosts], np.int64)
        self.memory = np.array([host.memory_mib for host in self.hosts], np.int64)
        self.free: Ints = np.zeros(shape, np.int64)
        self.model: Ints = np.full(shape, -1, np.int64)
        self.gpu_memory: Ints = np.zeros(shape, np.int64)
        self.usable: Bools = np.zeros(shape, np.bool_)
        self.taking: Bools = np.zeros(len(self.hosts), np.bool_)
        self.touched: Ints = np.zeros(len(self.hosts), np.int64)
        self.changes = 0
        self.remembered: dict[Any, Any] = {}
        self.capacity = WHOLE * sum(len(host.gpus) for host in self.hosts)
        """GPUs of the pool, in thousandths."""
        for i, host in enumerate(self.hosts):
            self.free[i, : len(host.gpus)] = WHOLE
            self._describe(i, host)

    def _describe(self, row: int, host: Host) -> None:
        for j, gpu in enumerate(host.gpus):
            self.model[row, j] = self.models.index(gpu.model)
            self.gpu_memory[row, j] = gpu.memory_mib
            self.usable[row, j] = gpu.healthy
        self.taking[row] = not host.drained

    def update(self, host: Host) -> None:
        """Note new health or a drain of a host that is there; its CPU, memory and GPUs stay what they were."""
        row = self.row[host.name]
        known = self.hosts[row]
        if _equipment(known) != _equipment(host):
            raise ValueError(f"{host.name}: a host that comes back with other equipment is another inventory")
        self.hosts[row] = host
        self._describe(row, host)
        self._touch([row])

    def take(self, placement: Placement) -> None:
        """Take what a placement says. Raises `Overdrawn`, and takes nothing, where it is more than is free."""
        self._move(placement, -1)

    def release(self, placement: Placement) -> None:
        """Give back exactly what `take` took."""
        self._move(placement, +1)

    def _move(self, placement: Placement, sign: int) -> None:
        cells: Counter[tuple[int, int]] = Counter()
        for share in placement.shares:
            cells[self.row[share.host], share.gpu] += share.milli
        row = self.row[placement.host] if placement.host is not None else None
        if row is not None:
            cpu = self.cpu[row] + sign * placement.cpu_milli
            memory = self.memory[row] + sign * placement.memory_mib
            if not (0 <= cpu <= self.hosts[row].cpu_milli and 0 <= memory <= self.hosts[row].memory_mib):
                raise Overdrawn(f"{placement.host}: CPU or memory would be beyond what the host has")
        for (i, j), milli in cells.items():
            if not 0 <= self.free[i, j] + sign * milli <= WHOLE or self.model[i, j] < 0:
                raise Overdrawn(f"{self.hosts[i].name}: GPU {j} has {self.free[i, j]}‰ free, {milli}‰ to move")
        if row is not None:
            self.cpu[row], self.memory[row] = cpu, memory
        for (i, j), milli in cells.items():
            self.free[i, j] += sign * milli
        self._touch([i for i, _ in cells] + ([row] if row is not None else []))

    def _touch(self, rows: Sequence[int]) -> None:
        self.changes += 1
        self.touched[rows] = self.changes

    @property
    def allocated(self) -> int:
        """What of the GPUs is taken, in thousandths."""
        return self.capacity - int(self.free.sum())


def _equipment(host: Host) -> tuple[Any, ...]:
    return host.cpu_milli, host.memory_mib, [(gpu.model, gpu.memory_mib) for gpu in host.gpus]
