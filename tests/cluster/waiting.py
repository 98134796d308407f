"""Waiting for what a cluster does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.cluster.errors import ClusterError


def wait_until(condition: Callable[[], object], timeout: float = 30, what: str | Callable[[], str] = "") -> None:
    """Poll until `condition()` holds. Raises ClusterError that says `what` was waited for."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            awaited = what() if callable(what) else what
            raise ClusterError(f"not seen within {timeout:.0f} s: {awaited or 'what a test waits for'}")
        time.sleep(0.1)
