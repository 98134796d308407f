"""`printf` and `assert` of kernels: what generated code asks of the host, as text for the program.

Arguments lie packed as C passes them to a function of any number: each aligned to its size, 4 or 8 bytes. Each
conversion is done by the C library's own snprintf.
"""

from __future__ import annotations

import ctypes
import re
from collections import deque
from collections.abc import Callable
from threading import Lock

LIMIT = 1 << 20
"""Bytes that are kept until the program takes them; more drive out the oldest, as in CUDA."""

_CONVERSION = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|z|j|t)?(.)", re.DOTALL)
_LARGEST = 4096
"""The most that a width or a precision may be."""

Read = Callable[[int, int], int]
Text = Callable[[int], bytes | None]


class Output:
    """What kernels have printed, by any of their threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pieces: deque[bytes] = deque()
        self._size = 0

    def add(self, piece: bytes) -> None:
        with self._lock:
            self._pieces.append(piece)
            self._size += len(piece)
            while self._size > LIMIT and len(self._pieces) > 1:
                self._size -= len(self._pieces.popleft())

    def take(self) -> bytes:
        with self._lock:
            taken = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            return taken


def formatted(format_: bytes, read: Read, text: Text) -> tuple[bytes, int]:
    """The text, and how many arguments it took. `read` gives so many bytes at an offset of the arguments as a number,
    and `text` the text at an address."""
    arguments = _Arguments(read)

    def conversion(found: re.Match[bytes]) -> bytes:
        flags, width, precision, size, letter = found.groups()
        if letter == b"%":
            return b"%"
        if width == b"*":
            given = arguments.integer(4, signed=True)
            flags, width = flags + b"-" * (given < 0), b"%d" % abs(given)
        if precision == b"*":
            given = arguments.integer(4, signed=True)
            precision = b"%d" % given if given >= 0 else None
            dotted = given >= 0
        else:
            dotted = b"." in found.group()[: -len(letter)]
        if any(int(each or 0) > _LARGEST for each in (width, precision)):
            return found.group()
        shape = b"%" + flags + (width or b"") + (b"." + (precision or b"") if dotted else b"")
        return _converted(shape, size or b"", letter, arguments, text, found.group())

    return _CONVERSION.sub(conversion, format_), arguments.count


class _Arguments:
    def __init__(self, read: Read) -> None:
        self._read, self._at, self.count = read, 0, 0

    def integer(self, size: int, signed: bool) -> int:
        self._at = -(-self._at // size) * size
        found = self._read(self._at, size)
        self._at += size
        self.count += 1
        return found - (1 << 8 * size) if signed and found >> (8 * size - 1) else found

    def real(self) -> float:
        return ctypes.c_double.from_buffer_copy(self.integer(8, signed=False).to_bytes(8, "little")).value


def _converted(shape: bytes, size: bytes, letter: bytes, arguments: _Arguments, text: Text, whole: bytes) -> bytes:
    wide = 8 if size in (b"l", b"ll", b"z", b"j", b"t") else 4
    bits = {b"h": 16, b"hh": 8}.get(size, 8 * wide)
    if letter in b"di":
        value = arguments.integer(wide, signed=True)
        value = (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        return _printed(shape + b"lld", ctypes.c_longlong(value))
    if letter in b"uoxX":
        value = arguments.integer(wide, signed=False) & (1 << bits) - 1
        return _printed(shape + b"ll" + letter, ctypes.c_ulonglong(value))
    if letter in b"aAeEfFgG":
        return _printed(shape + letter, ctypes.c_double(arguments.real()))
    if letter == b"c":
        return _printed(shape + b"c", ctypes.c_int(arguments.integer(4, signed=True)))
    if letter == b"p":
        return _printed(shape + b"p", ctypes.c_void_p(arguments.integer(8, signed=False)))
    if letter == b"s":
        found = text(arguments.integer(8, signed=False))
        return _printed(shape + b"s", ctypes.c_char_p(b"(no text)" if found is None else found))
    return whole  # no conversion: it stands for itself


def _printed(shape: bytes, value: object) -> bytes:
    snprintf = _libc.snprintf
    size = snprintf(None, 0, shape, value)
    if size < 0:
        return shape
    buffer = ctypes.create_string_buffer(size + 1)
    snprintf(buffer, size + 1, shape, value)
    return buffer.raw[:size]


_libc = ctypes.CDLL(None)
