"""What a load found, as it is shown, saved, and compared with another."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from shoal.bench.load.histogram import Histogram
from shoal.bench.load.tally import BLOCKS, Counts, Failure
from shoal.bench.options import OptionError
from shoal.bench.record import FORMAT, LOAD, SURE, Difference

PERCENTILES = (50.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was done, in the words of the command. `rate` is None for a closed loop; times are in seconds."""

    server: str
    protocol: str
    model: str
    version: int
    signature: str
    rows: int | None
    in_flight: int
    connections: int
    processes: int
    rate: float | None
    arrivals: str
    duration: float
    warmup: float

    def __str__(self) -> str:
        how = f"{self.in_flight} in flight"
        if self.rate is not None:
            how = f"{self.rate:g} requests/s ({self.arrivals}), at most {how}"
        return f"{self.model} version {self.version}, {self.signature}, {self.protocol}, {how}"


class Figure(NamedTuple):
    """A value with its standard error, as a share of it; NaN where the run is too short to tell."""

    value: float
    noise: float


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """One load, and what came of it. `corrected` holds the latencies of a closed loop as they may have been without
    coordinated omission, where that was asked for."""

    asked: Asked
    counts: Counts

    @property
    def rate(self) -> Figure:
        """Good answers a second."""
        counts, duration = self.counts, self.asked.duration
        whole = _whole(counts.seconds, duration)
        value = sum(counts.answered) / counts.seconds if counts.seconds else math.nan
        return Figure(value, _noise([float(count) for count in counts.answered[:whole]]))

    @property
    def median(self) -> Figure:
        """In seconds."""
        return self._latency(lambda histogram: histogram.percentile(50))

    @property
    def p99(self) -> Figure:
        """In seconds."""
        return self._latency(lambda histogram: histogram.percentile(99))

    def corrected(self) -> Histogram:
        """The latencies if each connection had gone on asking at the median's pace while one answer was late."""
        latency = self.counts.latency
        return latency.corrected(latency.percentile(50)) if latency.counts else latency

    def summary(self) -> dict[str, Any]:
        """What people and programs read; latencies in milliseconds. None is what nothing is known of."""
        counts = self.counts
        total = sum(counts.answered)
        told: dict[str, Any] = {
            "asked": asdict(self.asked),
            "seconds": round(counts.seconds, 3),
            "answers": total,
            "requests_per_second": _round(self.rate.value, 3),
            "noise": _round(self.rate.noise, 5),
            "latency_ms": latencies(counts.latency),
            "p99_noise": _round(self.p99.noise, 5),
            "failures": {kind: asdict(failure) for kind, failure in counts.failures.items()},
            "warmup_failures": {kind: asdict(failure) for kind, failure in counts.early_failures.items()},
            "queued": counts.queued,
            "sent_bytes": counts.sent_bytes,
            "received_bytes": counts.received_bytes,
            "generator_busy": round(counts.busy, 3),
        }
        if self.asked.rate is None:
            told["corrected_latency_ms"] = latencies(self.corrected())
        return told

    def dump(self) -> str:
        """As it is saved."""
        counts = asdict(self.counts) | {
            "blocks": [sorted(block.counts.items()) for block in self.counts.blocks],
        }
        return json.dumps({"shoal_bench": FORMAT, "kind": LOAD, "asked": asdict(self.asked), "counts": counts}) + "\n"

    @classmethod
    def load(cls, file: Path) -> LoadRecord:
        """A record that was saved. Raises OptionError for a file that is none, OSError where it cannot be read."""
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
            counts = told["counts"]
            counts["blocks"] = [Histogram(dict(block)) for block in counts["blocks"]]
            for failures in ("failures", "early_failures"):
                counts[failures] = {kind: Failure(**each) for kind, each in counts[failures].items()}
            return cls(Asked(**told["asked"]), Counts(**counts))
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise OptionError(
                f"{file}: not a saved load ({fault})", "make one with `shoal bench serve --save FILE`"
            ) from None

    def _latency(self, read: Callable[[Histogram], float]) -> Figure:
        whole = _whole(self.counts.seconds, self.asked.duration)
        parts = [read(block) for block in self.counts.blocks[:whole] if block.counts]
        return Figure(read(self.counts.latency), _noise(parts))


def latencies(histogram: Histogram) -> dict[str, float | None]:
    """Mean, percentiles and maximum, in milliseconds."""
    values = [histogram.mean, *histogram.percentiles(PERCENTILES), histogram.max]
    names = ["mean", *(f"p{percent:g}" for percent in PERCENTILES), "max"]
    return {name: _round(1000 * value, 4) for name, value in zip(names, values, strict=True)}


def differences(first: LoadRecord, second: LoadRecord) -> dict[str, Difference]:
    """The ratios of the second to the first, and what noise allows to say of each."""
    return {
        "requests/s": _difference(first.rate, second.rate),
        "p50": _difference(first.median, second.median),
        "p99": _difference(first.p99, second.p99),
    }


def _difference(first: Figure, second: Figure) -> Difference:
    ratio = second.value / first.value if first.value else math.nan
    return Difference(ratio, SURE * ratio * math.hypot(first.noise, second.noise))


def _noise(parts: Sequence[float]) -> float:
    """The standard error of what consecutive parts of a run tell, as a share of their mean (batch means)."""
    if len(parts) < 4 or not fmean(parts):
        return math.nan
    return stdev(parts) / math.sqrt(len(parts)) / fmean(parts)


def _whole(seconds: float, duration: float) -> int:
    """How many parts of the run were measured from beginning to end."""
    return min(BLOCKS, math.floor(seconds / duration * BLOCKS + 1e-6))


def _round(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(value, digits)
