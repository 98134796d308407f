"""Shoal trains and serves TensorFlow models on Kubernetes, or on one machine from the same manifest.

The package's rooms, from the bottom up: `resources` (what users write), `training` and `pool` (pure decisions),
`local` and `kubernetes` (backends that carry decisions out), `serving` (the model server), `cli`. `tf` is the small
library a training script may import; it stands alone.

In a notebook, `from shoal import run, logs` starts jobs and follows them: shoal.jobs.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`run` and `logs` of shoal.jobs, imported when they are asked for: to import this package costs nothing."""
    if name in ("run", "logs"):
        return getattr(import_module("shoal.jobs"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
