"""What a progress line adds to what a replica has said before; `shoal.tf.protocol` describes the lines."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from shoal.training.replica import ReplicaProgress


def read_line(line: str | bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None for a line that is something else."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def add_line(before: ReplicaProgress | None, said: dict[str, Any]) -> ReplicaProgress | None:
    """What is known after the line. Keys that nobody knows, and values that are no numbers, say nothing."""
    known = before or ReplicaProgress(0, 0.0)
    when = _number(said.get("time")) or known.time
    if (step := _whole(said.get("step"))) is not None:
        loss = _number(said.get("loss"))
        known = replace(known, step=step, time=when, loss=known.loss if loss is None else loss)
        known = replace(known, metrics=_metrics(known, said.get("metrics")))
    if (step := _whole(said.get("checkpoint"))) is not None:
        known = replace(known, checkpoint_step=step, time=known.time or when)
    if (step := _whole(said.get("evaluated"))) is not None:
        known = replace(known, evaluated_step=step, time=known.time or when)
    return known if known.time else before


def _metrics(before: ReplicaProgress, said: object) -> tuple[tuple[str, float], ...]:
    told = said.items() if isinstance(said, dict) else ()
    numbers = {name: number for name, value in told if (number := _number(value)) is not None}
    return tuple((dict(before.metrics) | numbers).items())


def _number(value: object) -> float | None:
    """A JSON number, as far as it is one: neither a truth value, nor NaN, nor beyond what a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int | None:
    """A step. TensorFlow counts them in 64 bits."""
    number = _number(value)
    return int(value) if number is not None and 0 <= number < 2**63 else None  # type: ignore[call-overload]
