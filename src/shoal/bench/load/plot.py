"""Latency by percentile in SVG, as HDR histograms are drawn: each step to the right has ten times fewer requests."""

from __future__ import annotations

import math
from html import escape

from shoal.bench.load.histogram import Histogram
from shoal.bench.load.result import LoadRecord

WIDTH, HEIGHT, LEFT, TOP = 640, 300, 64, 56
POINTS = 160
COLOURS = ("#4c78a8", "#b2182b")
_NICE = (1, 2, 2.5, 5, 10)


def curve(record: LoadRecord) -> str:
    """The latencies, and for a closed loop beside them those corrected for coordinated omission. The axis ends where a
    single request is left. Takes a record with at least one latency."""
    shown = [("latency", record.counts.latency)]
    if record.asked.rate is None:
        shown.append(("corrected", record.corrected()))
    decades = max(1.0, math.log10(max(histogram.total for _, histogram in shown)))
    lines = [[(at, 1000 * value) for at, value in _line(histogram, decades)] for _, histogram in shown]
    step = _step(max(value for line in lines for _, value in line))
    top = step * math.ceil(max(value for line in lines for _, value in line) / step)

    def place(at: float, milliseconds: float) -> tuple[float, float]:
        return (
            LEFT + at / decades * (WIDTH - LEFT - 16),
            TOP + (1 - milliseconds / top) * HEIGHT,
        )

    title = f"{record.rate.value:,.1f} requests/s: {record.asked}"
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {TOP + HEIGHT + 40}" font-family="sans-serif" '
        'font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="12">{escape(title)}</text>',
    ]
    for number in range(round(top / step) + 1):
        x, y = place(0, number * step)
        drawn.append(f'<path d="M{x:.1f} {y:.1f}H{WIDTH - 16}" stroke="#ddd"/>')
        drawn.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{number * step:g} ms</text>')
    for decade in range(math.floor(decades + 1e-9) + 1):
        x, y = place(decade, 0)
        drawn.append(f'<path d="M{x:.1f} {TOP}V{y:.1f}" stroke="#ddd"/>')
        drawn.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{_percent(decade)}</text>')
    for (name, _), line, colour, number in zip(shown, lines, COLOURS, range(2), strict=False):
        path = "L".join("{:.1f} {:.1f}".format(*place(at, value)) for at, value in line)
        drawn.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        drawn.append(f'<text x="{LEFT + 90 * number}" y="36" fill="{colour}">{name}</text>')
    return "\n".join([*drawn, "</svg>\n"])


def _line(histogram: Histogram, decades: float) -> list[tuple[float, float]]:
    """Points of (log10 of how many requests one in so many exceeds, seconds), as far as there are requests to tell."""
    end = min(decades, math.log10(max(histogram.total, 1)))
    ats = [end * number / POINTS for number in range(POINTS + 1)]
    percents = [100 * (1 - 10**-at) for at in ats[:-1]]
    return list(zip(ats, histogram.percentiles([*percents, 100]), strict=True))


def _step(highest: float) -> float:
    """A round distance of four to ten lines up to `highest`."""
    power: float = 10 ** math.floor(math.log10(max(highest, 1e-6) / 5))
    return next(nice * power for nice in _NICE if nice * power * 6 >= highest)


def _percent(decade: int) -> str:
    return f"{100 * (1 - 10.0**-decade):.{max(0, decade - 2)}f} %"
