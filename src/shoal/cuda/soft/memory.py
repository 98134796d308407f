"""Global memory of one context: a range of this process's addresses, its allocations, and the map that kernels check.

The range is reserved once and is larger than the device's memory, so that what is free can always be had in one piece;
the host has pages of it only where something was written. Behind each allocation a granule stays free: what reaches
beyond its end is a fault, and no change of its neighbour.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_left, bisect_right, insort
from contextlib import suppress

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.soft.compile.layout import GRANULE

ROOM = 4
"""Times the device's memory: the smallest allocations take twice their granule, and some room is lost between."""

MAP_NORESERVE = 0x4000  # of Linux; Python's mmap does not name it
PIECE = 1 << 20
"""Bytes of a pattern that are written at once."""


class Memory:
    """`total` is the device's in bytes. The range begins at `base` and has `granules`; `map` is the map's address."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.granules = -(-total // GRANULE) * ROOM + 1
        self._range = _reserve(self.granules * GRANULE)
        self._map = _reserve(2 * (self.granules + 1))  # its last number stays 0: whatever is outside of the range
        self.base, self.map = _address(self._range), _address(self._map)
        self._bytes, self._allowed = memoryview(self._range), memoryview(self._map)
        self._sizes: dict[int, int] = {}
        self._starts: list[int] = []
        self._gaps: list[tuple[int, int]] = [(0, self.granules)]  # first granule and how many, in order
        self.used = 0

    def allocate(self, size: int) -> int:
        if size < 1:
            raise DriverError(Status.INVALID_VALUE, f"{size} bytes cannot be allocated")
        whole = -(-size // GRANULE)
        if self.used + whole * GRANULE > self.total:
            free = self.total - self.used
            raise DriverError(Status.OUT_OF_MEMORY, f"{size} bytes more; {free} of the device's {self.total} are free")
        for index, (first, count) in enumerate(self._gaps):
            if count > whole:
                self._gaps[index : index + 1] = [(first + whole + 1, count - whole - 1)] if count > whole + 1 else []
                break
        else:
            raise DriverError(Status.OUT_OF_MEMORY, f"no {size} bytes are free in one piece")
        address = self.base + first * GRANULE
        self._sizes[address] = size
        insort(self._starts, address)
        self.used += whole * GRANULE
        self._allow(first, size // GRANULE, GRANULE)
        if size % GRANULE:
            self._allow(first + whole - 1, 1, size % GRANULE)
        return address

    def free(self, address: int) -> None:
        """To be called when no kernel runs: generated code reads the map at any time."""
        size = self._sizes.pop(address, None)
        if size is None:
            raise DriverError(Status.INVALID_VALUE, f"no allocation begins at {address:#x}, or it was freed before")
        del self._starts[bisect_left(self._starts, address)]
        whole = -(-size // GRANULE)
        first = (address - self.base) // GRANULE
        self.used -= whole * GRANULE
        self._allow(first, whole, 0)
        self._forget(address - self.base, whole * GRANULE)
        self._add_gap(first, whole + 1)

    def find(self, address: int) -> tuple[int, int]:
        """Base and size of the allocation that has the address."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address < (base := self._starts[at]) + self._sizes[base]:
            return base, self._sizes[base]
        raise DriverError(Status.INVALID_VALUE, f"{address:#x} is in no allocation")

    def part(self, address: int, size: int) -> memoryview:
        """The bytes, if they are all of one allocation."""
        if size < 0:
            raise DriverError(Status.INVALID_VALUE, f"{size} bytes")
        if not size:
            return self._bytes[:0]
        base, whole = self.find(address)
        if address + size > base + whole:
            told = f"{size} bytes at {address:#x} reach beyond the allocation of {whole} bytes at {base:#x}"
            raise DriverError(Status.INVALID_VALUE, told)
        return self._bytes[address - self.base : address - self.base + size]

    def text(self, address: int) -> bytes | None:
        """The bytes up to a zero; None where they are not all in one allocation."""
        with suppress(DriverError):
            base, size = self.find(address)
            end = base + size - self.base
            found = self._range.find(b"\0", address - self.base, end)
            return None if found < 0 else bytes(self._bytes[address - self.base : found])
        return None

    def close(self) -> None:
        """Give the range back; no kernel may run."""
        self._bytes.release()
        self._allowed.release()
        with suppress(BufferError):  # who still reads a part of it gives it back in the end
            self._range.close()
        self._map.close()

    def _allow(self, first: int, count: int, size: int) -> None:
        self._allowed[2 * first : 2 * (first + count)] = size.to_bytes(2, "little") * count

    def _forget(self, start: int, size: int) -> None:
        """Give the host its whole pages back."""
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (start + size) // mmap.PAGESIZE * mmap.PAGESIZE
        if first < end:
            self._range.madvise(mmap.MADV_DONTNEED, first, end - first)

    def _add_gap(self, first: int, count: int) -> None:
        at = bisect_left(self._gaps, (first, 0))
        if at < len(self._gaps) and self._gaps[at][0] == first + count:
            count += self._gaps.pop(at)[1]
        if at and sum(self._gaps[at - 1]) == first:
            at -= 1
            first, before = self._gaps.pop(at)
            count += before
        self._gaps.insert(at, (first, count))


def fill(part: memoryview, pattern: bytes) -> None:
    """Write the pattern over and over, in pieces: the whole may be large."""
    piece = pattern * (PIECE // len(pattern))
    for start in range(0, len(part), PIECE):
        step = min(PIECE, len(part) - start)
        part[start : start + step] = piece[:step]


def _reserve(size: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    try:
        reserved = mmap.mmap(-1, size, flags=flags)
    except (OSError, OverflowError, ValueError) as fault:
        told = f"the host gives no {size >> 20} MiB of addresses: {fault}; give the software GPU less memory"
        raise DriverError(Status.OUT_OF_MEMORY, told) from fault
    with suppress(OSError):
        reserved.madvise(mmap.MADV_DONTDUMP)
    return reserved


def _address(of: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(of))
