"""Comparison, selection, moves and conversions, against whole numbers and fractions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from hypothesis import given

from shoal.cuda.soft.ptx.types import TYPES
from tests.unit.cuda.soft.instructions import Bench, Result, Row, any_operands, bits, number, quick, row
from tests.unit.cuda.soft.reference import F16, F32, FORMATS, Exact

INTEGERS = tuple(f"{kind}{size}" for kind in "us" for size in (8, 16, 32, 64))
FLOATS = ("f16", "bf16", "f32", "f64")
TESTS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
UNSIGNED = {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}


def value(pattern: int, type_: str) -> Exact:
    return FORMATS[type_].value(pattern) if type_ in FORMATS else Fraction(number(pattern, type_))


def holds(test: str, type_: str) -> Callable[[int, int], bool]:
    def apply(a: int, b: int) -> bool:
        left, right = value(a, type_), value(b, type_)
        none = left != left or right != right
        if test in ("num", "nan"):
            return none == (test == "nan")
        if test in UNSIGNED:
            return bool(UNSIGNED[test](a, b))
        if type_ in FORMATS and none:
            return test.endswith("u")
        return bool(TESTS[test[:2]](left, right))

    return apply


def comparisons() -> Iterator[Row]:
    for t in ("b16", "b32", "b64", *INTEGERS[1:4], *INTEGERS[5:], *FLOATS):
        tests = [*TESTS] if t[0] != "b" or t in FORMATS else ["eq", "ne"]
        if t in FORMATS:
            tests += [*(f"{test}u" for test in TESTS), "num", "nan"]
        elif t[0] == "u":
            tests += UNSIGNED
        for test in tests:
            apply = holds(test, t)
            yield row(f"setp.{test}.{t} {{d}}, {{a}}, {{b}};", f"{t} {t}", "pred", lambda a, b, f=apply: int(f(a, b)))
    for t in ("s32", "f32"):
        found = holds("lt", t)
        for how, join in (("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)):
            yield row(
                f"setp.lt.{how}.{t} {{d}}, {{a}}, {{b}}, {{c}};",
                f"{t} {t} pred",
                "pred",
                lambda a, b, c, f=found, join=join: int(join(f(a, b), bool(c))),
            )
            yield row(
                f"{{{{ .reg .pred %q; setp.lt.{how}.{t} %q|{{d}}, {{a}}, {{b}}, !{{c}}; }}}}",
                f"{t} {t} pred",
                "pred",
                lambda a, b, c, f=found, join=join: int(join(not f(a, b), not c)),
            )
            yield row(
                f"set.lt.{how}.u32.{t} {{d}}, {{a}}, {{b}}, {{c}};",
                f"{t} {t} pred",
                "u32",
                lambda a, b, c, f=found, join=join: bits(-int(join(f(a, b), bool(c))), "u32"),
            )
        yield row(
            f"set.lt.f32.{t} {{d}}, {{a}}, {{b}};",
            f"{t} {t}",
            "f32",
            lambda a, b, f=found: 0x3F800000 if f(a, b) else 0,
        )
    flushed = holds("lt", "f32")
    yield row(
        "setp.lt.ftz.f32 {d}, {a}, {b};",
        "f32 f32",
        "pred",
        lambda a, b: int(flushed(int(F32.flushed(a)), int(F32.flushed(b)))),
    )
    half = holds("le", "f16")
    yield row(
        "{{ .reg .pred %p, %q; setp.le.f16x2 %p|%q, {a}, {b}; selp.b32 {d}, 1, 0, %p; @%q add.u32 {d}, {d}, 2; }}",
        "f16x2 f16x2",
        "u32",
        lambda a, b: half(a & 0xFFFF, b & 0xFFFF) + 2 * half(a >> 16, b >> 16),
    )


def selections() -> Iterator[Row]:
    for t in ("b16", "b32", "b64", "f32", "f64"):
        yield row(f"selp.{t} {{d}}, {{a}}, {{b}}, {{c}};", f"{t} {t} pred", t, lambda a, b, c: a if c else b)
        yield row(f"slct.{t}.s32 {{d}}, {{a}}, {{b}}, {{c}};", f"{t} {t} s32", t, lambda a, b, c: b if c >> 31 else a)
        yield row(
            f"slct.{t}.f32 {{d}}, {{a}}, {{b}}, {{c}};",
            f"{t} {t} f32",
            t,
            lambda a, b, c: a if F32.value(c) >= 0 else b,  # type: ignore[operator]
        )
        yield row(f"mov.{t} {{d}}, {{a}};", t, t, lambda a: a)
        yield row(
            f"@{{c}} mov.{t} {{a}}, {{b}}; mov.{t} {{d}}, {{a}};", f"{t} {t} pred", t, lambda a, b, c: b if c else a
        )
        yield row(
            f"@!{{c}} mov.{t} {{a}}, {{b}}; mov.{t} {{d}}, {{a}};", f"{t} {t} pred", t, lambda a, b, c: a if c else b
        )
    yield row(
        "mov.b64 {d}, {{{a}, {b}}};",
        "b32 b32",
        "b64",
        lambda a, b: a | b << 32,
    )
    yield row("mov.b32 {d}, {{{a}, {b}}};", "b16 b16", "b32", lambda a, b: a | b << 16)
    yield row("{{ .reg .b32 %lo; mov.b64 {{%lo, {d}}}, {a}; }}", "b64", "b32", lambda a: a >> 32)
    yield row("{{ .reg .b32 %hi; mov.b64 {{{d}, _}}, {a}; }}", "b64", "b32", lambda a: a & 0xFFFFFFFF)
    yield row(
        "{{ .reg .b16 %q<4>; mov.b64 {{%q0, %q1, %q2, %q3}}, {a}; mov.b64 {d}, {{%q3, %q2, %q1, %q0}}; }}",
        "b64",
        "b64",
        lambda a: sum((a >> 16 * i & 0xFFFF) << 48 - 16 * i for i in range(4)),
    )


def clamp(found: int, type_: str) -> int:
    size = int(type_[1:])
    least, most = (-(1 << size - 1), (1 << size - 1) - 1) if type_[0] == "s" else (0, (1 << size) - 1)
    return min(max(found, least), most)


def whole(how: str, found: Exact) -> int:
    return {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[how](Fraction(found))


def to_integer(how: str, to: str, of: str, flush: bool = False) -> Callable[[int], int]:
    def apply(a: int) -> int:
        found = FORMATS[of].value(int(FORMATS[of].flushed(a)) if flush else a)
        if found != found:
            return 0
        if found in (math.inf, -math.inf):
            return bits(clamp(1 << 200 if found > 0 else -(1 << 200), to), to)
        return bits(clamp(whole(how, found), to), to)

    return apply


def register_of(type_: str) -> str:
    """Registers have 16 bits or more: a narrower result is widened, by its sign if it has one."""
    return type_ if TYPES[type_].bits >= 16 else f"{type_[0]}16"


def widened(apply: Callable[[int], int], to: str) -> Callable[[int], int]:
    return lambda a: bits(number(apply(a), to), register_of(to))


def to_whole(how: str, type_: str) -> Callable[[int], int | str]:
    def apply(a: int) -> int | str:
        found = FORMATS[type_].value(a)
        if isinstance(found, float):
            return FORMATS[type_].round(found)
        result = Fraction(whole(how, found))
        return FORMATS[type_].round(result) or (a & FORMATS[type_].sign)

    return apply


def conversions() -> Iterator[Row]:
    for of in INTEGERS:
        for to in INTEGERS:
            plain = widened(lambda a, of=of, to=to: bits(number(a, of), to), to)
            yield row(f"cvt.{to}.{of} {{d}}, {{a}};", of, register_of(to), plain)
            bounded = widened(lambda a, of=of, to=to: bits(clamp(number(a, of), to), to), to)
            yield row(f"cvt.sat.{to}.{of} {{d}}, {{a}};", of, register_of(to), bounded)
        for to in FLOATS:
            for direction in ("rn", "rz", "rm", "rp") if to == "f32" else ("rn", "rz") if to != "f64" else ("rn",):
                yield row(
                    f"cvt.{direction}.{to}.{of} {{d}}, {{a}};",
                    of,
                    to,
                    lambda a, of=of, to=to, direction=direction: FORMATS[to].round(
                        Fraction(number(a, of)) or 0.0, direction
                    ),
                )
    for of in FLOATS:
        for to in INTEGERS:
            for how in ("rni", "rzi", "rmi", "rpi"):
                apply = widened(to_integer(how, to, of), to)
                yield row(f"cvt.{how}.{to}.{of} {{d}}, {{a}};", of, register_of(to), apply)
        for how in ("rni", "rzi", "rmi", "rpi"):
            yield row(f"cvt.{how}.{of}.{of} {{d}}, {{a}};", of, of, to_whole(how, of))
        for to in FLOATS:
            if to == of:
                continue
            wider = TYPES[to].bits > TYPES[of].bits
            for direction in ("",) if wider else ("rn", "rz", "rm", "rp") if to == "f32" else ("rn", "rz"):
                yield row(
                    f"cvt{'.' * bool(direction)}{direction}.{to}.{of} {{d}}, {{a}};",
                    of,
                    to,
                    lambda a, of=of, to=to, direction=direction: FORMATS[to].round(
                        FORMATS[of].value(a), direction or "rn"
                    ),
                )
    yield row("cvt.rzi.ftz.s32.f32 {d}, {a};", "f32", "s32", to_integer("rzi", "s32", "f32", flush=True))
    yield row("cvt.rpi.ftz.s32.f32 {d}, {a};", "f32", "s32", to_integer("rpi", "s32", "f32", flush=True))
    yield row("cvt.sat.f32.f32 {d}, {a};", "f32", "f32", lambda a: _saturated(a, "f32", "f32"))
    yield row("cvt.rn.sat.f16.f32 {d}, {a};", "f32", "f16", lambda a: _saturated(a, "f32", "f16"))
    yield row("cvt.rn.sat.f32.f64 {d}, {a};", "f64", "f32", lambda a: _saturated(a, "f64", "f32"))
    yield row("cvt.rn.relu.f16.f32 {d}, {a};", "f32", "f16", _relu)
    for half in ("f16", "bf16"):
        yield row(
            f"cvt.rn.{half}x2.f32 {{d}}, {{a}}, {{b}};",
            "f32 f32",
            f"{half}x2",
            lambda a, b, half=half: _packed(a, b, half),
        )


def _saturated(a: int, of: str, to: str) -> int:
    found = FORMATS[of].value(a)
    if found != found or found <= 0:
        return 0
    return int(FORMATS[to].round(min(found, Fraction(1))))


def _relu(a: int) -> int | str:
    found = F32.value(a)
    return 0 if found < 0 or (found == 0 and math.copysign(1, found) < 0) else F16.round(found)


def _packed(a: int, b: int, half: str) -> Result:
    high, low = (FORMATS[half].round(F32.value(part)) for part in (a, b))
    if not isinstance(high, int) or not isinstance(low, int):
        return "NaN"
    return high << 16 | low


CONVERSIONS = list(conversions())
ROWS = {
    "comparisons": list(comparisons()),
    "selections": list(selections()),
    "conversions-1": CONVERSIONS[::2],
    "conversions-2": CONVERSIONS[1::2],
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
