"""How the training of a run went, step by step: from the progress lines of its leading replica, and where they have no
curve of the loss, as when a script reports its accuracy in the end, from the run's event files, too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from shoal.history import by_step, measurements
from shoal.local.progress import EVALUATION, LOSS_TAG, Tail, event_files, scalars
from shoal.local.runs import Run
from shoal.runs import Measurement

MOST_BYTES = 4 << 20
"""Read from the end of each file of progress lines: about 40,000 steps."""

LARGEST_EVENTS = 32 << 20
"""Bytes. An event file must be read from its start; a larger one is left to TensorBoard."""


def history(run: Run) -> list[Measurement]:
    """Each step once, as it was last reported, by step. Raises RunError for a damaged run."""
    progress = run.snapshot().status.progress
    if progress is None:
        return []
    lines = list(_from_lines(run, progress.replica))
    if sum(each.loss is not None for each in lines) >= 2:
        return by_step(lines)
    return by_step([*lines, *_from_events(run.volumes)])


def _from_lines(run: Run, replica: str) -> Iterator[Measurement]:
    for file in run.progress.glob(f"{replica}.*.jsonl"):
        yield from measurements(_last_bytes(file).split(b"\n"))


def _from_events(folder: Path) -> Iterator[Measurement]:
    for file in event_files(folder):
        if EVALUATION.search(file.parent.name):
            continue
        with suppress(FileNotFoundError):
            if file.stat().st_size > LARGEST_EVENTS:
                continue
        for step, when, tag, value in scalars(Tail(file)):
            if EVALUATION.search(tag) is None:
                is_loss = LOSS_TAG.search(tag) and math.isfinite(value)
                yield Measurement(step, when, value if is_loss else None)


def _last_bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - MOST_BYTES))
        return opened.read()
