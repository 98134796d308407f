"""Where in a manifest something stands."""

from __future__ import annotations

import re
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys and list indices from the document's root: `("spec", "containers", 0, "name")`."""


class Finding(NamedTuple):
    """A fault whose line is not looked up yet. `absent`: something within `path` was not found."""

    path: Path
    problem: str
    hint: str = ""
    absent: bool = False


def format_path(path: Path) -> str:
    """`spec.containers[0].name`; keys that are no plain words stand in brackets: `labels[example.com/team]`."""
    text = ""
    for part in path:
        if isinstance(part, str) and re.fullmatch(r"[A-Za-z_*][A-Za-z0-9_-]*", part):
            text += f".{part}" if text else part
        else:
            text += "[]" if part == "[]" else f"[{part}]"
    return text
