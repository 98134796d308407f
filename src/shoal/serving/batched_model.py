"""A model that joins the calls that come at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from shoal.serving.batching import Batcher, Scheduler
from shoal.serving.batching_parameters import PER_MODEL_FILE, BatchingParameters, read
from shoal.serving.model import Model


class BatchedModel(Model):
    """Loads the SavedModel in `folder`; see Model, and Batcher for what `run` does."""

    def __init__(self, folder: Path, parameters: BatchingParameters, scheduler: Scheduler) -> None:
        super().__init__(folder)
        self._batcher = Batcher(super().run, parameters, scheduler)

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[np.ndarray]:
        return self._batcher.run(feeds, fetches)


def loader(
    parameters: BatchingParameters, per_model: bool, scheduler: Scheduler, say: Callable[[str], None]
) -> Callable[[Path], Model]:
    """What loads a version's folder. `per_model`: by the parameters that lie in it, and without joining calls where
    there are none."""

    def load(folder: Path) -> Model:
        if not per_model:
            return BatchedModel(folder, parameters, scheduler)
        file = folder / PER_MODEL_FILE
        if not file.exists():
            return Model(folder)
        return BatchedModel(folder, read(file, say, per_model=True), scheduler)

    return load
