"""Put a SavedModel under a base path as a new version, so that no server ever sees half of it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from shoal.serving.folders import is_version_folder
from shoal.serving.versions import parse_version


class PublishError(Exception):
    """What was to be published cannot be. `hint` says what to do."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


def publish(source: Path, base_path: Path, version: int | None = None) -> Path:
    """Copy the SavedModel `source` to `base_path/VERSION` and answer that path; by default the version is one more than
    the highest there. The copy is made under a name that is no version, and renamed. Raises PublishError, OSError."""
    if not is_version_folder(source):
        raise PublishError(
            f"{source}: there is no saved_model.pb in it", "name the folder that tf.saved_model.save wrote"
        )
    index = source / "variables" / "variables.index"
    if (source / "variables").is_dir() and any((source / "variables").iterdir()) and not index.is_file():
        raise PublishError(f"{source}: variables/variables.index is missing", "the model was not copied whole")
    base_path.mkdir(parents=True, exist_ok=True)
    given = version
    while True:
        if version is None:
            there = [found for entry in base_path.iterdir() if (found := parse_version(entry.name)) is not None]
            version = max(there, default=0) + 1
        target = base_path / str(version)
        if target.exists():
            raise PublishError(f"{target}: that version is there already", "leave --version out for the next one")
        aside = Path(tempfile.mkdtemp(prefix=".publishing-", dir=base_path))
        try:
            shutil.copytree(source, aside / "model")
            (aside / "model").rename(target)
            return target
        except FileExistsError:
            if given is not None:
                raise
            version = None  # somebody else published meanwhile
        except OSError as fault:
            if given is not None or not target.exists():
                raise fault
            version = None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
