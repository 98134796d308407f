"""Exporting a SavedModel where a model server finds it: `BASE/VERSION/saved_model.pb`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from shoal.tf.cluster import Cluster


def export(model: Any, base_path: str | Path, signatures: Any = None, version: int | None = None) -> Path | None:
    """Save `model` (a `tf.Module`, or a Keras model) as the next version under `base_path`.

    `signatures` are as `tf.saved_model.save` takes them. `version` defaults to one more than the highest there. The
    folder appears under its number when it is complete, never before: a server that polls `base_path` cannot load
    half of it. Every replica that trains must call it (see `shoal.tf.checkpoints`); the leader's call answers the
    folder, the others' None.
    """
    cluster = Cluster.from_environment()
    if cluster.distributed and not cluster.is_leader:
        with tempfile.TemporaryDirectory() as aside:
            tf.saved_model.save(_servable(model, signatures), aside, signatures=signatures)
        return None
    base = Path(base_path)
    base.mkdir(parents=True, exist_ok=True)
    number = (
        version
        if version is not None
        else 1 + max((int(f.name) for f in base.iterdir() if f.name.isdecimal()), default=0)
    )
    target = base / str(number)
    if target.exists():
        raise FileExistsError(f"{target} is there already; name another version, or none to take the next")
    half = Path(tempfile.mkdtemp(prefix=f".{number}-", dir=base))
    try:
        tf.saved_model.save(_servable(model, signatures), str(half), signatures=signatures)
        half.chmod(0o755)  # mkdtemp's 0700 would shut out a server that runs as somebody else
        half.rename(target)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise
    print(f"exported {target}", flush=True)
    return target


def _servable(model: Any, signatures: Any) -> Any:
    """What to save so that a model server finds the variables restored which the signatures read.

    A model of Keras 3 is saved with a copy of each variable, and what restores a SavedModel in a session, as TensorFlow
    Serving does, fills the copies alone: "Could not find variable". With its plain variables saved in its place, every
    loader finds them.
    """
    variables = [each for each in getattr(model, "variables", ()) if not isinstance(each, tf.Variable)]
    if signatures is None or not variables or not all(hasattr(each, "value") for each in variables):
        return model
    plain = tf.Module()
    plain.of_model = [each.value for each in variables]
    return plain
