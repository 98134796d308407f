"""A line of JSON for each inference request that has ended: who was asked for what, how it went, how long it took.

What was sent and answered is not in it. A file is opened again when it has been renamed or removed, so that logrotate
needs no signal. A line is one write at its end, so several processes may write to the same one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler

import orjson

_current: ContextVar[dict[str, object] | None] = ContextVar("request", default=None)


class RequestLog:
    """Appends to the file at `path`; `-` is stdout. Raises OSError where that cannot be."""

    def __init__(self, path: str) -> None:
        self._handler = logging.StreamHandler(sys.stdout) if path == "-" else WatchedFileHandler(path, encoding="utf-8")

    @contextmanager
    def request(self, **facts: object) -> Iterator[None]:
        """Write a line when the block is left, with `facts` and what was noted in between."""
        line: dict[str, object] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **facts,
            "version": None,
            "signature": None,
            "rows": None,
        }
        token = _current.set(line)
        try:
            yield
        finally:
            _current.reset(token)
            text = orjson.dumps(line).decode()
            self._handler.handle(logging.makeLogRecord({"msg": text}))


def note(**facts: object) -> None:
    """Add facts to the line of the request that this thread answers; nothing where none is written."""
    line = _current.get()
    if line is not None:
        line.update(facts)
