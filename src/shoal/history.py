"""What progress lines tell of how a training went, wherever the lines are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shoal.runs import Measurement
from shoal.training.progress_lines import add_line, read_line


def measurements(lines: Iterable[bytes]) -> Iterator[Measurement]:
    """What each line tells of a step; lines about something else are left out."""
    for line in lines:
        said = read_line(line)
        if said and "step" in said and (known := add_line(None, said)):
            yield Measurement(known.step, known.time, known.loss)


def by_step(told: Iterable[Measurement]) -> list[Measurement]:
    """Each step once, by step. One that was done again after a failure counts as it was done last."""
    last: dict[int, Measurement] = {}
    for each in sorted(told, key=lambda each: each.time):
        before = last.get(each.step)
        kept = before.loss if before and each.loss is None else each.loss
        last[each.step] = each._replace(loss=kept)
    return [last[step] for step in sorted(last)]
