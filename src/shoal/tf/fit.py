"""`Model.fit` under Shoal: progress, and going on where it was, as callbacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.tf.cluster import Cluster
from shoal.tf.reports import report, report_checkpoint

REPORT_EVERY = 10
"""Batches between reports: reading the loss back costs more than a small batch."""


def fit_callbacks(keras: Any, backup: str | Path) -> list[Any]:
    """Callbacks for `fit`: one reports steps and losses, the other resumes at the epoch that was saved last.

    `keras` is the module whose `fit` is called, `tf_keras` or `keras`. `backup` is a folder that all replicas see; it
    is emptied when `fit` is through.
    """
    leads = Cluster.from_environment().is_leader

    class Reports(keras.callbacks.Callback):  # type: ignore[misc]
        """Reports the optimizer's own step count, which a backup restores."""

        def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
            if leads and batch % REPORT_EVERY == 0:
                report(self._step(), (logs or {}).get("loss"))

        def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
            if leads:
                report(self._step(), (logs or {}).get("loss"))
                report_checkpoint(self._step())

        def _step(self) -> int:
            return int(self.model.optimizer.iterations.numpy())

    # The backup comes first: when the epoch's end is reported, its checkpoint is complete.
    return [keras.callbacks.BackupAndRestore(str(backup)), Reports()]
