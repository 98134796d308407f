"""The models of a ModelServer as folders of this machine."""

from __future__ import annotations

from pathlib import Path

from shoal.local.runs import all_runs
from shoal.resources import ModelServer
from shoal.resources.model_place import holds
from shoal.resources.model_server import ServedModel
from shoal.runs import RunError


def local_models(server: ModelServer) -> list[ServedModel]:
    """The models with the base paths that they have here. A path on a claim is looked for in the volumes of runs, the
    latest first. Raises RunError for one that has no counterpart."""
    return [model.model_copy(update={"base_path": str(_folder(server, model))}) for model in server.spec.models]


def _folder(server: ModelServer, model: ServedModel) -> Path:
    for storage in server.spec.storage or []:
        if not holds(storage.mount_path, model.base_path):
            continue
        claim = storage.existing_claim or storage.name
        below = model.base_path[len(storage.mount_path.rstrip("/")) :].strip("/")
        for run in all_runs():
            if (found := run.volumes / claim / below).is_dir():
                return found
        raise RunError(
            f"{model.name}: no run here has {below or 'anything'} on its volume {claim}",
            "train it first, or write a base path of this machine and no storage",
        )
    if not Path(model.base_path).is_dir():
        raise RunError(f"{model.name}: {model.base_path} is no folder of this machine", "Shoal's server reads folders")
    return Path(model.base_path)
