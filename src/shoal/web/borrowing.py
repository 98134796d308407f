"""Runs for many threads.

`Runs` belongs to one thread at a time: that of a cluster waits in an event loop of its own. Whoever looks or acts
borrows one and gives it back, so there are as many connections as were ever needed at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.runs import Runs


class Lender:
    """Lends what `make` makes. May be used from any thread."""

    def __init__(self, make: Callable[[], Runs]) -> None:
        self._make = make
        self._free: list[Runs] = []
        self._lock = threading.Lock()

    def take(self) -> Runs:
        """To be given back. Raises RunError where there is no such place."""
        with self._lock:
            if self._free:
                return self._free.pop()
        return self._make()

    def give_back(self, runs: Runs) -> None:
        with self._lock:
            self._free.append(runs)

    @contextmanager
    def lent(self) -> Iterator[Runs]:
        runs = self.take()
        try:
            yield runs
        finally:
            self.give_back(runs)
