"""The folder of a run: what is wanted, what was last known, and everything that its replicas wrote.

    $SHOAL_HOME/runs/NAME/
      manifest.yaml      the documents as last wanted; `scale`, `stop` and `resume` edit it, as `kubectl patch` would
      source             the folder that the manifest came from: replicas start there
      code/              what `spec.code` names, fetched once: they start there instead
      status.json        what the supervisor last knew; replaced as a whole, so a reader never sees half of it
      addresses.json     each replica's address, kept so that one that is started again is found where it was
      lock               locked by the supervisor as long as it lives
      logs/              one file per attempt of a replica: worker-1.0.log
      progress/          one file per attempt of a replica, see `shoal.tf.protocol`
      volumes/           the folders that stand for the job's volumes

A supervisor and any number of commands use the folder at the same time. Whoever changes a file writes a new one and
renames it; whoever reads sees the old or the new one.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shoal.resources.status import JobStatus
from shoal.resources.suggestion import nearest
from shoal.runs import MissingError, RunError, Snapshot

HOME = "SHOAL_HOME"
"""The environment variable that says where runs live, instead of in `~/.shoal`."""


class DamagedRunError(RunError):
    """A file of the run is not what Shoal wrote there."""

    def __init__(self, run: Run, file: Path) -> None:
        super().__init__(
            f"{file} is damaged", f"remove the run with `shoal rm {run.name}`, or start over with --replace"
        )


class Run:
    """One run by name. It need not exist yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = runs_folder() / name
        self.manifest = self.folder / "manifest.yaml"
        self.status_file = self.folder / "status.json"
        self.addresses_file = self.folder / "addresses.json"
        self.logs = self.folder / "logs"
        self.progress = self.folder / "progress"
        self.volumes = self.folder / "volumes"
        self.code = self.folder / "code"
        self._lock = self.folder / "lock"

    @property
    def exists(self) -> bool:
        return self.manifest.exists()

    def create(self, manifest: str, source: Path, code: Path | None = None) -> None:
        """Make the folder, and move `code` into it. Raises RunError where the name is taken, also when two commands
        race for it."""
        runs_folder().mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=runs_folder()))
        (fresh / "manifest.yaml").write_text(manifest)
        (fresh / "source").write_text(str(source))
        for name in ("logs", "progress", "volumes"):
            (fresh / name).mkdir()
        if code is not None:
            code.rename(fresh / "code")
        fresh.chmod(0o755)
        try:
            fresh.rename(self.folder)
        except OSError:
            shutil.rmtree(fresh)
            raise RunError(
                f"a run named {self.name!r} exists",
                f"see it with `shoal describe {self.name}`; run with --replace to start over, or --name for another",
            ) from None

    @property
    def source(self) -> Path:
        """The folder that the manifest came from."""
        return Path((self.folder / "source").read_text())

    def snapshot(self) -> Snapshot:
        """What the supervisor last knew; nothing yet where it has not written. Raises RunError for a damaged file."""
        try:
            return Snapshot.load(self.status_file.read_text())
        except FileNotFoundError:
            return Snapshot(JobStatus())
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise DamagedRunError(self, self.status_file) from fault

    @property
    def run_id(self) -> str:
        """What the processes of the run's last supervisor carry; empty where that is not known."""
        try:
            return self.snapshot().run_id
        except DamagedRunError:
            return ""

    def write_snapshot(self, snapshot: Snapshot) -> None:
        replace_file(self.status_file, snapshot.dump())

    def log(self, replica: str, attempt: int) -> Path:
        return self.logs / f"{replica}.{attempt}.log"

    def progress_file(self, replica: str, attempt: int) -> Path:
        return self.progress / f"{replica}.{attempt}.jsonl"

    @contextmanager
    def supervised(self) -> Iterator[None]:
        """Be the run's only supervisor. Raises RunError where another lives."""
        with self._lock.open("w") as lock:
            if not _try_lock(lock.fileno()):
                raise RunError(f"run {self.name!r} is running", f"stop it with `shoal stop {self.name}`")
            os.set_inheritable(lock.fileno(), False)
            yield

    @property
    def alive(self) -> bool:
        """Whether a supervisor looks after the run."""
        try:
            with self._lock.open("r+") as lock:
                return not _try_lock(lock.fileno())
        except FileNotFoundError:
            return False

    def remove(self) -> None:
        """Remove the run and all it wrote. Only for a run without a supervisor."""
        doomed = Path(tempfile.mkdtemp(prefix=".old-", dir=runs_folder())) / self.name
        self.folder.rename(doomed)
        shutil.rmtree(doomed.parent)


def find(name: str) -> Run:
    """The run of that name. Raises RunError where there is none."""
    # A name with a slash, or of dots, would lead to some other folder, and `shoal rm` would remove it.
    run = Run(name) if re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name) else None
    if run is None or not run.exists:
        known = [other.name for other in all_runs()]
        meant = nearest(name, known)
        listed = f"known runs: {', '.join(known[:5])}" if known else "start one: shoal run FILE"
        raise MissingError(f"there is no run named {name!r}", f"did you mean {meant}?" if meant else listed, known)
    return run


def all_runs() -> list[Run]:
    """Every run, the latest first."""
    folder = runs_folder()
    manifests = folder.glob("[!.]*/manifest.yaml") if folder.is_dir() else ()
    dated = []
    for file in manifests:
        with suppress(FileNotFoundError):  # removed meanwhile
            dated.append((file.stat().st_ctime, file.parent.name))
    return [Run(name) for _, name in sorted(dated, reverse=True)]


def home_folder() -> Path:
    """Where everything of this machine's user is."""
    home = os.environ.get(HOME)
    return Path(home).absolute() if home else Path.home() / ".shoal"


def runs_folder() -> Path:
    """Where runs live."""
    return home_folder() / "runs"


def replace_file(path: Path, text: str) -> None:
    """Write by rename: readers see the old content or the new, also when the writer is killed in between."""
    handle, fresh = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(fresh).replace(path)


def read_json(path: Path) -> Any:
    """The content of a JSON file, or None where there is none. Raises ValueError for a damaged file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None


def _try_lock(descriptor: int) -> bool:
    """Take the lock if nobody holds it. It is released when the descriptor is closed, however its owner ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
