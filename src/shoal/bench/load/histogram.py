"""Latencies in buckets of equal relative width: the idea of Gil Tene's HDR histogram (http://hdrhistogram.org).

A bucket is less than 0.1 % as wide as its values, from nanoseconds to years, so histograms add up exactly, over
processes and parts of a run, where percentiles do not. Values are counted many at a time by numpy: the package
`hdrhistogram` takes them one by one, 0.9 µs each where a whole request takes 9 µs, and brings setuptools along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

PRECISION = 10
"""Bits that a bucket tells of its values after the first: 1,024 buckets to each power of two."""

_HALF = 1 << PRECISION


def bucket_of(nanoseconds: np.ndarray) -> np.ndarray:
    """The number of each value's bucket."""
    values = np.maximum(nanoseconds, 0).astype(np.int64)
    _, bits = np.frexp(values.astype(np.float64))  # 2**bits is the first power of two above the value
    shift = np.maximum(bits.astype(np.int64) - PRECISION - 1, 0)
    numbers: np.ndarray = shift * _HALF + (values >> shift)
    return numbers


def highest(bucket: int) -> int:
    """The highest value, in nanoseconds, that falls into a bucket."""
    if bucket < 2 * _HALF:
        return bucket
    shift = bucket // _HALF - 1
    return ((bucket - shift * _HALF + 1) << shift) - 1


class Histogram:
    """How often each latency was seen. Percentiles are never below the true ones, and at most 0.1 % above."""

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts: dict[int, int] = dict(counts or {})

    def add(self, seconds: Sequence[float] | np.ndarray) -> None:
        """Count these latencies."""
        found, counts = np.unique(bucket_of(np.asarray(seconds, np.float64) * 1e9), return_counts=True)
        for bucket, count in zip(found.tolist(), counts.tolist(), strict=True):
            self.counts[bucket] = self.counts.get(bucket, 0) + count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    @property
    def total(self) -> int:
        """How many values."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """In seconds; NaN where there is no value."""
        total = self.total
        return sum(highest(bucket) * count for bucket, count in self.counts.items()) / total / 1e9 if total else np.nan

    @property
    def max(self) -> float:
        """In seconds; NaN where there is no value."""
        return highest(max(self.counts)) / 1e9 if self.counts else np.nan

    def percentile(self, percent: float) -> float:
        """The seconds that `percent` of the values do not exceed; NaN where there is no value."""
        return self.percentiles([percent])[0]

    def percentiles(self, percents: Sequence[float]) -> list[float]:
        """Several, in the order given."""
        if not self.counts:
            return [np.nan] * len(percents)
        buckets = sorted(self.counts)
        up_to = np.cumsum([self.counts[bucket] for bucket in buckets])
        # The smallest count that is a share `percent` of all: of 1,000 values the 99th percentile is the 990th.
        ranks = [max(1, int(np.ceil(round(up_to[-1] * percent / 100, 6)))) for percent in percents]
        return [highest(buckets[int(np.searchsorted(up_to, rank))]) / 1e9 for rank in ranks]

    def corrected(self, interval: float) -> Histogram:
        """As if a request had been due every `interval` seconds on each connection: a latency of several intervals
        made others wait, each one interval less (HdrHistogram's correction for coordinated omission)."""
        made = Histogram(self.counts)
        step = max(interval, 1e-6)
        for bucket, count in self.counts.items():
            missing = np.arange(highest(bucket) / 1e9 - step, step, -step)
            if len(missing):
                found, times = np.unique(bucket_of(missing * 1e9), return_counts=True)
                for each, often in zip(found.tolist(), times.tolist(), strict=True):
                    made.counts[each] = made.counts.get(each, 0) + count * often
        return made


def merged(parts: Iterable[Histogram]) -> Histogram:
    """All values of all parts."""
    whole = Histogram()
    for part in parts:
        for bucket, count in part.counts.items():
            whole.counts[bucket] = whole.counts.get(bucket, 0) + count
    return whole
