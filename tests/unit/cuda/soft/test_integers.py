"""Integer arithmetic and bits, against Python's whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given

from tests.unit.cuda.soft.instructions import Bench, Row, any_operands, bits, number, pairs, quick, row, signed

TYPES = ("u16", "u32", "u64", "s16", "s32", "s64")
WIDE = ("u32", "s32", "u64", "s64")


def whole(text: str, type_: str, count: int, apply: Callable[..., int], result: str = "") -> Row:
    """`apply` takes and gives whole numbers, which are cut to the result's bits."""
    result = result or type_

    def reference(*values: int) -> int:
        return bits(apply(*(number(value, type_) for value in values)), result)

    return row(text, " ".join([type_] * count), result, reference)


def clamp(value: int, type_: str) -> int:
    size = int(type_[1:])
    least, most = (-(1 << size - 1), (1 << size - 1) - 1) if type_[0] == "s" else (0, (1 << size) - 1)
    return min(max(value, least), most)


def quotient(left: int, right: int) -> int:
    """Towards zero. By zero is left open by PTX, and is all bits set here, as GPUs have it."""
    if right == 0:
        return -1
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def arithmetic() -> Iterator[Row]:
    for t in TYPES:
        size = int(t[1:])
        two = "{d}, {a}, {b};"
        yield whole(f"add.{t} {two}", t, 2, lambda a, b: a + b)
        yield whole(f"sub.{t} {two}", t, 2, lambda a, b: a - b)
        yield whole(f"mul.lo.{t} {two}", t, 2, lambda a, b: a * b)
        yield whole(f"mul.hi.{t} {two}", t, 2, lambda a, b, size=size: a * b >> size)
        yield whole(f"mad.lo.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, 3, lambda a, b, c: a * b + c)
        yield whole(f"mad.hi.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, 3, lambda a, b, c, size=size: (a * b >> size) + c)
        yield whole(f"sad.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, 3, lambda a, b, c: abs(a - b) + c)
        yield whole(f"div.{t} {two}", t, 2, quotient)
        yield whole(f"rem.{t} {two}", t, 2, lambda a, b: a - b * quotient(a, b))
        yield whole(f"min.{t} {two}", t, 2, min)
        yield whole(f"max.{t} {two}", t, 2, max)
        if t[0] == "s":
            yield whole(f"abs.{t} {{d}}, {{a}};", t, 1, abs)
            yield whole(f"neg.{t} {{d}}, {{a}};", t, 1, lambda a: -a)
        if size < 64:
            double = f"{t[0]}{2 * size}"
            yield whole(f"mul.wide.{t} {two}", t, 2, lambda a, b: a * b, double)
            yield row(
                f"mad.wide.{t} {{d}}, {{a}}, {{b}}, {{c}};",
                f"{t} {t} {double}",
                double,
                lambda a, b, c, t=t, double=double: bits(number(a, t) * number(b, t) + c, double),
            )
    yield whole("add.sat.s32 {d}, {a}, {b};", "s32", 2, lambda a, b: clamp(a + b, "s32"))
    yield whole("sub.sat.s32 {d}, {a}, {b};", "s32", 2, lambda a, b: clamp(a - b, "s32"))
    yield whole("mad.hi.sat.s32 {d}, {a}, {b}, {c};", "s32", 3, lambda a, b, c: clamp((a * b >> 32) + c, "s32"))
    for t in ("u16x2", "s16x2"):
        half = t[:3]
        for name, apply in (("add", lambda a, b: a + b), ("min", min), ("max", max)):

            def one(a: int, b: int, half: str = half, apply: Callable[[int, int], int] = apply) -> int:
                return bits(apply(number(a, half), number(b, half)), half)

            yield row(f"{name}.{t} {{d}}, {{a}}, {{b}};", f"{t} {t}", t, pairs(t, one))


def of_24_bits() -> Iterator[Row]:
    for t in ("u32", "s32"):

        def product(a: int, b: int, t: str = t) -> int:
            a, b = (signed(value, 24) if t == "s32" else value & 0xFFFFFF for value in (a, b))
            return a * b

        for part, shift in (("lo", 0), ("hi", 16)):
            yield whole(
                f"mul24.{part}.{t} {{d}}, {{a}}, {{b}};", t, 2, lambda a, b, p=product, shift=shift: p(a, b) >> shift
            )
            yield whole(
                f"mad24.{part}.{t} {{d}}, {{a}}, {{b}}, {{c}};",
                t,
                3,
                lambda a, b, c, p=product, shift=shift: (p(a, b) >> shift) + c,
            )


def dots() -> Iterator[Row]:
    def parts(value: int, size: int, sign: bool) -> list[int]:
        found = [value >> at & (1 << size) - 1 for at in range(0, 32, size)]
        return [signed(part, size) for part in found] if sign else found

    for left in ("u32", "s32"):
        for right in ("u32", "s32"):
            signs = left == "s32", right == "s32"

            def four(a: int, b: int, c: int, signs: tuple[bool, bool] = signs) -> int:
                pairs_ = zip(parts(a, 8, signs[0]), parts(b, 8, signs[1]), strict=True)
                return bits(c + sum(x * y for x, y in pairs_), "u32")

            yield row(f"dp4a.{left}.{right} {{d}}, {{a}}, {{b}}, {{c}};", "b32 b32 b32", "b32", four)
            for half, at in (("lo", 0), ("hi", 2)):

                def two(a: int, b: int, c: int, signs: tuple[bool, bool] = signs, at: int = at) -> int:
                    pairs_ = zip(parts(a, 16, signs[0]), parts(b, 8, signs[1])[at : at + 2], strict=True)
                    return bits(c + sum(x * y for x, y in pairs_), "u32")

                yield row(f"dp2a.{half}.{left}.{right} {{d}}, {{a}}, {{b}}, {{c}};", "b32 b32 b32", "b32", two)


def carries() -> Iterator[Row]:
    """The second instruction of each takes the flag of the first."""
    for t in WIDE:
        size = int(t[1:])

        def carried(a: int, b: int, c: int, size: int = size, t: str = t) -> int:
            return bits(a + c + (a + b >> size), t)

        def borrowed(a: int, b: int, c: int, t: str = t) -> int:
            return bits(a - c - (a < b), t)

        three = f"{t} {t} {t}"
        yield row(f"add.cc.{t} {{d}}, {{a}}, {{b}}; addc.{t} {{d}}, {{a}}, {{c}};", three, t, carried)
        yield row(f"sub.cc.{t} {{d}}, {{a}}, {{b}}; subc.{t} {{d}}, {{a}}, {{c}};", three, t, borrowed)
        yield row(
            f"add.cc.{t} {{d}}, {{a}}, {{b}}; addc.cc.{t} {{d}}, {{b}}, {{c}}; addc.{t} {{d}}, 0, 0;",
            three,
            t,
            lambda a, b, c, size=size: b + c + (a + b >> size) >> size,
        )
        yield row(
            f"sub.cc.{t} {{d}}, {{a}}, {{b}}; subc.cc.{t} {{d}}, {{b}}, {{c}}; subc.{t} {{d}}, 0, 0;",
            three,
            t,
            lambda a, b, c, t=t: bits(-(b - c - (a < b) < 0), t),
        )
        for part, shift in (("lo", 0), ("hi", size)):

            def high(a: int, b: int, c: int, t: str = t, size: int = size, shift: int = shift) -> int:
                first = bits(number(a, t) * number(b, t) >> shift, t)
                return bits(first + a + (first + c >> size), t)

            yield row(
                f"mad.{part}.cc.{t} {{d}}, {{a}}, {{b}}, {{c}}; madc.{part}.{t} {{d}}, {{a}}, {{b}}, {{a}};",
                three,
                t,
                high,
            )


def mask(count: int) -> int:
    return (1 << count) - 1


def field_of(a: int, b: int, c: int, t: str) -> int:
    last = int(t[1:]) - 1
    position, length = b & 255, c & 255
    sign = a >> min(position + length - 1, last) & 1 if t[0] == "s" and length else 0
    return sum((a >> position + i & 1 if i < length and position + i <= last else sign) << i for i in range(last + 1))


def field_into(a: int, b: int, c: int, d: int, size: int) -> int:
    position, length = c & 255, d & 255
    for i in range(length):
        if position + i < size:
            b = b & ~(1 << position + i) | (a >> i & 1) << position + i
    return b


def highest(a: int, t: str, amount: bool) -> int:
    size = int(t[1:])
    if t[0] == "s" and a >> size - 1:
        a ^= mask(size)
    if not a:
        return mask(32)
    return size - a.bit_length() if amount else a.bit_length() - 1


def permuted(a: int, b: int, c: int) -> int:
    source, found = (a | b << 32).to_bytes(8, "little"), 0
    for index in range(4):
        which = c >> 4 * index & 15
        byte = source[which & 7]
        found |= (byte if which < 8 else (255 if byte & 128 else 0)) << 8 * index
    return found


# By the value of the two bits, which byte each byte of the result is, the last first; as in the PTX ISA's table.
_PERMUTATIONS = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def permuted_by(mode: str) -> Callable[[int, int, int], int]:
    return lambda a, b, c: permuted(a, b, int(_PERMUTATIONS[mode][c & 3], 16))


def nth_set(value: int, base: int, offset: int) -> int:
    base, offset = base & 31, signed(offset, 32)
    if offset == 0:
        return base if value >> base & 1 else mask(32)
    positions = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [position for position in positions if value >> position & 1]
    return found[abs(offset) - 1] if abs(offset) <= len(found) else mask(32)


def cut(mode: str, value: int, width: int, sign: bool) -> int:
    if mode == "clamp" and width >= 32:
        return value
    width &= 31
    if width == 0:
        return 0
    return bits(signed(value, width), "u32") if sign else value & mask(width)


def masked(mode: str, position: int, width: int) -> int:
    if mode == "wrap":
        position, width = position & 31, width & 31
    return bits(mask(min(width, 32)) << min(position, 32), "u32")


def funnel(side: str, mode: str) -> Callable[[int, int, int], int]:
    def apply(a: int, b: int, c: int) -> int:
        amount = c & 31 if mode == "wrap" else min(c, 32)
        both = a | b << 32
        return bits(both >> amount if side == "r" else both << amount >> 32, "u32")

    return apply


def logic() -> Iterator[Row]:
    two, three, four = "{d}, {a}, {b};", "{d}, {a}, {b}, {c};", "{d}, {a}, {b}, {c}, {e};"
    for t in ("b16", "b32", "b64", "pred"):
        for name, apply in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
            yield row(f"{name}.{t} {two}", f"{t} {t}", t, apply)
        yield row(f"not.{t} {{d}}, {{a}};", t, t, lambda a, t=t: bits(~a, t))
    for t in ("b16", "b32", "b64"):
        size = int(t[1:])
        yield row(f"cnot.{t} {{d}}, {{a}};", t, t, lambda a: int(a == 0))
        yield row(f"shl.{t} {two}", f"{t} u32", t, lambda a, b, t=t: bits(a << min(b, 64), t))
        for s in (f"u{size}", f"s{size}", t):
            yield row(f"shr.{s} {two}", f"{s} u32", t, lambda a, b, s=s: bits(number(a, s) >> min(b, 64), s))
    for t in ("b32", "b64"):
        size = int(t[1:])
        yield row(f"popc.{t} {{d}}, {{a}};", t, "u32", int.bit_count)
        yield row(f"clz.{t} {{d}}, {{a}};", t, "u32", lambda a, size=size: size - a.bit_length())
        yield row(f"brev.{t} {{d}}, {{a}};", t, t, lambda a, size=size: int(f"{a:0{size}b}"[::-1], 2))
        yield row(f"bfi.{t} {four}", f"{t} {t} u32 u32", t, lambda a, b, c, d, size=size: field_into(a, b, c, d, size))
    for t in WIDE:
        yield row(f"bfind.{t} {{d}}, {{a}};", t, "u32", lambda a, t=t: highest(a, t, False))
        yield row(f"bfind.shiftamt.{t} {{d}}, {{a}};", t, "u32", lambda a, t=t: highest(a, t, True))
        yield row(f"bfe.{t} {three}", f"{t} u32 u32", t, lambda a, b, c, t=t: field_of(a, b, c, t))
    for mode in ("clamp", "wrap"):
        for side in "lr":
            yield row(f"shf.{side}.{mode}.b32 {three}", "b32 b32 u32", "b32", funnel(side, mode))
        yield row(f"bmsk.{mode}.b32 {two}", "u32 u32", "b32", lambda a, b, mode=mode: masked(mode, a, b))
        for t in ("u32", "s32"):
            yield row(
                f"szext.{mode}.{t} {two}", f"{t} u32", t, lambda a, b, mode=mode, t=t: cut(mode, a, b, t == "s32")
            )
    for table in (0x00, 0xFF, 0x96, 0xE8, 0xCA, 0x1B, 0x80):

        def looked_up(a: int, b: int, c: int, table: int = table) -> int:
            return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))

        yield row(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table:#x};", "b32 b32 b32", "b32", looked_up)
    yield row(f"prmt.b32 {three}", "b32 b32 b32", "b32", permuted)
    for mode in _PERMUTATIONS:
        yield row(f"prmt.b32.{mode} {three}", "b32 b32 b32", "b32", permuted_by(mode))
    yield row("and.b32 {b}, {b}, 31; fns.b32 {d}, {a}, {b}, {c};", "b32 u32 s32", "b32", nth_set)


ROWS = {
    "arithmetic": [*arithmetic(), *of_24_bits(), *dots()],
    "carries": list(carries()),
    "bits": list(logic()),
}


@pytest.fixture(scope="module", params=ROWS)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(ROWS[request.param])


def test_edge_values(bench: Bench) -> None:
    bench.check()


@given(values=any_operands)
@quick
def test_any_values(bench: Bench, values: list[tuple[int, ...]]) -> None:
    bench.check(values)
