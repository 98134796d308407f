"""From the times of steps to images per second, and how sure one can be of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, pstdev, stdev
from typing import NamedTuple

BLOCKS = 10
"""Into how many parts a run is cut to tell its noise: neighbouring steps resemble each other, parts less so."""


class Speed(NamedTuple):
    """Images per second: mean over the time, standard error, and a robust spread of single steps, as
    tf_cnn_benchmarks defines them (1.4826 × the median absolute deviation, which is σ for a normal distribution)."""

    mean: float
    uncertainty: float
    jitter: float

    def __str__(self) -> str:
        return f"images/sec: {self.mean:.1f} +/- {self.uncertainty:.1f} (jitter = {self.jitter:.1f})"


def speed(images: int, seconds: Sequence[float]) -> Speed:
    """The speed of steps of `images` each that took so many `seconds` each. Needs at least one step."""
    speeds = [images / each for each in seconds]
    middle = median(speeds)
    return Speed(
        mean=images / fmean(seconds),
        uncertainty=pstdev(speeds) / math.sqrt(len(speeds)),
        jitter=1.4826 * median(abs(each - middle) for each in speeds),
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of the `values` do not exceed, interpolated between neighbours."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def noise(seconds: Sequence[float]) -> float:
    """The standard error of the mean step time, as a share of it, by the means of consecutive parts of the run (batch
    means; Law and Kelton, Simulation Modeling and Analysis): steps are not independent of each other. NaN for a run
    of fewer than four steps, which tells nothing of its noise."""
    if len(seconds) < 4:
        return math.nan
    blocks = min(BLOCKS, len(seconds) // 2)
    size = len(seconds) // blocks
    means = [fmean(seconds[i * size : (i + 1) * size]) for i in range(blocks)]
    return stdev(means) / math.sqrt(blocks) / fmean(seconds)
