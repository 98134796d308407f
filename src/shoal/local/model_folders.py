"""The models of a ModelServer as folders of this machine."""

from __future__ import annotations

from pathlib import Path

from shoal.local.claim_folders import folder_on_claim
from shoal.resources import ModelServer
from shoal.resources.model_server import ServedModel
from shoal.runs import RunError


def local_models(server: ModelServer) -> list[ServedModel]:
    """The models with the base paths that they have here. A path on a claim is looked for in the volumes of runs, the
    latest first. Raises RunError for one that has no counterpart."""
    return [model.model_copy(update={"base_path": str(_folder(server, model))}) for model in server.spec.models]


def _folder(server: ModelServer, model: ServedModel) -> Path:
    if (found := folder_on_claim(model.name, model.base_path, server.spec.storage or [])) is not None:
        return found
    if not Path(model.base_path).is_dir():
        raise RunError(f"{model.name}: {model.base_path} is no folder of this machine", "Shoal's server reads folders")
    return Path(model.base_path)
