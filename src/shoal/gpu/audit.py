"""The audit log: one JSON object a line, of every change of a lease and of every request that was refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO


class Audit:
    """Appends to `path`, which only its owner may read; None writes nothing."""

    def __init__(self, path: Path | None) -> None:
        self._file: TextIO | None = None
        if path is not None:
            path.touch(mode=0o600)
            self._file = path.open("a", encoding="utf-8", buffering=1)

    def write(self, event: str, **facts: Any) -> None:
        if self._file:
            time = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._file.write(json.dumps({"time": time, "event": event, **facts}) + "\n")
