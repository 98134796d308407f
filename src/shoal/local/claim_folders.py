"""Folders of this machine that stand for paths on claims: a path on a claim is in the volumes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.local.runs import all_runs
from shoal.resources import StorageClaim
from shoal.resources.model_place import holds
from shoal.runs import RunError


def folder_on_claim(subject: str, path: str, storage: Sequence[StorageClaim]) -> Path | None:
    """Where `path` is in the volumes of runs, the latest first; None where it is on none of the claims.

    Raises RunError where no run has it. `subject` is whose path it is, for the message.
    """
    for claim in storage:
        if not holds(claim.mount_path, path):
            continue
        name = claim.existing_claim or claim.name
        below = path[len(claim.mount_path.rstrip("/")) :].strip("/")
        for run in all_runs():
            if (found := run.volumes / name / below).is_dir():
                return found
        raise RunError(
            f"{subject}: no run here has {below or 'anything'} on its volume {name}",
            "train it first, or write a path of this machine and no storage",
        )
    return None
