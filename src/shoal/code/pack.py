"""A folder as an archive: the same files make the same bytes, and so the same digest.

What `.gitignore` and `.shoalignore` name is left out, in each folder and with Git's rules; so are Git's own folder,
virtual environments and bytecode, always. Owners and times are dropped, and of modes all but whether a file is a
program.
"""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pathspec import GitIgnoreSpec

from shoal.resources import KUBEFLOW_API, Document
from shoal.runs import RunError

IGNORE_FILES = (".gitignore", ".shoalignore")
"""In a folder the later file has the last word."""

NEVER = frozenset({".git", ".venv", "__pycache__"})
SHORT = 12
"""How much of a digest stands in a name."""


def refuse_other_code(documents: Iterable[Document], word: str) -> None:
    """Raise RunError for a job to which no packed folder can be sent; `word` is how it was asked for."""
    for job in [document.job for document in documents if document.job]:
        if job.api_version == KUBEFLOW_API:
            raise RunError(
                f"{job.name} is of {KUBEFLOW_API}, which knows no code beside the image",
                "convert the manifest: shoal convert --to shoal.dev",
            )
        if job.spec.code is not None:
            raise RunError(f"{job.name} says where its code is, in spec.code", f"leave that out, or {word}")


class PackedFile(NamedTuple):
    """A file or a link, by its path within the folder. `size` is in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Archive:
    """What was packed. `size` is the archive's, in bytes; `digest` its SHA-256 in hexadecimal."""

    files: Sequence[PackedFile]
    size: int
    digest: str

    @property
    def short_digest(self) -> str:
        return self.digest[:SHORT]

    def largest(self, count: int = 5) -> list[PackedFile]:
        return sorted(self.files, key=lambda file: -file.size)[:count]


def pack(folder: Path, into: BinaryIO) -> Archive:
    """Write the folder to `into` as a tar.gz.

    Raises RunError for a folder that is not there, has nothing to pack, or has a link that leads out of it.
    """
    if not folder.is_dir():
        raise RunError(f"{folder} is no folder", "name the one that holds the scripts, as in --code .")
    folder = folder.resolve()
    packed = []
    hashing = _Hashing(into)
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=hashing, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path in files_in(folder):
            entry = _entry(folder, path)
            packed.append(PackedFile(entry.name, entry.size))
            if entry.isfile():
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    if not packed:
        raise RunError(f"there is nothing to pack in {folder}", f"{' and '.join(IGNORE_FILES)} say what is left out")
    return Archive(packed, hashing.size, hashing.digest.hexdigest())


def files_in(folder: Path) -> Iterator[Path]:
    """Files and links that are packed, in the order of their paths."""
    folder = folder.resolve()
    return _walk(folder, [(each, _rules(each)) for each in _folders_above(folder)])


def _walk(folder: Path, above: list[tuple[Path, GitIgnoreSpec]]) -> Iterator[Path]:
    rules = [*above, (folder, _rules(folder))]
    for path in sorted(folder.iterdir()):
        is_folder = path.is_dir() and not path.is_symlink()
        if path.name in NEVER or _ignored(path, is_folder, rules):
            continue
        if is_folder:
            yield from _walk(path, rules)
        elif path.is_file() or path.is_symlink():
            yield path


def _ignored(path: Path, is_folder: bool, rules: list[tuple[Path, GitIgnoreSpec]]) -> bool:
    """The deepest folder that says something of the path decides (https://git-scm.com/docs/gitignore)."""
    for folder, spec in reversed(rules):
        name = path.relative_to(folder).as_posix()
        said = spec.check_file(f"{name}/" if is_folder else name).include
        if said is not None:
            return said
    return False


def _rules(folder: Path) -> GitIgnoreSpec:
    lines: list[str] = []
    for name in IGNORE_FILES:
        file = folder / name
        if file.is_file():
            lines += file.read_text(encoding="utf-8", errors="replace").splitlines()
    return GitIgnoreSpec.from_lines(lines)


def _folders_above(folder: Path) -> list[Path]:
    """Those from the root of the repository that holds the folder down to it; none where there is no repository."""
    above: list[Path] = []
    at = folder
    while not (at / ".git").exists():
        if at.parent == at:
            return []
        at = at.parent
        above.insert(0, at)
    return above


def _entry(folder: Path, path: Path) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
    if path.is_symlink():
        entry.type, entry.linkname = tarfile.SYMTYPE, str(path.readlink())
        if path.readlink().is_absolute() or not path.resolve().is_relative_to(folder):
            raise RunError(
                f"{path} is a link to {entry.linkname}, which leads out of {folder}",
                "put a copy of it there, or name the link in .shoalignore",
            )
    else:
        found = path.stat()
        entry.size = found.st_size
        entry.mode = 0o755 if found.st_mode & 0o100 else 0o644
    return entry


class _Hashing:
    """A stream that counts and hashes what goes through it."""

    def __init__(self, into: BinaryIO) -> None:
        self._into = into
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.size += len(data)
        self.digest.update(data)
        return self._into.write(data)

    def flush(self) -> None:
        self._into.flush()
