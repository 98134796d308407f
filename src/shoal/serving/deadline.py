"""When the request that this thread works for is given up by its client."""

from __future__ import annotations

from contextvars import ContextVar

DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)
"""By `time.monotonic()`; None where the client waits for ever."""
