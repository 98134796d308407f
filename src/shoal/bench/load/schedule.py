"""When requests are due.

In a closed loop a connection sends its next request when the last one was answered, so a server that stalls is asked
less, and most of the requests that would have met the stall are never made (coordinated omission). In an open loop
requests are due at times of their own, and latency counts from then, whether or not the request could be sent.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from enum import StrEnum
from typing import Protocol


class Arrivals(StrEnum):
    """How requests of an open loop follow each other: evenly, or by chance as from many users who do not know of each
    other."""

    CONSTANT = "constant"
    POISSON = "poisson"


class Schedule(Protocol):
    """The requests of one process. Times are of one monotonic clock, in seconds."""

    def take(self, now: float) -> float | None:
        """When the next request was due, if it is by `now`, which takes it; None otherwise."""

    def next_due(self, now: float) -> float:
        """When the next request is due; infinity where none comes by itself after `now`."""

    def left(self, end: float) -> Iterator[float]:
        """What was due before `end` and has not been taken."""


class Closed:
    """One request after the other from `begin` to `end`: due as soon as it can be sent."""

    def __init__(self, begin: float, end: float) -> None:
        self._begin, self._end = begin, end

    def take(self, now: float) -> float | None:
        return now if self._begin <= now < self._end else None

    def next_due(self, now: float) -> float:
        return self._begin if now < self._begin else math.inf

    def left(self, end: float) -> Iterator[float]:
        return iter(())


class Open:
    """`rate` requests a second from `begin` to `end`, shared evenly among `of` processes of which this is `part`. Parts
    of a constant rate take turns; parts of Poisson arrivals are Poisson themselves."""

    def __init__(
        self, begin: float, end: float, rate: float, arrivals: Arrivals, part: int = 0, of: int = 1, seed: int = 1
    ) -> None:
        self._begin, self._end = begin, end
        self._rate, self._part, self._of = rate, part, of
        self._sent = 0
        self._random = random.Random(seed * 1009 + part) if arrivals is Arrivals.POISSON else None
        self._due = begin if self._random is None else begin + self._random.expovariate(rate / of)
        if self._random is None:
            self._due += part / rate

    def take(self, now: float) -> float | None:
        due = self._due
        if due > now or due >= self._end:
            return None
        self._sent += 1
        if self._random is not None:
            self._due = due + self._random.expovariate(self._rate / self._of)
        else:  # from the start each time, so that no error adds up
            self._due = self._begin + (self._part + self._sent * self._of) / self._rate
        return due

    def next_due(self, now: float) -> float:
        return self._due if self._due < self._end else math.inf

    def left(self, end: float) -> Iterator[float]:
        while self._due < end and (due := self.take(end)) is not None:
            yield due
