"""Single instructions against references over whole numbers: many in one kernel, each for many operands.

A row is an instruction with its operands as `{a} {b} {c} {e}` and its result as `{d}`, the types of both, and a
function of the operands' bits that gives the result's: a number, `NAN`, or a set of what may come out.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

from shoal.cuda.soft.ptx.types import TYPES
from tests.unit.cuda.soft.reference import FORMATS, NAN
from tests.unit.cuda.soft.running import HEADER, Gpu, compiled

Result = int | str | set[int]
_OPERANDS = "abce"


@dataclass(frozen=True)
class Row:
    text: str
    types: tuple[str, ...]
    result: str
    reference: Callable[..., Result]

    def expected(self, operands: Sequence[int]) -> Result:
        bits = [value & (1 << TYPES[name].bits) - 1 for value, name in zip(operands, self.types, strict=False)]
        return self.reference(*bits)


def row(text: str, types: str, result: str, reference: Callable[..., Result]) -> Row:
    """`types` has spaces between them."""
    return Row(text, tuple(types.split()), result, reference)


def signed(value: int, bits: int) -> int:
    return (value & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def number(value: int, type_: str) -> int:
    """The whole number that the bits are in a type."""
    kind = TYPES[type_]
    return signed(value, kind.bits) if kind.signed else value


def bits(value: int, type_: str) -> int:
    return value & (1 << TYPES[type_].bits) - 1


def pairs(type_: str, apply: Callable[..., Result]) -> Callable[..., Result]:
    """A function over each half of packed values. None of them may be a NaN."""

    def both(*values: int) -> Result:
        low, high = (apply(*(value >> at & 0xFFFF for value in values)) for at in (0, 16))
        if low == NAN or high == NAN:
            return NAN
        assert isinstance(low, int)
        assert isinstance(high, int)
        return low | high << 16

    return both


def edges(type_: str) -> list[int]:
    kind = TYPES[type_]
    if kind.kind == "p":
        return [0, 1]
    if kind.floating and kind.lanes == 1:
        shape = FORMATS[type_]
        one = shape.bias << shape.mantissa
        half_more = one | 1 << shape.mantissa - 1
        some = [
            0,
            1,
            (1 << shape.mantissa) - 1,
            1 << shape.mantissa,
            one,
            one + 1,
            one - 1,
            half_more,
            shape.infinity - 1,
        ]
        some += [shape.infinity, one + (31 << shape.mantissa) & shape.infinity - 1, 3 << shape.mantissa]
        return [*some, *(value | shape.sign for value in some), shape.infinity | 1 << shape.mantissa - 1]
    most = (1 << kind.bits) - 1
    middle = 1 << kind.bits - 1
    return [0, 1, 2, 3, 7, 31, 32, 33, 255, most, most - 1, middle, middle - 1, middle + 1, most // 3, most // 5]


def operands(types: Sequence[str], count: int = 150) -> list[tuple[int, ...]]:
    """All combinations of edge values, or as many of them by chance, and any bits."""
    chance = random.Random(",".join(types))
    every = [edges(type_) for type_ in types]
    if np.prod([len(part) for part in every], dtype=float) <= count:
        found = list(itertools.product(*every))
    else:
        found = [tuple(chance.choice(part) for part in every) for _ in range(count)]
    found += [tuple(chance.getrandbits(TYPES[type_].bits) for type_ in types) for _ in range(64)]
    return found


quick = settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.generate))
"""Each example is hundreds of instructions: a failure names the first operands that are wrong, which is enough."""

any_operands = st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 4), min_size=16, max_size=16)
"""For tests with hypothesis: each row takes as many bits of each as its types have."""


class Bench:
    """A kernel with one instruction after another, each of which reads its own operands and writes its own results."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self.program = compiled(_kernel(self.rows))

    def check(self, given: Sequence[Sequence[int]] | None = None) -> None:
        """Over the given operands for each row, or over edge values and chance."""
        of_rows = [[*given] if given is not None else operands(row.types) for row in self.rows]
        lanes = -(-max(len(part) for part in of_rows) // 32) * 32
        values = np.zeros((len(self.rows), 4, lanes), np.uint64)
        for row, place, part in zip(self.rows, values, of_rows, strict=True):
            for lane, one in enumerate(part):
                for index, (value, type_) in enumerate(zip(one, row.types, strict=False)):
                    place[index, lane] = bits(value, type_)
        results = np.zeros((len(self.rows), lanes), np.uint64)
        gpu = Gpu(self.program, memory=values.nbytes + results.nbytes + (1 << 16))
        at, out = gpu.give(values), gpu.give(results)
        fault = gpu.launch("rows", 1, 32, at, out, np.uint64(8 * lanes))
        for start in range(32, lanes, 32):
            fault = fault or gpu.launch("rows", 1, 32, at + 8 * start, out + 8 * start, np.uint64(8 * lanes))
        assert fault is None, fault
        wrong = []
        for row, part, got in zip(self.rows, of_rows, gpu.take(out, results), strict=True):
            for one, value in zip(part, got.tolist(), strict=False):
                expected = row.expected(one)
                if not _agrees(value, expected, row.result):
                    shown = ", ".join(
                        f"{bits(operand, type_):#x}" for operand, type_ in zip(one, row.types, strict=False)
                    )
                    want = expected if not isinstance(expected, int) else f"{expected:#x}"
                    wrong.append(f"{row.text} of {shown}: {value:#x}, not {want}")
                    break
        assert not wrong, "\n".join(wrong)


def _agrees(value: int, expected: Result, type_: str) -> bool:
    if isinstance(expected, set):
        return value in expected
    if expected != NAN:
        return value == expected
    kind = TYPES[type_]
    halves = [value & 0xFFFF, value >> 16] if kind.lanes == 2 else [value]
    shape = FORMATS[type_.removesuffix("x2")]
    return any(half & shape.sign - 1 > shape.infinity for half in halves)


def _kernel(rows: Sequence[Row]) -> str:
    body = []
    for index, row in enumerate(rows):
        names = {"d": "%result"}
        lines = [f".reg .{_register(row.result)} %result;"]
        for place, type_ in enumerate(row.types):
            register = names[_OPERANDS[place]] = f"%operand{place}"
            lines.append(f".reg .{_register(type_)} {register};")
            where = f"[%from{place}]"
            lines.append(f"mad.lo.u64 %from{place}, %lanes, {4 * index + place}, %in;")
            if type_ == "pred":
                lines.append(f"ld.global.u32 %word, {where}; setp.ne.u32 {register}, %word, 0;")
            else:
                lines.append(f"ld.global.b{TYPES[type_].bits} {register}, {where};")
        lines.append(row.text.format(**names))
        if row.result == "pred":
            lines.append("selp.b32 %word, 1, 0, %result; cvt.u64.u32 %wide, %word;")
        elif TYPES[row.result].bits < 64:
            size = max(TYPES[row.result].bits, 16)
            lines.append(f"cvt.u64.u{size} %wide, %result;")
        else:
            lines.append("mov.b64 %wide, %result;")
        lines.append(f"mad.lo.u64 %to, %lanes, {index}, %out; st.global.u64 [%to], %wide;")
        body.append("{\n" + "\n".join(lines) + "\n}")
    return f"""{HEADER}.visible .entry rows(.param .u64 in, .param .u64 out, .param .u64 lanes) {{
        .reg .b64 %in, %out, %lanes, %lane, %to, %wide, %from<4>;
        .reg .b32 %word;
        ld.param.u64 %in, [in];
        ld.param.u64 %out, [out];
        ld.param.u64 %lanes, [lanes];
        mov.u32 %word, %tid.x;
        mul.wide.u32 %lane, %word, 8;
        add.u64 %in, %in, %lane;
        add.u64 %out, %out, %lane;
        {chr(10).join(body)}
        }}"""


def _register(type_: str) -> str:
    return "pred" if type_ == "pred" else f"b{max(TYPES[type_].bits, 16)}"
