"""Checkpoints in a folder that all replicas see, and the evaluator's way through them.

Where several processes train as one, all of them have to take part in a save, since a value may be spread over them,
but one file is enough: the others write to folders of their own and throw them away
(https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#model_saving_and_loading).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from shoal.tf.cluster import Cluster
from shoal.tf.reports import report_checkpoint, report_evaluation

PREFIX = "checkpoint"


class Checkpoints:
    """The checkpoints of one training, numbered by step. `objects` are what to keep: model, optimizer, …"""

    def __init__(self, folder: str | Path, *, keep: int = 3, **objects: Any) -> None:
        self.folder = Path(folder)
        self._cluster = Cluster.from_environment()
        self._checkpoint = tf.train.Checkpoint(**objects)
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, str(self.folder), max_to_keep=keep, checkpoint_name=PREFIX
        )

    def restore(self) -> int:
        """Take up the newest checkpoint; answers its step, 0 where there is none. Call it when all variables exist,
        or let TensorFlow fill those that are made later."""
        newest = self._manager.latest_checkpoint
        if newest is None:
            return 0
        self._checkpoint.restore(newest).expect_partial()
        step = step_of(newest)
        print(f"goes on from the checkpoint of step {step}", flush=True)
        return step

    def save(self, step: int) -> None:
        """Write the checkpoint of `step`, and say so. Every replica that trains must call it."""
        if self._cluster.is_leader or not self._cluster.distributed:
            self._manager.save(checkpoint_number=int(step))
            report_checkpoint(step)
        else:
            aside = self.folder / f".{self._cluster.role}-{self._cluster.index}"
            self._checkpoint.write(str(aside / PREFIX))
            shutil.rmtree(aside, ignore_errors=True)


def follow(folder: str | Path, poll_seconds: float = 0.5, **objects: Any) -> Iterator[int]:
    """For the evaluator: restore each new checkpoint in turn, and give its step. When the loop's body is through, the
    checkpoint counts as evaluated. The newest is taken where several have come. Ends never: Shoal ends the evaluator
    when the last checkpoint was evaluated."""
    checkpoint = tf.train.Checkpoint(**objects)
    done: int | None = None
    while True:
        newest = tf.train.latest_checkpoint(str(folder))
        if newest is None or step_of(newest) == done:
            time.sleep(poll_seconds)
            continue
        try:
            checkpoint.restore(newest).expect_partial()
        except (tf.errors.OpError, ValueError):
            # Newer ones may have pushed it out while it was read; the state file names one that is there.
            if tf.train.latest_checkpoint(str(folder)) == newest:
                raise
            continue
        done = step_of(newest)
        yield done
        report_evaluation(done)


def step_of(path: str) -> int:
    """The step in a checkpoint's name: `…/checkpoint-120` is of step 120."""
    return int(path.rpartition("-")[2])
