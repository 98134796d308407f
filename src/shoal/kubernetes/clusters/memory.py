"""Which cluster a job went to, kept in a file: a hint where to look first, never the truth."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path

MOST = 1000
"""The oldest are forgotten."""


class Memory:
    def __init__(self, file: Path) -> None:
        self._file = file

    def cluster_of(self, name: str) -> str | None:
        return self._read().get(name)

    def remember(self, name: str, cluster: str) -> None:
        """Quietly not, where the file cannot be written: it is a hint alone."""
        known = self._read()
        known.pop(name, None)
        kept = dict([*known.items(), (name, cluster)][-MOST:])
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._file.parent, delete=False) as fresh:
                json.dump(kept, fresh, indent=1)
            Path(fresh.name).replace(self._file)

    def _read(self) -> dict[str, str]:
        try:
            told = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return told if isinstance(told, dict) else {}
