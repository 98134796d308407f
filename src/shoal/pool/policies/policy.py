"""What a policy is: it prices candidates, and the cheapest is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shoal.pool.arrays import Floats, Ints


@dataclass(frozen=True)
class States:
    """What is free on some hosts, one a row. A GPU that may not be used counts as full, and so does a missing one."""

    cpu: Ints
    gpus: Ints
    models: Ints
    """A GPU's model as an index into the inventory's list; -1 where there is none."""

    def __getitem__(self, rows: Ints) -> States:
        return States(self.cpu[rows], self.gpus[rows], self.models[rows])


class Policy(Protocol):
    """Prices of candidates, by the hosts before and after. What is to come it knows as a distribution at most."""

    def price(self, before: States, after: States, rows: Ints) -> Floats:
        """One for each row of `after`, which is row `rows[i]` of `before` with the request on it. Lower is better."""
        ...
