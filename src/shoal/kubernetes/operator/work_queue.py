"""Which jobs to look at: each key waits in the queue once, however often it is added, and is never with two workers.

A key that is added while a worker has it is handed out again afterwards, so the last pass always begins after the
last event. A pass answers the time of the next one, so timers that were set before a pass are void when it begins.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from shoal.kubernetes.operator.backoff import Backoff

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """`on_wait` is told how long each key has waited for a worker, in seconds. To be used within one event loop."""

    def __init__(
        self,
        on_wait: Callable[[float], None] = lambda seconds: None,
        backoff: Callable[[], Backoff] = Backoff,
    ) -> None:
        self._ready: deque[K] = deque()
        self._waiting_since: dict[K, float] = {}
        self._processing: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._backoffs: dict[K, Backoff] = {}
        self._some = asyncio.Event()
        self._closed = False
        self._on_wait = on_wait
        self._new_backoff = backoff

    @property
    def depth(self) -> int:
        """How many keys wait for a worker."""
        return len(self._ready)

    def add(self, key: K) -> None:
        """Have a worker look at `key` as soon as one is free."""
        if key in self._processing:
            self._again.add(key)
        elif key not in self._waiting_since:
            self._waiting_since[key] = asyncio.get_running_loop().time()
            self._ready.append(key)
            self._some.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Add `key` in `seconds`, or earlier where that was asked for already."""
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        due, earlier = loop.time() + seconds, self._timers.get(key)
        if earlier is not None:
            if earlier.when() <= due:
                return
            earlier.cancel()
        self._timers[key] = loop.call_at(due, self._fire, key)

    def retry(self, key: K) -> float:
        """Add `key` after a pause that grows with each failure in a row. Answers the pause in seconds."""
        pause = self._backoffs.setdefault(key, self._new_backoff()).next()
        self.add_after(key, pause)
        return pause

    def forget_failures(self, key: K) -> None:
        self._backoffs.pop(key, None)

    def close(self) -> None:
        """Hand out nothing more: every `get` answers None from now on."""
        self._closed = True
        self._some.set()

    async def get(self) -> K | None:
        """The key that has waited longest; None once the queue is closed. Whoever takes a key calls `done`."""
        while not self._ready and not self._closed:
            self._some.clear()
            await self._some.wait()
        if self._closed:
            return None
        key = self._ready.popleft()
        self._on_wait(asyncio.get_running_loop().time() - self._waiting_since.pop(key))
        if timer := self._timers.pop(key, None):
            timer.cancel()
        self._processing.add(key)
        return key

    def done(self, key: K) -> None:
        self._processing.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _fire(self, key: K) -> None:
        del self._timers[key]
        self.add(key)
