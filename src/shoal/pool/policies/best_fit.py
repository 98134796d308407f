"""Best fit: the host that is left with the least, CPU and GPUs counted alike.

As the simulator of Weng et al. has it: `100 · (1 - (cpu / 128 cores + gpus / 8) / 2)` of what is left after the
placement, cut to a whole number.
"""

from __future__ import annotations

import numpy as np

from shoal.pool.arrays import Floats, Ints
from shoal.pool.policies.policy import States

LARGEST_CPU_MILLI = 128_000
LARGEST_GPU_MILLI = 8_000


def left_over(hosts: States) -> Floats:
    """What is free of each host: 1 for one with 128 cores and 8 GPUs where nothing runs."""
    left: Floats = hosts.cpu / LARGEST_CPU_MILLI / 2 + hosts.gpus.sum(axis=1) / LARGEST_GPU_MILLI / 2
    return left


class BestFit:
    """The host that is left with the least."""

    def price(self, before: States, after: States, rows: Ints) -> Floats:
        return -np.floor(100 * (1 - left_over(after)))
