"""Shadow prices: what a placement costs is what the best packing of the usual requests would pay for what it takes.

Two things make GPUs useless, and each has a term in what a host is worth:

* **A rest that nothing fits.** The cutting-stock problem "the usual shares on the fewest GPUs", solved as a linear
  program (Gilmore and Gomory, 1961), has a dual price for each share: what part of a GPU it costs if packed as well as
  can be. What `r` thousandths of a GPU are worth is then the most that shares with a sum of at most `r` would pay. A
  share of 470‰ costs half a GPU, and one of 160‰ nothing where larger ones leave more such rests than it can fill: so
  it goes into one of those and breaks no new GPU.
* **GPUs without CPU.** On a host with `c` free CPU, no more than `c / κ` GPUs can be used, κ being the CPU that the
  workload asks for beside a GPU. What is above that is stranded and worth nothing.

A request goes where a host's worth falls least; between equals, where least is left over. In `docs/gpu-pool.md` is what
it was measured to do.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from shoal.pool.arrays import Floats, Ints
from shoal.pool.policies.best_fit import left_over
from shoal.pool.policies.policy import States
from shoal.pool.request import WHOLE
from shoal.pool.workload import Workload

TIE = 1e-3
"""The weight of what is left over, in GPUs: enough to decide between equal prices, and no more."""

ROUNDING = 1e-9
"""Below this, prices of the linear program are equal."""


class ShadowPrice:
    """Where a host's worth to the usual requests falls least."""

    def __init__(self, workload: Workload) -> None:
        self.worth_of_rest = worth_of_rest(workload)
        taken = sum(n * kind.gpus * kind.milli for kind, n in workload.weighted())
        cpu = sum(n * kind.cpu_milli for kind, n in workload.weighted() if kind.gpus)
        self.cpu_of_gpu = WHOLE * cpu / taken if taken else 0.0
        """κ, in thousandths of a core."""

    def price(self, before: States, after: States, rows: Ints) -> Floats:
        return self.worth(before)[rows] - self.worth(after) + TIE * left_over(after)

    def worth(self, hosts: States) -> Floats:
        """Of each host, in GPUs."""
        worth: Floats = self.worth_of_rest[hosts.gpus].sum(axis=1)
        if self.cpu_of_gpu:
            worth -= np.maximum(0, hosts.gpus.sum(axis=1) / WHOLE - hosts.cpu / self.cpu_of_gpu)
        return worth


def worth_of_rest(workload: Workload) -> Floats:
    """What 0 … 1000 thousandths of a GPU are worth, in GPUs, by the dual of packing the workload's shares."""
    asked: dict[int, float] = {WHOLE: 0.0}  # a whole GPU is worth one, whether or not anybody asks for it
    for kind, n in workload.weighted():
        if kind.gpus:
            asked[kind.milli] = asked.get(kind.milli, 0.0) + n * kind.gpus
    shares = np.array(sorted(asked), np.int64)
    wanted = np.array([asked[int(share)] for share in shares])
    patterns = [np.where(shares == share, WHOLE // share, 0) for share in shares]
    while True:
        found = linprog(np.ones(len(patterns)), A_ub=-np.array(patterns).T, b_ub=-wanted, method="highs")
        prices = np.maximum(-found.ineqlin.marginals, 0)
        prices[-1] = 1.0
        worth, pattern = _knapsack(shares, prices)
        if worth[WHOLE] <= 1 + ROUNDING:
            return worth.round(9)
        patterns.append(pattern)


def _knapsack(shares: Ints, prices: Floats) -> tuple[Floats, Ints]:
    """The most that shares pay who fit in 0 … 1000 thousandths, and how many of each fill a whole GPU."""
    step = math.gcd(WHOLE, *(int(share) for share in shares))
    size = shares // step
    worth = np.zeros(WHOLE // step + 1)
    last = np.full(len(worth), -1)
    for room in range(1, len(worth)):
        fitting = size <= room
        worth[room] = worth[room - 1]
        if fitting.any():
            paid = worth[room - size[fitting]] + prices[fitting]
            most = int(paid.argmax())  # shares ascend, so that the first of those that fit are the first of all
            if paid[most] > worth[room] + ROUNDING:
                worth[room], last[room] = paid[most], most
    pattern, room = np.zeros(len(shares), np.int64), len(worth) - 1
    while room > 0:
        if last[room] < 0:
            room -= 1
        else:
            pattern[last[room]] += 1
            room -= int(size[last[room]])
    return worth[np.arange(WHOLE + 1) // step], pattern
