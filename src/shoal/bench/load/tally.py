"""What one process counts while it asks, and how the counts of several add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.bench.load.histogram import Histogram, merged

BLOCKS = 10
"""Parts of equal length into which the measured time is cut, to tell its noise."""

_BUFFER = 16384
"""Latencies that are kept before they are counted: few enough that counting them delays nothing (under 1 ms)."""


@dataclass(slots=True)
class Failure:
    """How often requests failed in one way, and what was said the first time."""

    count: int
    message: str


@dataclass(slots=True)
class Counts:
    """What was counted. `blocks` are the latencies of requests by the part of the time in which they were due,
    `answered` the answers by the part in which they came. `queued`: requests that were due while all connections were
    busy. `early_failures`: those of the warm-up. `busy`: the share of the time in which the generator was not waiting
    for the server or the clock; near 1 it is itself, or the processor that it shares, what limits the load."""

    blocks: list[Histogram] = field(default_factory=lambda: [Histogram() for _ in range(BLOCKS)])
    answered: list[int] = field(default_factory=lambda: [0] * BLOCKS)
    failures: dict[str, Failure] = field(default_factory=dict)
    early_failures: dict[str, Failure] = field(default_factory=dict)
    queued: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    seconds: float = 0.0
    busy: float = 0.0

    @property
    def latency(self) -> Histogram:
        """Of all blocks together."""
        return merged(self.blocks)

    @property
    def failed(self) -> int:
        return sum(each.count for each in self.failures.values())


def together(parts: Sequence[Counts]) -> Counts:
    """The counts of processes that asked at the same time. `busy` is that of the busiest."""
    whole = Counts(
        [merged(blocks) for blocks in zip(*(part.blocks for part in parts), strict=True)],
        [sum(counts) for counts in zip(*(part.answered for part in parts), strict=True)],
        queued=sum(part.queued for part in parts),
        sent_bytes=sum(part.sent_bytes for part in parts),
        received_bytes=sum(part.received_bytes for part in parts),
        seconds=max(part.seconds for part in parts),
        busy=max(part.busy for part in parts),
    )
    for part in parts:
        for mine, theirs in ((whole.failures, part.failures), (whole.early_failures, part.early_failures)):
            for kind, failure in theirs.items():
                _count(mine, kind, failure.message, failure.count)
    return whole


class Tally:
    """Counts what is due, or answered, from `begin` on for `duration` seconds of a monotonic clock."""

    def __init__(self, begin: float, duration: float) -> None:
        self.counts = Counts()
        self._begin, self._duration = begin, duration
        self._due: list[float] = []
        self._took: list[float] = []
        self._lost_due: list[float] = []
        self._lost_took: list[float] = []

    def answered(self, due: float, now: float) -> None:
        """A good answer to a request that was due then."""
        self._due.append(due)
        self._took.append(now - due)
        if len(self._due) >= _BUFFER:
            self._fold()

    def failed(self, due: float, kind: str, message: str = "") -> None:
        """A request failed at once, or by what the server said. It has no latency: a quick refusal is no quick
        answer."""
        _count(self.counts.failures if due >= self._begin else self.counts.early_failures, kind, message)

    def unanswered(self, due: float, now: float, kind: str, message: str = "") -> None:
        """Nobody waits any longer for a request. It took this long at least, which counts as its latency: to leave it
        out would hide what was worst."""
        self.failed(due, kind, message)
        self.waited(due, now)

    def waited(self, due: float, now: float) -> None:
        """A request had no answer when all ended, and is no failure."""
        self._lost_due.append(due)
        self._lost_took.append(now - due)

    def queued(self, due: float) -> None:
        """A request could not be sent when it was due."""
        if due >= self._begin:
            self.counts.queued += 1

    def close(self, end: float) -> Counts:
        """All counts. The time that was measured ended at `end`."""
        self._fold()
        self.counts.seconds = max(0.0, min(end - self._begin, self._duration))
        return self.counts

    def _fold(self) -> None:
        due, took = self._times(self._due, self._took)
        for block, chosen in self._blocks(due + took):
            self.counts.answered[block] += int(chosen.sum())
        for times, latencies in ((due, took), self._times(self._lost_due, self._lost_took)):
            for block, chosen in self._blocks(times):
                self.counts.blocks[block].add(latencies[chosen])

    def _times(self, due: list[float], took: list[float]) -> tuple[np.ndarray, np.ndarray]:
        """When requests were due after the beginning, and how long they took; the lists are empty then."""
        found = np.array(due) - self._begin, np.array(took)
        due.clear()
        took.clear()
        return found

    def _blocks(self, times: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """For each block that some of the times are in, which of them."""
        numbers = np.minimum((times / self._duration * BLOCKS).astype(int), BLOCKS - 1)
        within = (times >= 0) & (times < self._duration)
        for block in np.unique(numbers[within]).tolist():
            yield block, within & (numbers == block)


def _count(failures: dict[str, Failure], kind: str, message: str, count: int = 1) -> None:
    if kind in failures:
        failures[kind].count += count
    else:
        failures[kind] = Failure(count, message)
