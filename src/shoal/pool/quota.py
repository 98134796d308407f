"""How much of the pool a tenant may hold at a time. What is beyond it waits, and holds up nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.pool.request import WHOLE, Request


@dataclass(frozen=True, slots=True)
class Amount:
    """GPUs in thousandths, and their memory in MiB."""

    milli: int = 0
    memory_mib: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.milli + other.milli, self.memory_mib + other.memory_mib)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.milli - other.milli, self.memory_mib - other.memory_mib)


@dataclass(frozen=True, slots=True)
class Quota:
    """None is no limit."""

    milli: int | None = None
    memory_mib: int | None = None

    def exceeded(self, amount: Amount) -> str:
        """What of it `amount` is above, in words; empty if nothing."""
        if self.milli is not None and amount.milli > self.milli:
            return f"{amount.milli / WHOLE:g} GPUs, and its quota is {self.milli / WHOLE:g}"
        if self.memory_mib is not None and amount.memory_mib > self.memory_mib:
            return f"{amount.memory_mib} MiB of GPU memory, and its quota is {self.memory_mib} MiB"
        return ""


UNLIMITED = Quota()


def least(requests: Sequence[Request]) -> Amount:
    """What requests take at least, whichever GPUs they get."""
    milli = sum(request.gpus * (1 if request.gpu_memory_mib else request.milli) for request in requests)
    return Amount(milli, sum(request.gpus * request.gpu_memory_mib for request in requests))
