"""`code` on this machine: a Git revision is fetched once, when the run is made, and replicas start in it.

Archives are in a cluster, and what is in them has come from a folder: here that folder serves as it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.code.git import fetch
from shoal.local.runs import runs_folder
from shoal.resources import TFJob
from shoal.runs import RunError


def check_code(job: TFJob) -> None:
    """Raises RunError for code that this machine cannot get."""
    code = job.spec.code
    if code is None or code.git:
        return
    place = f"ConfigMap {code.config_map.name!r}" if code.config_map else f"claim {code.claim and code.claim.name!r}"
    raise RunError(
        f"{job.name} takes its code from the {place}, which is in a cluster",
        "remove spec.code: on this machine replicas start in the manifest's folder",
    )


@contextmanager
def fetched(job: TFJob) -> Iterator[Path | None]:
    """The job's code in a folder, for whoever moves it away in time; None where it has none of its own. Raises RunError
    where it cannot be fetched."""
    git = job.spec.code.git if job.spec.code else None
    if git is None:
        yield None
        return
    runs_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".code-", dir=runs_folder()) as around:
        folder = Path(around) / "code"
        folder.mkdir()
        fetch(git, folder)
        yield folder
