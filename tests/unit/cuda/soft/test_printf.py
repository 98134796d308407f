"""What `printf` of a kernel writes: as C's, with the arguments where a kernel puts them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.cuda.soft.printf import LIMIT, Output, formatted

TEXTS = {100: b"text", 200: b""}


def printed(format_: bytes, *arguments: int | float, wide: bool = False) -> tuple[bytes, int]:
    """With whole numbers of 4 bytes, or of 8 where they are `wide`; real ones have 8."""
    packed = b""
    for each in arguments:
        size = 8 if wide or isinstance(each, float) else 4
        packed += bytes(-len(packed) % size)
        packed += (
            struct.pack("<d", each) if isinstance(each, float) else (each % (1 << 8 * size)).to_bytes(size, "little")
        )

    def read(at: int, size: int) -> int:
        assert at + size <= len(packed)
        return int.from_bytes(packed[at : at + size], "little")

    return formatted(format_, read, TEXTS.get)


@pytest.mark.parametrize(
    ("format_", "arguments", "text"),
    [
        (b"none\n", (), b"none\n"),
        (b"%d%%|%5d|%-5d|%05d|%+d", (1, 2, 3, 4, 5), b"1%|    2|3    |00004|+5"),
        (b"%u %x %#X %o", (-1, 255, 255, 8), b"4294967295 ff 0XFF 10"),
        (b"%hd %hhu %hhd", (65535, 257, 255), b"-1 1 -1"),
        (b"%d %f %d %g", (1, 0.5, 2, 1e100), b"1 0.500000 2 1e+100"),
        (b"%.3f|%8.2e|%a|%G", (1.0005, 12345.0, 1.0, 0.0001), b"1.000|1.23e+04|0x1p+0|0.0001"),
        (b"%f %F", (float("inf"), float("-inf")), b"inf -INF"),
        (b"%*d|%-*d|%*d|%.*f|%.*f", (4, 7, 4, 7, -4, 7, 1, 0.25, -1, 0.25), b"   7|7   |7   |0.2|0.250000"),
        (b"%.d|%.0f|%.5d", (0, 2.5, 42), b"|2|00042"),
        (b"%c%c", (104, 105), b"hi"),
        (b"%y", (), b"%y"),  # no conversion stands for itself
    ],
)
def test_conversions_are_cs(format_: bytes, arguments: tuple[int | float, ...], text: bytes) -> None:
    assert printed(format_, *arguments) == (text, len(arguments))


@pytest.mark.parametrize("size", [b"l", b"ll", b"z", b"j", b"t"])
@pytest.mark.parametrize("value", [0, -1, 1 << 40, -(1 << 63)])
def test_long_numbers_have_eight_bytes(size: bytes, value: int) -> None:
    both = b"%" + size + b"d %" + size + b"x"
    assert printed(both, value, value, wide=True) == (b"%d %x" % (value, value % (1 << 64)), 2)


def test_texts_and_addresses() -> None:
    assert printed(b"%s|%6s|%-6s|%.2s|%s", 100, 100, 100, 100, 200, wide=True)[0] == b"text|  text|text  |te|"
    assert printed(b"%p %s", 0x1000, 7, wide=True) == (b"0x1000 (no text)", 2)


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_where_c_puts_them(whole: int, real: float) -> None:
    assert printed(b"%d %.3e %d", whole, real, whole) == (b"%d %.3e %d" % (whole, real, whole), 3)


def test_a_width_that_would_take_all_memory_is_not_obeyed() -> None:
    assert printed(b"%9999999d", 1) == (b"%9999999d", 0)


def test_of_more_than_is_kept_the_oldest_is_lost() -> None:
    output = Output()
    for number in range(5):
        output.add(b"%d" % number * (LIMIT // 4))
    taken = output.take()
    assert (len(taken), taken[:1], taken[-1:]) == (LIMIT, b"1", b"4")
    assert output.take() == b""
