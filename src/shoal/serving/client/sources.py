"""What a user hands in: files, standard input, and `name=value` on the command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from shoal.serving.client.errors import ClientError

STDIN = "-"


class Form(Enum):
    """How a file holds its values."""

    JSON = "JSON"
    CSV = "CSV"
    NPY = ".npy"
    NPZ = ".npz"
    IMAGE = "an image"


_BEGINNINGS = {
    b"\x93NUMPY": Form.NPY,
    b"PK\x03\x04": Form.NPZ,
    b"PK\x05\x06": Form.NPZ,  # with nothing in it
    b"\x89PNG": Form.IMAGE,
    b"\xff\xd8\xff": Form.IMAGE,
    b"GIF8": Form.IMAGE,
    b"BM": Form.IMAGE,
}
_ENDINGS = {
    ".json": Form.JSON,
    ".csv": Form.CSV,
    ".tsv": Form.CSV,
    ".npy": Form.NPY,
    ".npz": Form.NPZ,
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"), Form.IMAGE),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read. `input` is the input that it is for, where the user named one."""

    name: str
    content: bytes
    form: Form
    input: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """`name=value` of the command line."""

    input: str
    value: str


def read_source(words: str) -> Source:
    """Read what `--input` names: `FILE`, `-`, or `INPUT=FILE`. Raises ClientError."""
    name, equals, file = words.partition("=")
    if not equals or Path(words).exists():
        name, file = "", words
    try:
        content = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as fault:
        hint = "standard input is -" if isinstance(fault, FileNotFoundError) else ""
        raise ClientError(f"--input {file}: {fault.strerror}", hint) from None
    shown = "standard input" if file == STDIN else file
    return Source(shown, content, _form(file, content), name)


def parse_setting(words: str) -> Setting:
    """Read what `--set` says. Raises ClientError."""
    name, equals, value = words.partition("=")
    if not equals or not name:
        raise ClientError(f"--set {words}: expected INPUT=VALUE", "as in --set x=[1,2,3] or --set words=dog")
    return Setting(name, value)


def _form(file: str, content: bytes) -> Form:
    """By its name where that tells, else by how it begins."""
    if form := _ENDINGS.get(Path(file).suffix.lower()):
        return form
    for beginning, form in _BEGINNINGS.items():
        if content.startswith(beginning):
            return form
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return Form.IMAGE
    return Form.JSON if content.lstrip()[:1] in (b"[", b"{") else Form.CSV
