"""How long what the current thread does for a client may take: known at the entrance, obeyed where the graph runs.

It is no argument of what lies between, which cannot do anything about it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from shoal.serving.status import Code, ServingError

LONGEST_SECONDS = 24 * 3600.0
"""More is no limit at all: gRPC says so many seconds, or infinitely many, where a client named none."""

DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)
"""By `time.monotonic()`; None where the client waits for ever."""


def within(seconds: float | None) -> AbstractContextManager[None]:
    """Give the block so many seconds; None: any time."""
    return until(None if seconds is None or seconds > LONGEST_SECONDS else time.monotonic() + seconds)


@contextmanager
def until(end: float | None) -> Iterator[None]:
    """Give the block until then, by `time.monotonic()`; None: any time."""
    token = DEADLINE.set(end)
    try:
        yield
    finally:
        DEADLINE.reset(token)


def milliseconds_left() -> int | None:
    """The time that is left, at least 1; None where there is no limit. Raises ServingError where there is none left."""
    end = DEADLINE.get()
    if end is None:
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise ServingError(Code.DEADLINE_EXCEEDED, "the deadline had passed before the model was run")
    return int(left * 1000) + 1
