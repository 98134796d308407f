"""Progress lines: what `shoal run`, `shoal ps` and the job's status show. See `shoal.tf.protocol` for their form."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from shoal.tf import protocol


def report(step: int, loss: Any = None, **metrics: Any) -> None:
    """Say that the training step `step` is finished, or, in the evaluator, what the checkpoint of `step` is worth.

    `loss` and each of the `metrics`, such as `accuracy=0.93`, is a number, or a scalar of TensorFlow or NumPy.
    """
    said: dict[str, Any] = {"step": int(step)}
    if loss is not None:
        said["loss"] = float(loss)
    if metrics:
        said["metrics"] = {name: float(value) for name, value in metrics.items()}
    _tell(said)


def report_checkpoint(step: int) -> None:
    """Say that a checkpoint of `step` is complete. `Checkpoints.save` does."""
    _tell({"checkpoint": int(step)})


def report_evaluation(step: int) -> None:
    """Say that the checkpoint of `step` has been evaluated. A job with an evaluator waits for the last one."""
    _tell({"evaluated": int(step)})


def _tell(said: dict[str, Any]) -> None:
    file = os.environ.get(protocol.PROGRESS_FILE)
    if not file and not os.environ.get(protocol.PROGRESS_LOG):
        return
    # NaN is no JSON, but a loss that became NaN is what its reader most wants to know; Python's reader takes it.
    line = json.dumps({"time": round(time.time(), 3), **said}) + "\n"
    if not file:
        # Past Python's buffer, in which the line might wait for long, but not before what waits there already.
        sys.stdout.flush()
        os.write(1, f"{protocol.PROGRESS_PREFIX}{line}".encode())
        return
    # One write of a short line to a file opened for appending is never mixed with another process's.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
