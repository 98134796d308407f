"""Fragmentation Gradient Descent (Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent", USENIX ATC '23, sections 3 and 4).

The fragmentation of host n for a kind of task m is what of its free GPUs that task could not use:

    F_n(m) = sum of all free shares                           where n cannot run m (CPU, GPUs, model), or m needs no GPU
    F_n(m) = sum of the free shares smaller than m asks for   where it can

and for the workload `F_n(M) = Σ_m p_m · F_n(m)`, p_m being how often m is asked for. A task goes where F grows least.
As their simulator has it (github.com/hkust-adsl/kubernetes-scheduler-simulator), M is the kinds that make up 95 % of
the trace, the most frequent first, and the score is a sigmoid of the fall in F, in GPUs, cut to a whole number of 0 to
100. The cut matters: it makes many hosts equal, and the first of equals is taken, which packs. Without it FGD allocates
some points less on their default trace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.pool.arrays import Floats, Ints
from shoal.pool.policies.policy import States
from shoal.pool.request import WHOLE
from shoal.pool.workload import KindArrays, Workload

COVERING = 0.95


class FragmentationGradientDescent:
    """Where the expected fragmentation grows least."""

    def __init__(self, workload: Workload, models: Sequence[str]) -> None:
        self.kinds = KindArrays.of(workload.kinds, models)
        self.popularity = workload.popularity

    def price(self, before: States, after: States, rows: Ints) -> Floats:
        growth = (self.fragmentation(after) - self.fragmentation(before)[rows]) / WHOLE
        return -np.floor(100 / (1 + np.exp(growth)))

    def fragmentation(self, hosts: States) -> Floats:
        """F_n(M) of each host, in thousandths of a GPU."""
        kinds = self.kinds
        free = hosts.gpus[:, :, None]
        usable = kinds.allowed.T[hosts.models] & (free > 0)
        large = usable & (free >= kinds.milli)
        count = large.sum(axis=1)
        inside = (free * large).sum(axis=1)
        total = hosts.gpus.sum(axis=1)[:, None]
        fits = (kinds.gpus > 0) & (hosts.cpu[:, None] >= kinds.cpu) & (count[:, kinds.level] >= kinds.gpus)
        fragments: Floats = (total - np.where(fits, inside[:, kinds.level], 0)) @ self.popularity
        return fragments
