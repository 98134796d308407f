"""An image of a job's folder, for who wants code and packages in it: a Dockerfile, built with what the machine has.

The builder is given exactly the files that `pack` would send, in a folder of their own, so `.dockerignore` and the
builders' ideas of it have no say.
"""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from shoal.code.pack import SHORT, Archive, pack
from shoal.resources.code import CODE_PATH
from shoal.runs import RunError

REQUIREMENTS = "requirements.txt"
USER = 1000
"""As pods of `shoal.dev` jobs run by default."""

ANSWER_SECONDS = 30.0
STDERR = 2


class Builder(NamedTuple):
    """A program that builds images. `probe` succeeds where it can: a client of Docker's may be there without an
    engine."""

    name: str
    probe: Sequence[str]

    @property
    def works(self) -> bool:
        try:
            answered = subprocess.run(
                [self.name, *self.probe], capture_output=True, check=False, timeout=ANSWER_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return answered.returncode == 0

    def build(self, context: Path, tag: str) -> int:
        return self._run("build", "--tag", tag, "--file", str(context / "Dockerfile"), str(context / "context"))

    def push(self, tag: str) -> int:
        return self._run("push", tag)

    def _run(self, *words: str) -> int:
        """What it prints is no data of ours, and goes beside them. Answers its exit code."""
        return subprocess.run([self.name, *words], stdout=STDERR, stdin=subprocess.DEVNULL, check=False).returncode


BUILDERS = (Builder("docker", ("version",)), Builder("podman", ("info",)), Builder("buildah", ("info",)))
"""In the order in which they are tried."""


class Staged(NamedTuple):
    """What a builder is given. `folder` has the Dockerfile, and in `context` the files."""

    folder: Path
    archive: Archive
    dockerfile: str

    @property
    def digest(self) -> str:
        """Of all that makes the image, but for the base's own content: short, for a tag."""
        return hashlib.sha256(f"{self.archive.digest}\n{self.dockerfile}".encode()).hexdigest()[:SHORT]


def dockerfile(base: str, requirements: bool) -> str:
    """The text. Packages come before the scripts, so that a change of a script installs nothing again. Debian's Python
    takes packages beside its own only when told to; in an image nobody else depends on it."""
    install = f"""\
COPY {REQUIREMENTS} ./
RUN PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --no-cache-dir -r {REQUIREMENTS}
"""
    return f"""\
FROM {base}
USER 0
WORKDIR {CODE_PATH}
{install if requirements else ""}COPY . ./
USER {USER}:{USER}
"""


@contextmanager
def staged(folder: Path, base: str) -> Iterator[Staged]:
    """The folder's files and their Dockerfile, as long as they are needed. Raises RunError as `pack` does."""
    with tempfile.TemporaryDirectory(prefix="shoal-image-") as place, tempfile.TemporaryFile() as packed:
        archive = pack(folder, packed)
        packed.seek(0)
        context = Path(place) / "context"
        with tarfile.open(fileobj=packed) as files:
            files.extractall(context, filter="data")
        text = dockerfile(base, (context / REQUIREMENTS).is_file())
        (Path(place) / "Dockerfile").write_text(text)
        yield Staged(Path(place), archive, text)


def builder(name: str | None) -> Builder:
    """The one that is named, else the first that works here. Raises RunError where there is none."""
    known = [each for each in BUILDERS if name in (None, each.name)]
    if found := next((each for each in known if each.works), None):
        return found
    if name is None:
        raise RunError(
            f"none of {', '.join(each.name for each in BUILDERS)} works here",
            "install one, start Docker's engine, or print the Dockerfile with --print",
        )
    raise RunError(f"{name} does not work here", f"see what `{name} {' '.join(known[0].probe)}` says")
