"""Where a run's event files are, by a name for each folder."""

from __future__ import annotations

from pathlib import Path

from shoal.local import manifests
from shoal.local.plan import Plan
from shoal.local.progress import event_files
from shoal.local.runs import Run


def log_folders(run: Run) -> dict[str, Path]:
    """The folders that the manifest names under `tensorBoard.logDirs`, and where it names none, every folder under the
    volumes that holds event files. Only folders with event files in or below them are listed."""
    wanted = manifests.read(run)
    plan = Plan(run, wanted)
    if board := wanted.job.spec.tensor_board:
        named = {label: plan.local_path(wanted.job, folder) for label, folder in board.log_dirs.items()}
        return {label: folder for label, folder in named.items() if any(event_files(folder))}
    folders = sorted({path.parent for path in event_files(run.volumes)})
    return {str(folder.relative_to(run.volumes)): folder for folder in folders}
