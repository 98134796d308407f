"""How long to wait before trying again: longer each time, and never all at the same moment."""

from __future__ import annotations

import random

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 30.0


class Backoff:
    """Doubles from `first` to `longest` seconds; each pause is between half of that and all of it."""

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0

    def reset(self) -> None:
        self._failures = 0

    def next(self) -> float:
        """The pause after one failure more, in seconds."""
        whole: float = min(self._first * 2 ** min(self._failures, 30), self._longest)
        self._failures += 1
        return whole * random.uniform(0.5, 1.0)
