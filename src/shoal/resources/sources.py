"""The texts that a file, a folder or standard input holds."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from shoal.resources.errors import Fault

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 4 * 1024 * 1024
"""Kubernetes takes no object beyond 1.5 MiB, so a larger file is something else than a few manifests."""


class Text(NamedTuple):
    """The text of one file, and the name that faults call it by."""

    name: str
    text: str


def read_texts(source: str | Path) -> Iterator[Text | Fault]:
    """One text a file, in the order of their names; a fault for each that cannot be read."""
    if str(source) == STDIN:
        yield _read_stdin()
        return
    path = Path(source)
    try:
        if not path.is_dir():
            yield _read(path)
            return
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
    except OSError as error:
        yield _unreadable(path, error)
        return
    if not files:
        yield Fault(str(path), None, None, "", "this folder holds no manifest", f"name a file, or add {_SUFFIX_LIST}")
    for file in files:
        yield _read(file)


_SUFFIX_LIST = ", ".join(f"*{suffix}" for suffix in SUFFIXES)


def _read(path: Path) -> Text | Fault:
    try:
        with path.open("rb") as file:
            return _decode(str(path), file.read(MAX_BYTES + 1))
    except FileNotFoundError:
        return Fault(str(path), None, None, "", "no such file", "check the path; - reads standard input")
    except OSError as error:
        return _unreadable(path, error)


def _read_stdin() -> Text | Fault:
    if sys.stdin is None:  # the shell has closed it: `shoal lint - <&-`
        return Fault("stdin", None, None, "", "closed", "name a file, or pipe a manifest in")
    return _decode("stdin", sys.stdin.buffer.read(MAX_BYTES + 1))


def _unreadable(path: Path, error: OSError) -> Fault:
    return Fault(str(path), None, None, "", f"cannot be read: {error.strerror}")


def _decode(name: str, data: bytes) -> Text | Fault:
    if len(data) > MAX_BYTES:
        return Fault(name, None, None, "", f"larger than {MAX_BYTES // 1024**2} MiB", "is this a manifest?")
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return Fault(name, None, None, "", "not a text file", "a manifest is YAML or JSON in UTF-8")
    return Text(name, text)
