"""Functions of the client that a stream calls when it has come to them (`cuLaunchHostFunc`, `cuStreamAddCallback`).

The client has a thread that asks for the next one, calls it, and says that it has returned. The stream waits meanwhile.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock

ANSWER = struct.Struct("<QI")
"""The function's number, which is the client's, and the status that it is told."""


class Callbacks:
    """What is pending here is the next function that is due."""

    def __init__(self) -> None:
        self._due: SimpleQueue[tuple[int, int]] = SimpleQueue()
        self._lock = Lock()
        self._returned: dict[int, tuple[int, Event]] = {}
        """By number, whose context it is, and what the stream waits for."""

    def of(self, context: int, number: int) -> Callable[[int], None]:
        """What the stream is to do for this function."""
        event = Event()
        with self._lock:
            self._returned[number] = context, event

        def call(status: int) -> None:
            if not event.is_set():
                self._due.put((number, status))
                event.wait()

        return call

    def returned(self, number: int) -> None:
        """A number that nobody waits for is of a context that was closed meanwhile."""
        with self._lock:
            _, event = self._returned.pop(number, (0, None))
        if event is not None:
            event.set()

    def forget(self, context: int) -> None:
        """Nothing waits any more for the functions of a context that is being closed."""
        with self._lock:
            gone = [number for number, (whose, _) in self._returned.items() if whose == context]
        for number in gone:
            self.returned(number)

    def done(self) -> bool:
        return not self._due.empty()

    def wait(self) -> bytes:
        return ANSWER.pack(*self._due.get())
