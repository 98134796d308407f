"""Roundings that processors have no instruction for.

What is exact or inexact in 64 bits is first *rounded to odd*: towards zero, with the last bit set where something was
cut off. A number of at most 51 bits that is then rounded from it, in whatever direction, is as if it had been rounded
from the exact value once (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
"""

from __future__ import annotations

from shoal.cuda.soft.compile.emitter import F16, F32, F64, I16, I32, I64, Emitter, Llvm

DIRECTIONS = ("rn", "rz", "rm", "rp")


def odd_sum(e: Emitter, left: Llvm, right: Llvm) -> Llvm:
    """left + right in 64 bits, rounded to odd. Numbers are far from the ends of the range of 64 bits."""
    b = e.builder
    total = b.fadd(left, right)
    other = b.fsub(total, left)
    rest = b.fadd(b.fsub(left, b.fsub(total, other)), b.fsub(right, other))
    return odd(e, total, rest)


def odd(e: Emitter, value: Llvm, rest: Llvm) -> Llvm:
    """`value` is the nearest number, and the exact one is value + rest."""
    b = e.builder
    pattern = b.bitcast(value, I64)
    inexact = b.and_(b.fcmp_ordered("!=", rest, F64(0.0)), b.fcmp_ordered("==", b.fsub(value, value), F64(0.0)))
    even = b.icmp_unsigned("==", b.and_(pattern, I64(1)), I64(0))
    # The other neighbour of the exact number is the odd one: away from zero if the rest has the value's own sign.
    away = b.icmp_signed(">=", b.xor(pattern, b.bitcast(rest, I64)), I64(0))
    neighbour = b.select(away, b.add(pattern, I64(1)), b.sub(pattern, I64(1)))
    return b.bitcast(b.select(b.and_(inexact, even), neighbour, pattern), F64)


def to_f32(e: Emitter, value: Llvm, direction: str) -> Llvm:
    """From 64 bits to 32 in a direction."""
    b = e.builder
    near = b.fptrunc(value, F32)
    if direction == "rn":
        return near
    pattern, back = b.bitcast(near, I32), b.fpext(near, F64)
    above, below = b.fcmp_ordered(">", back, value), b.fcmp_ordered("<", back, value)
    positive = b.icmp_signed(">=", pattern, I32(0))
    zero = b.fcmp_ordered("==", near, F32(0.0))
    smaller, larger = b.sub(pattern, I32(1)), b.add(pattern, I32(1))
    down = b.select(zero, I32(0x80000001), b.select(positive, smaller, larger))
    up = b.select(zero, I32(1), b.select(positive, larger, smaller))
    if direction == "rm":
        pattern = b.select(above, down, pattern)
    elif direction == "rp":
        pattern = b.select(below, up, pattern)
    else:
        zero_wards = b.select(b.fcmp_ordered(">", value, F64(0.0)), above, below)
        pattern = b.select(zero_wards, smaller, pattern)
    return b.bitcast(pattern, F32)


def odd_f32(e: Emitter, value: Llvm) -> Llvm:
    """From 64 bits to 32, rounded to odd, on the way to 16."""
    b = e.builder
    cut = to_f32(e, value, "rz")
    pattern = b.bitcast(cut, I32)
    inexact = b.fcmp_ordered("!=", b.fpext(cut, F64), value)
    return b.bitcast(b.select(inexact, b.or_(pattern, I32(1)), pattern), F32)


def to_f16(e: Emitter, value: Llvm, direction: str = "rn") -> Llvm:
    """From 32 bits to the pattern of 16."""
    b = e.builder
    near = b.fptrunc(value, F16)
    pattern = b.bitcast(near, I16)
    if direction == "rn":
        return pattern
    back = b.fpext(near, F32)
    beyond = b.fcmp_ordered(">", _magnitude(e, back), _magnitude(e, value))
    if direction != "rz":
        raise e.error(f".{direction} is not supported for 16 bits")
    return b.select(beyond, b.sub(pattern, I16(1)), pattern)


def to_bf16(e: Emitter, value: Llvm, direction: str = "rn") -> Llvm:
    b = e.builder
    pattern = b.bitcast(value, I32)
    high = b.lshr(pattern, I32(16))
    if direction == "rz":
        kept = high
    elif direction == "rn":
        kept = b.lshr(b.add(b.add(pattern, I32(0x7FFF)), b.and_(high, I32(1))), I32(16))
    else:
        raise e.error(f".{direction} is not supported for 16 bits")
    return b.trunc(b.select(b.fcmp_unordered("uno", value, value), I32(0x7FFF), kept), I16)


def _magnitude(e: Emitter, value: Llvm) -> Llvm:
    return e.intrinsic("fabs", [value])
