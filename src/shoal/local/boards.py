"""TensorBoard as a process of this machine, over folders by run name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from shoal.local.claim_folders import folder_on_claim
from shoal.local.ports import HOST
from shoal.resources import TensorBoard
from shoal.resources.model_place import URI
from shoal.resources.tensorboard import names_a_run
from shoal.runs import Board, RunError


def board_of(folders: Mapping[str, str], port: int) -> Board:
    """The command that shows the folders at 127.0.0.1:`port`, by the TensorBoard of this environment. Raises RunError
    where there is none, and for a name or a folder that TensorBoard cannot be told."""
    for name, folder in folders.items():
        if not names_a_run(name):
            raise RunError(f"{name!r} cannot name a run", "TensorBoard takes names without , : and a / at the start")
        if "," in folder:
            raise RunError(f"{name}: {folder} has a comma", "TensorBoard would take it for two folders; rename it")
    if importlib.util.find_spec("tensorboard") is None:
        raise RunError("TensorBoard is not installed here", "pip install tensorboard")
    spec = ",".join(f"{name}:{folder}" for name, folder in folders.items())
    options = ["--logdir_spec", spec, "--host", HOST, "--port", str(port)]
    return Board([sys.executable, "-m", "tensorboard.main", *options], list(folders))


def existing_folders(named: Mapping[str, str]) -> dict[str, str]:
    """The folders as TensorBoard is to be told. Raises RunError for one that is not there; a URI is left to it."""
    for name, folder in named.items():
        if not URI.match(folder) and not Path(folder).expanduser().is_dir():
            raise RunError(f"{name}: {folder} is no folder of this machine", "write NAME=FOLDER; the folder must exist")
    return {
        name: folder if URI.match(folder) else str(Path(folder).expanduser().absolute())
        for name, folder in named.items()
    }


def local_log_dirs(board: TensorBoard) -> dict[str, str]:
    """The folders of a TensorBoard here. A path on a claim is looked for in the volumes of runs, the latest first.
    Raises RunError for one that has no counterpart."""
    storage = board.spec.storage or []
    return existing_folders(
        {name: str(folder_on_claim(name, path, storage) or path) for name, path in board.spec.log_dirs.items()}
    )
