"""Figures of a run of steps, against the definitions and against numbers with a known answer."""

from __future__ import annotations

import math
import random
from statistics import fmean, stdev

import pytest

from shoal.bench.timing import noise, percentile, speed


def test_equal_steps_have_no_spread() -> None:
    assert speed(32, [0.5] * 8) == (64.0, 0.0, 0.0)
    assert str(speed(32, [0.5])) == "images/sec: 64.0 +/- 0.0 (jitter = 0.0)"


def test_the_mean_is_over_time_and_not_over_speeds() -> None:
    found = speed(10, [1.0, 3.0])
    assert found.mean == 5.0
    assert found.uncertainty == pytest.approx((10 - 10 / 3) / 2 / math.sqrt(2))
    assert found.jitter == pytest.approx(1.4826 * (10 - 10 / 3) / 2)


def test_the_jitter_of_normal_speeds_is_their_deviation_and_an_outlier_does_not_move_it() -> None:
    draw = random.Random(1)
    seconds = [1 / draw.gauss(100, 5) for _ in range(4000)]
    assert speed(1, seconds).jitter == pytest.approx(5, rel=0.1)
    assert speed(1, [*seconds, 100.0]).jitter == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (50, 2.5), (100, 4), (90, 3.7)])
def test_percentiles_are_interpolated(percent: float, value: float) -> None:
    assert percentile([4, 1, 3, 2], percent) == pytest.approx(value)


def test_noise_of_independent_steps_is_their_standard_error() -> None:
    draw = random.Random(2)
    runs = [[draw.gauss(1, 0.1) for _ in range(200)] for _ in range(200)]
    true = stdev(fmean(run) for run in runs)
    assert fmean(noise(run) for run in runs) == pytest.approx(true, rel=0.15)


def test_noise_of_steps_that_drift_is_more_than_they_would_have_apart() -> None:
    draw = random.Random(3)
    drifting = [1 + 0.1 * math.sin(i / 30) + draw.gauss(0, 0.01) for i in range(200)]
    shuffled = draw.sample(drifting, len(drifting))
    assert noise(drifting) > 2 * noise(shuffled)


def test_a_run_too_short_tells_nothing_of_its_noise() -> None:
    assert math.isnan(noise([1.0, 1.0, 1.0]))
    assert noise([1.0] * 4) == 0
