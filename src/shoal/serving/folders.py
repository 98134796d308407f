"""What lies on disk under a model's base path: its version folders, and whether each has come to rest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.serving.status import Code, ServingError
from shoal.serving.versions import Settling, parse_version

SAVED_MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")


@dataclass(frozen=True, slots=True)
class VersionFolder:
    """A folder that holds a SavedModel. `look` changes whenever something in it does."""

    path: Path
    look: int


@dataclass(frozen=True, slots=True)
class Found:
    """The versions that may be loaded, and whether there are more that are still being written."""

    versions: dict[int, VersionFolder]
    unsettled: bool


def find_versions(base_path: Path, settling: Settling) -> Found:
    """The versions under a base path that have a SavedModel in them. Raises OSError where it cannot be read."""
    found: dict[int, VersionFolder] = {}
    seen: set[Path] = set()
    for entry in sorted(os.scandir(base_path), key=lambda entry: entry.name):
        version = parse_version(entry.name)
        if version is None or not any(Path(entry.path, name).is_file() for name in SAVED_MODEL_FILES):
            continue
        folder = Path(entry.path)
        seen.add(folder)
        look, changed = _look(folder)
        if settling.settled(folder, look, time.time() - changed, time.monotonic()):
            found[version] = VersionFolder(folder, look)
    settling.forget_all_but(seen)
    return Found(found, unsettled=len(seen) > len(found))


def check_unchanged(folder: VersionFolder) -> None:
    """Raise ServingError where the folder does not look as it did when it was found: what was read may belong to two
    models."""
    if _look(folder.path)[0] != folder.look:
        raise ServingError(Code.ABORTED, f"{folder.path} was changed while it was being loaded")


def is_version_folder(path: Path) -> bool:
    """Whether `path` is a SavedModel itself, where a folder of versions was meant."""
    return any((path / name).is_file() for name in SAVED_MODEL_FILES)


def _look(folder: Path) -> tuple[int, float]:
    """A number for how the folder looks, and when something in it changed last. That is the time of the inode: a copy
    may keep the times of the files that it copies."""
    states = sorted((str(path), stat.st_size, stat.st_ctime_ns, stat.st_ino) for path, stat in _files(folder))
    return hash(tuple(states)), max((state[2] for state in states), default=0) / 1e9


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for where, _, names in os.walk(folder):
        for path in (Path(where), *(Path(where, name) for name in names)):
            try:
                yield path, path.stat()
            except OSError:
                continue  # renamed while we looked; the look differs the next time
