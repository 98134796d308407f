"""How long steps took, as a histogram in SVG."""

from __future__ import annotations

from html import escape

from shoal.bench.record import Part, Record
from shoal.bench.timing import percentile

WIDTH, HEIGHT, LEFT, TOP, BINS = 640, 120, 60, 44, 40


def histogram(record: Record) -> str:
    """A panel for each replica, all with the same axis of milliseconds, the median and the 99th percentile marked."""
    times = [[1000 * each / part.steps for each in part.seconds] for part in record.parts]
    low, high = min(map(min, times)), max(map(max, times))
    panels = [
        _panel(part, values, low, max(high, low + 1e-9), TOP + i * (HEIGHT + TOP))
        for i, (part, values) in enumerate(zip(record.parts, times, strict=True))
    ]
    total = TOP + len(panels) * (HEIGHT + TOP)
    title = f"{record.images_per_second:.1f} images/s: {' '.join(record.flags) or 'as by default'}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" font-family="sans-serif" '
            'font-size="11">',
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{LEFT}" y="16" font-size="12">{escape(title)}</text>',
            *panels,
            "</svg>\n",
        ]
    )


def _panel(part: Part, values: list[float], low: float, high: float, top: float) -> str:
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int((value - low) / (high - low) * BINS))] += 1
    wide = (WIDTH - 2 * LEFT) / BINS

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - 2 * LEFT)

    drawn = [f'<text x="{LEFT}" y="{top - 6}">{escape(part.replica)}, ms a step</text>']
    for i, count in enumerate(counts):
        if count:
            tall = HEIGHT * count / max(counts)
            drawn.append(
                f'<rect x="{LEFT + i * wide:.1f}" y="{top + HEIGHT - tall:.1f}" width="{wide - 1:.1f}" '
                f'height="{tall:.1f}" fill="#4c78a8"><title>{count}</title></rect>'
            )
    for percent, colour in ((50, "#1b7837"), (99, "#b2182b")):
        value = percentile(values, percent)
        drawn.append(f'<path d="M{x(value):.1f} {top}v{HEIGHT}" stroke="{colour}"/>')
        drawn.append(
            f'<text x="{x(value) + 3:.1f}" y="{top + 10 + percent / 8:.1f}" fill="{colour}">'
            f"p{percent} {value:.2f}</text>"
        )
    drawn.append(f'<path d="M{LEFT} {top + HEIGHT}H{WIDTH - LEFT}" stroke="#888"/>')
    drawn.append(f'<text x="{LEFT}" y="{top + HEIGHT + 14}">{low:.2f}</text>')
    drawn.append(f'<text x="{WIDTH - LEFT}" y="{top + HEIGHT + 14}" text-anchor="end">{high:.2f}</text>')
    return "\n".join(drawn)
