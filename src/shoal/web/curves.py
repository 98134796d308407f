"""Curves of a training as SVG, drawn on the server: one line over steps, with an axis that says its ends.

The browser scales them; colours are the page's (`currentColor`). An SVG within a page is part of it, so its text can be
found, read aloud and copied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from shoal.runs import Measurement

WIDTH, HEIGHT = 480, 180
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 26
MOST_POINTS = 240
"""More than a screen shows; a long run has more, which are averaged."""

RATE_POINTS = 60


class Point(NamedTuple):
    """A value at a step."""

    x: float
    y: float


class Curve(NamedTuple):
    """What a template draws: the path, ticks as (position, label), and the summary that is read aloud."""

    title: str
    path: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    summary: str
    last: tuple[float, float]


def loss_curve(history: Sequence[Measurement]) -> Curve | None:
    """None where fewer than two losses are known."""
    points = [Point(each.step, each.loss) for each in history if each.loss is not None and math.isfinite(each.loss)]
    return _curve("Loss", _thinned(points, MOST_POINTS))


def rate_curve(history: Sequence[Measurement]) -> Curve | None:
    """Steps per second, each over a sixtieth of the training. None where that cannot be told."""
    stride = max(1, math.ceil((len(history) - 1) / RATE_POINTS))
    kept = list(history[::stride])
    if history and kept[-1] != history[-1]:
        kept.append(history[-1])
    rates = [
        Point(after.step, (after.step - before.step) / (after.time - before.time))
        for before, after in pairwise(kept)
        if after.time > before.time
    ]
    return _curve("Steps per second", rates, from_zero=True)


def _thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Averages of neighbours, and the last as it is."""
    size = math.ceil(len(points) / most)
    if size <= 1:
        return list(points)
    groups = [points[start : start + size] for start in range(0, len(points) - 1, size)]
    means = [Point(sum(p.x for p in group) / len(group), sum(p.y for p in group) / len(group)) for group in groups]
    return [*means, points[-1]]


def _curve(title: str, points: Sequence[Point], from_zero: bool = False) -> Curve | None:
    if len(points) < 2 or points[0].x == points[-1].x:
        return None
    low, high = min(point.y for point in points), max(point.y for point in points)
    low = 0.0 if from_zero else low
    y_values = _ticks(low, high)
    low, high = min(low, y_values[0]), max(high, y_values[-1])
    if low == high:
        low, high = low - 1, high + 1
    first, last = points[0].x, points[-1].x

    def across(x: float) -> float:
        return round(LEFT + (x - first) / (last - first) * (WIDTH - LEFT - RIGHT), 1)

    def down(y: float) -> float:
        return round(TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    path = "M" + "L".join(f"{across(point.x)} {down(point.y)}" for point in points)
    summary = f"{title}: {_short(points[0].y)} at step {points[0].x:,.0f}, {_short(points[-1].y)} at step {last:,.0f}"
    return Curve(
        title,
        path,
        [(across(x), f"{x:,.0f}") for x in _ticks(first, last) if first <= x <= last],
        [(down(y), _short(y)) for y in y_values],
        summary,
        (across(last), down(points[-1].y)),
    )


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers from below `low` to above `high`."""
    if low == high:
        return [low]
    raw = (high - low) / 4
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def _short(value: float) -> str:
    return f"{value:.4g}"
