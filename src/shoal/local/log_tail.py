"""The last lines of a log, without reading all of it."""

from __future__ import annotations

from pathlib import Path

LONGEST_TAIL = 64 << 10
"""Bytes read from the end of the file."""


def last_lines(path: Path, count: int) -> list[str]:
    """Up to `count` last lines, as text; none where there is no file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LONGEST_TAIL))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-count:] if count > 0 else []
