"""Where a test cluster keeps what outlives a test run, and the folders of clusters that run.

All of it lies outside the checkout, under `$SHOAL_CACHE/cluster` (default `~/.cache/shoal/cluster`), so that a fresh
checkout finds the programs already built.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

OWNER = "owner.lock"


def cache_folder() -> Path:
    """The folder for all that is kept; made when missing."""
    root = os.environ.get("SHOAL_CACHE") or Path.home() / ".cache" / "shoal"
    folder = Path(root) / "cluster"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def scratch_file(folder: Path) -> Path:
    """A new, empty file in `folder`, to be renamed when it is whole."""
    file, name = tempfile.mkstemp(prefix="making-", dir=folder)
    os.close(file)
    return Path(name)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes respect; wait for it as long as it takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class RunFolder:
    """The folder of one running cluster, removed when it stops.

    Its owner holds a lock on a file in it. A lock dies with its owner, even one that was killed, so whoever makes the
    next folder can tell what was left behind, and removes it.
    """

    def __init__(self, kind: str) -> None:
        runs = cache_folder() / "runs"
        with locked(runs / ".lock"):
            for each in runs.iterdir():
                if each.is_dir() and _abandoned(each):
                    shutil.rmtree(each, ignore_errors=True)
            self.path = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=runs))
            self._lock = try_lock(self.path / OWNER)

    def close(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock:
            self._lock.close()


def try_lock(path: Path) -> IO[str] | None:
    """A file that is locked until it is closed; None when someone else holds the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    file.close()
    return None


def _abandoned(folder: Path) -> bool:
    lock = try_lock(folder / OWNER)
    if lock is None:
        return False
    lock.close()
    return True
