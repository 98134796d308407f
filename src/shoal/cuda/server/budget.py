"""How much of each GPU's memory the clients of a lease have, each in its own process, and that it is never too much.

The table is memory that a server shares with the processes it forks: a row a client, a column a GPU. A row is cleared
when its process is gone, however it went; the lock is the kernel's, and goes with its holder."""

from __future__ import annotations

import fcntl
import mmap
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Budget:
    """Of GPUs with these limits, in bytes, for as many clients at a time as there are `rows`."""

    def __init__(self, limits: Sequence[int], rows: int) -> None:
        self.limits = tuple(limits)
        self._columns = len(limits)
        self._table = memoryview(mmap.mmap(-1, 8 * rows * max(self._columns, 1))).cast("Q")
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def take(self, row: int, gpu: int, size: int) -> bool:
        """Whether there was so much left, which the client has now."""
        with self._locked():
            if self._used(gpu) + size > self.limits[gpu]:
                return False
            self._table[row * self._columns + gpu] += size
            return True

    def give(self, row: int, gpu: int, size: int) -> None:
        with self._locked():
            self._table[row * self._columns + gpu] -= size

    def free(self, gpu: int) -> int:
        with self._locked():
            return self.limits[gpu] - self._used(gpu)

    def clear(self, row: int) -> None:
        with self._locked():
            for gpu in range(self._columns):
                self._table[row * self._columns + gpu] = 0

    def _used(self, gpu: int) -> int:
        return sum(self._table[gpu :: self._columns])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
