"""A chart of a simulation as SVG: a group of bars for each variant, a line across a bar where a published mean is."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from shoal.gpu.simulation import Grown

COLOURS = ("#8da0cb", "#fc8d62", "#1b7837", "#bebada", "#fdb462", "#66c2a5")
LEFT, TOP, HEIGHT, BAR, GAP = 48, 40, 300, 18, 26


def chart(results: Sequence[Grown], published: Sequence[float | None]) -> str:
    """Allocated percent of each result, on an axis that begins below the least of them."""
    series = list(dict.fromkeys((grown.case.policy, grown.case.mode.value) for grown in results))
    variants = list(dict.fromkeys(grown.case.variant for grown in results))
    least = min(grown.least for grown in results)
    floor = max(0, 5 * int(least / 5) - 5)
    group = len(series) * BAR + GAP
    width = LEFT + len(variants) * group + GAP

    def height(percent: float) -> float:
        return TOP + HEIGHT * (1 - (percent - floor) / (100 - floor))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(width, 640)} {TOP + HEIGHT + 40}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for tick in range(floor, 101, 5):
        y = height(tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{width}" stroke="#ddd"/><text x="8" y="{y + 4:.1f}">{tick} %</text>')
    for i, (policy, mode) in enumerate(series):
        parts.append(f'<rect x="{LEFT + i * 170}" y="8" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>')
        parts.append(f'<text x="{LEFT + i * 170 + 14}" y="17">{escape(policy)}, {mode}</text>')
    for grown, known in zip(results, published, strict=True):
        i = series.index((grown.case.policy, grown.case.mode.value))
        x = LEFT + GAP / 2 + variants.index(grown.case.variant) * group + i * BAR
        y = height(grown.mean)
        parts.append(
            f'<rect x="{x}" y="{y:.1f}" width="{BAR - 2}" height="{TOP + HEIGHT - y:.1f}" '
            f'fill="{COLOURS[i % len(COLOURS)]}"><title>{grown.mean:.2f} %</title></rect>'
        )
        if known is not None:
            parts.append(f'<path d="M{x - 1} {height(known):.1f}h{BAR}" stroke="black" stroke-width="2"/>')
    for i, variant in enumerate(variants):
        x = LEFT + GAP / 2 + i * group + len(series) * BAR / 2
        parts.append(f'<text x="{x}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{escape(variant)}</text>')
    note = f"allocated GPU share at a demand of {results[0].percent:g} %; black lines are published means"
    parts.append(f'<text x="{LEFT}" y="{TOP + HEIGHT + 32}" fill="#555">{note}</text></svg>')
    return "\n".join(parts) + "\n"
