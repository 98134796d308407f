"""What the test cluster says when it cannot do its work: what was wrong, and what to do about it."""

from __future__ import annotations


class ClusterError(Exception):
    """A fault with a hint that tells the reader what to do next."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(f"{what}\nhint: {hint}" if hint else what)
