"""Floating-point instructions against fractions that are rounded once; approximate ones within the PTX ISA's bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from shoal.cuda.soft.ptx.tree import PtxError
from tests.unit.cuda.soft.instructions import Bench, Result, Row, any_operands, pairs, quick, row
from tests.unit.cuda.soft.reference import F32, F64, FORMATS, NAN, Exact, add, divide, multiply, root
from tests.unit.cuda.soft.running import HEADER, compiled

DIRECTIONS = ("rn", "rz", "rm", "rp")
TWO, THREE = "{d}, {a}, {b};", "{d}, {a}, {b}, {c};"


def minus(value: Exact) -> Exact:
    return -value


def in_full(type_: str, direction: str, apply: Callable[..., Exact], flush: bool = False) -> Callable[..., int | str]:
    """From bits to bits: exact, then rounded once."""
    shape = FORMATS[type_]

    def reference(*values: int) -> int | str:
        given_ = [shape.flushed(value) if flush else value for value in values]
        found = shape.round(apply(*(shape.value(int(value)) for value in given_)), direction)
        return shape.flushed(found) if flush else found

    return reference


def saturated(type_: str, apply: Callable[..., int | str]) -> Callable[..., int | str]:
    shape = FORMATS[type_]
    one = shape.bias << shape.mantissa

    def reference(*values: int) -> int | str:
        found = apply(*values)
        if not isinstance(found, int) or found & shape.sign:
            return 0
        return min(found, one)

    return reference


def relu(type_: str, apply: Callable[..., int | str]) -> Callable[..., int | str]:
    shape = FORMATS[type_]

    def reference(*values: int) -> int | str:
        found = apply(*values)
        return 0 if isinstance(found, int) and found & shape.sign else found

    return reference


OPERATIONS: dict[str, Callable[..., Exact]] = {
    "add": add,
    "sub": lambda a, b, direction="rn": add(a, minus(b), direction),
    "mul": lambda a, b, direction="rn": multiply(a, b),
    "fma": lambda a, b, c, direction="rn": add(multiply(a, b), c, direction),
}


def arithmetic() -> Iterator[Row]:
    for name, exact in OPERATIONS.items():
        text, count = (THREE, 3) if name == "fma" else (TWO, 2)
        for t in ("f32", "f64", "f16", "bf16"):
            types = " ".join([t] * count)
            for direction in DIRECTIONS if t == "f32" else ("rn",):

                def towards(*values: Exact, exact: Callable[..., Exact] = exact, direction: str = direction) -> Exact:
                    return exact(*values, direction=direction)

                plain = in_full(t, direction, towards)
                yield row(f"{name}.{direction}.{t} {text}", types, t, plain)
                if t in ("f32", "f16"):
                    flushed = in_full(t, direction, towards, flush=True)
                    yield row(f"{name}.{direction}.ftz.{t} {text}", types, t, flushed)
                    yield row(f"{name}.{direction}.ftz.sat.{t} {text}", types, t, saturated(t, flushed))
                    yield row(f"{name}.{direction}.sat.{t} {text}", types, t, saturated(t, plain))
                if t in ("f16", "bf16"):
                    packed = f"{t}x2"
                    yield row(
                        f"{name}.{direction}.{packed} {text}", types.replace(t, packed), packed, pairs(packed, plain)
                    )
                    if name == "fma":
                        yield row(f"fma.rn.relu.{t} {text}", types, t, relu(t, plain))
    yield row(f"add.f32 {TWO}", "f32 f32", "f32", in_full("f32", "rn", add))
    yield row(f"mad.rn.f32 {THREE}", "f32 f32 f32", "f32", in_full("f32", "rn", OPERATIONS["fma"]))


def quotients() -> Iterator[Row]:
    for direction in DIRECTIONS:
        for flush in ("", ".ftz"):

            def reciprocal(a: Exact) -> Exact:
                return divide(Fraction(1), a)

            def square_root(a: int, direction: str = direction, flush: str = flush) -> int | str:
                given_ = F32.flushed(a) if flush else a
                return root(F32.value(int(given_)), F32, direction)

            end = f"{direction}{flush}.f32"
            yield row(f"div.{end} {TWO}", "f32 f32", "f32", in_full("f32", direction, divide, flush=bool(flush)))
            yield row(
                f"rcp.{end} {{d}}, {{a}};", "f32", "f32", in_full("f32", direction, reciprocal, flush=bool(flush))
            )
            yield row(f"sqrt.{end} {{d}}, {{a}};", "f32", "f32", square_root)
    yield row(f"div.rn.f64 {TWO}", "f64 f64", "f64", in_full("f64", "rn", divide))
    yield row("rcp.rn.f64 {d}, {a};", "f64", "f64", in_full("f64", "rn", lambda a: divide(Fraction(1), a)))
    yield row("sqrt.rn.f64 {d}, {a};", "f64", "f64", lambda a: root(F64.value(a), F64, "rn"))


def extreme(name: str, type_: str, nan: bool) -> Callable[[int, int], int | str]:
    shape = FORMATS[type_]

    def apply(a: int, b: int) -> int | str:
        none = [pattern & shape.sign - 1 > shape.infinity for pattern in (a, b)]
        if all(none) or (nan and any(none)):
            return NAN
        if any(none):
            return b if none[0] else a

        def order(pattern: int) -> int:  # of the bits, so that -0 is less than +0
            return -(pattern & shape.sign - 1) - 1 if pattern & shape.sign else pattern

        return (max if name == "max" else min)(a, b, key=order)

    return apply


def classified(test: str, type_: str) -> Callable[[int], int]:
    shape = FORMATS[type_]

    def apply(a: int) -> int:
        a &= shape.sign - 1
        return int(
            {
                "finite": a < shape.infinity,
                "infinite": a == shape.infinity,
                "number": a <= shape.infinity,
                "notanumber": a > shape.infinity,
                "normal": 1 << shape.mantissa <= a < shape.infinity,
                "subnormal": 0 < a < 1 << shape.mantissa,
            }[test]
        )

    return apply


def signs() -> Iterator[Row]:
    for t in ("f32", "f64", "f16", "bf16"):
        sign = FORMATS[t].sign
        yield row(f"neg.{t} {{d}}, {{a}};", t, t, lambda a, sign=sign: a ^ sign)
        yield row(f"abs.{t} {{d}}, {{a}};", t, t, lambda a, sign=sign: a & ~sign)
        for name in ("min", "max"):
            yield row(f"{name}.{t} {TWO}", f"{t} {t}", t, extreme(name, t, nan=False))
            if t != "f64":
                yield row(f"{name}.NaN.{t} {TWO}", f"{t} {t}", t, extreme(name, t, nan=True))
            if t in ("f16", "bf16"):
                packed = f"{t}x2"
                yield row(
                    f"{name}.{packed} {TWO}", f"{packed} {packed}", packed, pairs(packed, extreme(name, t, nan=False))
                )
    for t in ("f32", "f64"):
        sign = FORMATS[t].sign
        yield row(f"copysign.{t} {TWO}", f"{t} {t}", t, lambda a, b, sign=sign: a & sign | b & ~sign)
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield row(f"testp.{test}.{t} {{d}}, {{a}};", t, "pred", classified(test, t))
    yield row("neg.ftz.f32 {d}, {a};", "f32", "f32", lambda a: int(F32.flushed(a)) ^ F32.sign)
    yield row("abs.ftz.f32 {d}, {a};", "f32", "f32", lambda a: int(F32.flushed(a)) & ~F32.sign)
    yield row(f"min.ftz.f32 {TWO}", "f32 f32", "f32", lambda a, b: _flushed_extreme("min", a, b))


def _flushed_extreme(name: str, a: int, b: int) -> int | str:
    return extreme(name, "f32", nan=False)(int(F32.flushed(a)), int(F32.flushed(b)))


def near(type_: str, exact: Callable[..., float], relative: float, absolute: float = 0.0) -> Callable[..., Result]:
    """All numbers within a bound of what 64 bits give; where that is no number or infinite, exactly it."""
    shape = FORMATS[type_]

    def apply(*values: int) -> Result:
        found = exact(*(_number(shape.value(value)) for value in values))
        if math.isnan(found):
            return NAN
        if math.isinf(found):
            return shape.round(found)
        bound = max(abs(found) * relative, absolute)
        low, high = (shape.round(value) for value in (found - bound, found + bound))
        assert isinstance(low, int)
        assert isinstance(high, int)
        return _Between(shape.value(low), shape.value(high), type_)

    return apply


class _Between(set[int]):
    def __init__(self, low: Exact, high: Exact, type_: str) -> None:
        super().__init__()
        self.low, self.high, self.shape = low, high, FORMATS[type_]

    def __contains__(self, pattern: object) -> bool:
        assert isinstance(pattern, int)
        return self.low <= self.shape.value(pattern) <= self.high


def _number(value: Exact) -> float:
    return float(value)


def _by_numpy(name: str) -> Callable[[float], float]:
    def apply(value: float) -> float:
        with np.errstate(all="ignore"):
            return float(getattr(np, name)(np.float64(value)))

    return apply


def approximations() -> Iterator[Row]:
    inverse, inverse_root = (lambda a: _divided(1.0, a)), (lambda a: _divided(1.0, float(_by_numpy("sqrt")(a))))
    for name, exact, relative, absolute in (
        ("rcp", inverse, 2**-23, 2**-149),
        ("sqrt", _by_numpy("sqrt"), 2**-23, 0),
        ("rsqrt", inverse_root, 2**-22.4, 0),
        ("lg2", _by_numpy("log2"), 2**-22.6, 2**-22),
        ("ex2", _by_numpy("exp2"), 2**-22.5, 2**-149),
        ("tanh", _by_numpy("tanh"), 2**-11, 2**-149),
        ("sin", _by_numpy("sin"), 0, 2**-20.5),
        ("cos", _by_numpy("cos"), 0, 2**-20.5),
    ):
        yield row(f"{name}.approx.f32 {{d}}, {{a}};", "f32", "f32", near("f32", exact, relative, absolute))
    yield row(f"div.approx.f32 {TWO}", "f32 f32", "f32", near("f32", _divided, 2**-22, 2**-149))
    yield row(f"div.full.f32 {TWO}", "f32 f32", "f32", near("f32", _divided, 2**-22, 2**-149))
    yield row("rsqrt.approx.f64 {d}, {a};", "f64", "f64", near("f64", inverse_root, 2**-21))
    for t, relative in (("f16", 2**-9.9), ("bf16", 2**-7)):
        ftz = ".ftz" if t == "bf16" else ""
        yield row(f"ex2.approx{ftz}.{t} {{d}}, {{a}};", t, t, near(t, _by_numpy("exp2"), relative, 2.0**-24))
        yield row(f"tanh.approx.{t} {{d}}, {{a}};", t, t, near(t, _by_numpy("tanh"), 2**-8, 2.0**-24))


def _divided(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


ROWS = {
    "arithmetic": list(arithmetic()),
    "quotients": list(quotients()),
    "signs": list(signs()),
    "approximations": list(approximations()),
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


def test_the_coarse_reciprocal_of_64_bits_has_20_bits() -> None:
    def coarse(a: int) -> Result:
        if not a & F64.infinity:
            return (a & F64.sign) | F64.infinity
        exact = divide(Fraction(1), F64.value(a))
        found = F64.round(exact)
        if not isinstance(found, int):
            return found
        return F64.flushed(found) if not found & F64.infinity else found & ~0xFFFFFFFF

    Bench([row("rcp.approx.ftz.f64 {d}, {a};", "f64", "f64", coarse)]).check()


@pytest.mark.parametrize(
    "instruction",
    [
        "add.rz.f64 %d1, %d1, %d1;",
        "fma.rm.f64 %d1, %d1, %d1, %d1;",
        "mul.rp.f16 %h1, %h1, %h1;",
        "div.rz.f64 %d1, %d1, %d1;",
        "min.xorsign.abs.f32 %r1, %r1, %r1;",
        "sin.approx.f64 %d1, %d1;",
        "cvt.rn.tf32.f32 %r1, %r1;",
        "cvt.rp.f16.f32 %h1, %r1;",
        "mad.wide.cc.u32 %d1, %r1, %r1, %d1;",
        "add.sat.u32 %r1, %r1, %r1;",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1}, [%d1];",
    ],
)
def test_what_would_be_rounded_wrongly_or_is_not_known_is_refused(instruction: str) -> None:
    text = f"{HEADER}.entry k() {{ .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .b64 %d<2>;\n{instruction}\n}}"
    with pytest.raises(PtxError, match=r"^PTX line 5: " + instruction.partition(" ")[0].replace(".", r"\.")):
        compiled(text)
