"""What travels behind the fields of fixed size: text, pairs of numbers, and pieces of code."""

from __future__ import annotations

import struct

from shoal.cuda.driver import DriverError, Status


def text(value: str) -> bytes:
    """Text with its length before it."""
    said = value.encode()
    if len(said) > 0xFFFF:
        raise DriverError(Status.INVALID_IMAGE, f"the name {value[:80]}… is too long")
    return struct.pack("<H", len(said)) + said


def pairs(values: list[tuple[int, int]]) -> bytes:
    """Pairs of numbers with their count before them."""
    return struct.pack(f"<I{2 * len(values)}i", len(values), *(number for pair in values for number in pair))


def pieces(data: memoryview, number: int) -> list[bytes]:
    """So many, each with its size before it."""
    found, at = [], 0
    for _ in range(number):
        if len(data) - at < 8:
            raise DriverError(Status.INVALID_IMAGE, "the code is cut short")
        (size,) = struct.unpack_from("<Q", data, at)
        at += 8
        if len(data) - at < size:
            raise DriverError(Status.INVALID_IMAGE, "the code is cut short")
        found.append(bytes(data[at : at + size]))
        at += size
    return found
