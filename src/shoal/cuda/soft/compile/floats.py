"""Floating-point arithmetic. 16 bits are computed in 32, and what needs a direction of rounding in 64."""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile import rounding
from shoal.cuda.soft.compile.emitter import F16, F32, F64, I32, I64, Emitter, Llvm
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import Op
from shoal.cuda.soft.ptx.types import TYPES, Type

TYPES_NAMES = frozenset(("f16", "bf16", "f16x2", "bf16x2", "f32", "f64"))


def lift(e: Emitter, type_: Type, value: Llvm) -> Llvm:
    """An integer's bits as a number of 32 bits, or of 64 for f64."""
    b = e.builder
    if type_.bits == 64:
        return b.bitcast(value, F64)
    if type_.name == "f32":
        return b.bitcast(value, F32)
    if type_.kind == "bf":
        return b.bitcast(b.shl(b.zext(value, I32), I32(16)), F32)
    return b.fpext(b.bitcast(value, F16), F32)


def lower(e: Emitter, type_: Type, value: Llvm) -> Llvm:
    """The reverse, to the nearest."""
    if type_.bits == 64:
        return e.builder.bitcast(value, I64)
    if type_.name == "f32":
        return e.builder.bitcast(value, I32)
    return rounding.to_bf16(e, value) if type_.kind == "bf" else rounding.to_f16(e, value)


def flush(e: Emitter, value: Llvm) -> Llvm:
    """A number of 32 bits with what is too small to be normal replaced by a zero of the same sign."""
    b = e.builder
    small = b.fcmp_ordered("<", e.intrinsic("fabs", [value]), F32(2.0**-126))
    zero = b.bitcast(b.and_(b.bitcast(value, I32), I32(0x80000000)), F32)
    return b.select(small, zero, value)


def saturate(e: Emitter, value: Llvm) -> Llvm:
    """Within 0 and 1; not a number is 0."""
    b = e.builder
    zero, one = value.type(0.0), value.type(1.0)
    bounded = b.select(b.fcmp_ordered(">", value, one), one, value)
    return b.select(b.fcmp_ordered(">", value, zero), bounded, zero)


def operands(e: Emitter, op: Op, type_: Type, count: int) -> list[Llvm]:
    return [e.read(operand, type_.bits) for operand in op.operands[1 : count + 1]]


class Style:
    """Rounding, flushing and saturation of one instruction. `half` is the type of one lane."""

    def __init__(self, form: Form) -> None:
        self.direction = form.one(*rounding.DIRECTIONS) or "rn"
        self.flush = form.flag("ftz")
        self.saturate = form.flag("sat")
        self.relu = form.flag("relu")
        self.type = form.done(*TYPES_NAMES)
        self.half = {"f16x2": TYPES["f16"], "bf16x2": TYPES["bf16"]}.get(self.type.name, self.type)
        if self.direction != "rn" and self.type.name != "f32":
            raise form.error(f".{self.direction} is supported for .f32 alone")
        if self.flush and self.type.name not in ("f32", "f16", "f16x2"):
            raise form.error(".ftz is for .f32 and .f16")
        if self.saturate and self.type.name not in ("f32", "f16", "f16x2"):
            raise form.error(".sat is for .f32 and .f16")

    def take(self, e: Emitter, value: Llvm) -> Llvm:
        number = lift(e, self.half, value)
        if not self.flush:
            return number
        return flush(e, number) if self.half.bits == 32 else _flush_half(e, number)

    def give(self, e: Emitter, number: Llvm) -> Llvm:
        if self.flush and self.half.bits == 32:
            number = flush(e, number)
        if self.saturate:
            number = saturate(e, number)
        if self.relu:
            zero = number.type(0.0)
            positive = e.builder.fcmp_unordered(">", number, zero)
            number = e.builder.select(positive, number, zero)
        bits = lower(e, self.half, number)
        if self.flush and self.half.bits == 16:
            bits = lower(e, self.half, _flush_half(e, lift(e, self.half, bits)))
        return bits


def _flush_half(e: Emitter, number: Llvm) -> Llvm:
    b = e.builder
    small = b.fcmp_ordered("<", e.intrinsic("fabs", [number]), F32(2.0**-14))
    return b.select(small, b.bitcast(b.and_(b.bitcast(number, I32), I32(0x80000000)), F32), number)


def binary(e: Emitter, op: Op) -> None:
    """add, sub and mul."""
    form = Form(op)
    form.operands(3)
    style = Style(form)
    if style.relu:
        raise form.error(".relu is for fma")

    def apply(left: Llvm, right: Llvm) -> Llvm:
        left, right = style.take(e, left), style.take(e, right)
        return style.give(e, arithmetic(e, op.opcode, left, right, style.direction))

    e.write(op.operands[0], e.lanes(style.type, apply, operands(e, op, style.type, 2)))


def arithmetic(e: Emitter, opcode: str, left: Llvm, right: Llvm, direction: str) -> Llvm:
    b = e.builder
    if direction == "rn":
        return {"add": b.fadd, "sub": b.fsub, "mul": b.fmul}[opcode](left, right)
    left, right = b.fpext(left, F64), b.fpext(right, F64)
    if opcode == "mul":
        return rounding.to_f32(e, b.fmul(left, right), direction)
    return _directed_sum(e, left, b.fneg(right) if opcode == "sub" else right, direction)


def _directed_sum(e: Emitter, left: Llvm, right: Llvm, direction: str) -> Llvm:
    b = e.builder
    exact = rounding.odd_sum(e, left, right)
    value = rounding.to_f32(e, exact, direction)
    if direction != "rm":
        return value
    # Numbers that cancel make -0 when rounding down, and +0 otherwise.
    negative = b.or_(b.bitcast(left, I64), b.bitcast(right, I64))
    minus = b.and_(b.fcmp_ordered("==", exact, F64(0.0)), b.icmp_signed("<", negative, I64(0)))
    return b.select(minus, F32(-0.0), value)


@instruction("arithmetic", "fma", ".rn .rz .rm .rp .f32, .rn .f64 .f16 .bf16 .f16x2 .bf16x2, .ftz .sat .relu")
def fma(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    style = Style(form)

    def apply(*values: Llvm) -> Llvm:
        left, right, more = (style.take(e, value) for value in values)
        if style.half.bits != 16:
            return style.give(e, fused(e, left, right, more, style.direction))
        # Once to 16 bits from the exact number, never by way of 32.
        b = e.builder
        product = b.fmul(b.fpext(left, F64), b.fpext(right, F64))
        return style.give(e, rounding.odd_f32(e, rounding.odd_sum(e, product, b.fpext(more, F64))))

    e.write(op.operands[0], e.lanes(style.type, apply, operands(e, op, style.type, 3)))


def fused(e: Emitter, left: Llvm, right: Llvm, more: Llvm, direction: str) -> Llvm:
    if direction == "rn":
        return e.intrinsic("fma", [left, right, more])
    b = e.builder
    return _directed_sum(e, b.fmul(b.fpext(left, F64), b.fpext(right, F64)), b.fpext(more, F64), direction)


def divide(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3)
    form.flag("approx", "full")
    style = Style(form)
    if style.type.name not in ("f32", "f64"):
        raise form.error("it is for .f32 and .f64")
    left, right = (style.take(e, value) for value in operands(e, op, style.type, 2))
    b = e.builder
    if style.direction == "rn":
        value = b.fdiv(left, right)
    else:
        left, right = b.fpext(left, F64), b.fpext(right, F64)
        near = b.fdiv(left, right)
        rest = e.intrinsic("fma", [b.fneg(near), right, left])
        sign = b.select(b.fcmp_ordered("<", right, F64(0.0)), b.fneg(rest), rest)
        value = rounding.to_f32(e, rounding.odd(e, near, sign), style.direction)
    e.write(op.operands[0], style.give(e, value))


def sign(e: Emitter, op: Op) -> None:
    """abs and neg change one bit, of a NaN too."""
    form = Form(op)
    form.operands(2)
    style = Style(form)

    def apply(value: Llvm) -> Llvm:
        if style.flush:
            value = lower(e, style.half, style.take(e, value))
        top = value.type(1 << style.half.bits - 1)
        return e.builder.xor(value, top) if op.opcode == "neg" else e.builder.and_(value, e.builder.not_(top))

    e.write(op.operands[0], e.lanes(style.type, apply, operands(e, op, style.type, 1)))


def extreme(e: Emitter, op: Op) -> None:
    """min and max: the number if one is none, unless `.NaN`; -0 is less than +0."""
    form = Form(op)
    form.operands(3, 3)
    nan = form.flag("NaN")
    if form.flag("xorsign"):
        raise form.error(".xorsign.abs is not supported")
    style = Style(form)
    greatest = op.opcode == "max"

    def apply(first: Llvm, second: Llvm) -> Llvm:
        b = e.builder
        left, right = style.take(e, first), style.take(e, second)
        takes_left = b.fcmp_ordered(">" if greatest else "<", left, right)
        same = b.fcmp_ordered("==", left, right)
        kind = ir.IntType(64 if left.type == F64 else 32)
        bits = [b.bitcast(value, kind) for value in (left, right)]
        equal = b.bitcast((b.and_ if greatest else b.or_)(*bits), left.type)
        value = b.select(same, equal, b.select(takes_left, left, right))
        left_none, right_none = (b.fcmp_unordered("uno", number, number) for number in (left, right))
        if nan:
            value = b.select(b.or_(left_none, right_none), left.type(float("nan")), value)
        else:
            value = b.select(right_none, left, b.select(left_none, right, value))
        return style.give(e, value)

    e.write(op.operands[0], e.lanes(style.type, apply, operands(e, op, style.type, 2)))


@instruction("arithmetic", "copysign", ".f32 .f64")
def copysign(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3)
    type_ = form.done("f32", "f64")
    b = e.builder
    source, target = operands(e, op, type_, 2)
    top = source.type(1 << type_.bits - 1)
    e.write(op.operands[0], b.or_(b.and_(source, top), b.and_(target, b.not_(top))))


@instruction("comparison", "testp", ".finite .infinite .number .notanumber .normal .subnormal, .f32 .f64")
def testp(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    test = form.need("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    type_ = form.done("f32", "f64")
    b = e.builder
    bits = e.read(op.operands[1], type_.bits)
    kind, mantissa = bits.type, 23 if type_.bits == 32 else 52
    magnitude = b.and_(bits, kind((1 << type_.bits - 1) - 1))
    infinity, least = kind((1 << type_.bits - 1) - (1 << mantissa)), kind(1 << mantissa)
    finite = b.icmp_unsigned("<", magnitude, infinity)
    normal = b.icmp_unsigned(">=", magnitude, least)
    answer = {
        "finite": lambda: finite,
        "infinite": lambda: b.icmp_unsigned("==", magnitude, infinity),
        "number": lambda: b.icmp_unsigned("<=", magnitude, infinity),
        "notanumber": lambda: b.icmp_unsigned(">", magnitude, infinity),
        "normal": lambda: b.and_(finite, normal),
        "subnormal": lambda: b.and_(b.not_(normal), b.icmp_unsigned("!=", magnitude, kind(0))),
    }[test]()
    e.write(op.operands[0], answer)
