"""`shoal bench export`: a benchmark model where a model server finds it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from shoal.bench.options import Model
from shoal.cli.terminal import refuse, say


def export(
    base_path: Annotated[Path, typer.Argument(metavar="BASE_PATH", help="Where the model's versions are.")],
    model: Annotated[Model, typer.Option("--model", "-m", help="Which model.")],
    version: Annotated[int | None, typer.Option(min=0, help="By default one more than the highest there.")] = None,
) -> None:
    """Put a benchmark model with random weights under BASE_PATH as a version to be served. Prints the new path.

    What it answers means nothing; what an answer costs is that of the trained model.
    """
    from shoal.serving.publish import PublishError, publish

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if base_path.exists() and not base_path.is_dir():
        refuse(f"{base_path}: it is no folder", "name the folder that has, or will have, a folder for each version")
    try:
        from shoal.bench.export import export as write
    except ModuleNotFoundError as missing:
        refuse(f"this needs {missing.name}, which is not installed", 'pip install "shoal[tensorflow]"')
    say(f"building {model.value}, with random weights")
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        write(model, Path(folder) / "model")
        try:
            print(publish(Path(folder) / "model", base_path, version))
        except PublishError as fault:
            refuse(str(fault), fault.hint)
