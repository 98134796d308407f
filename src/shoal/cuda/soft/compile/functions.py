"""Roots, reciprocals and the approximate functions. Each is nearer than PTX asks: computed in full and rounded once."""

from __future__ import annotations

from shoal.cuda.soft.compile import rounding
from shoal.cuda.soft.compile.emitter import F32, F64, I64, Emitter, Llvm
from shoal.cuda.soft.compile.floats import Style, operands
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import Op


@instruction("functions", "rcp sqrt", ".rn .rz .rm .rp .approx .f32, .rn .f64, .ftz; rcp.approx.ftz.f64")
def roots(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    approximate = form.flag("approx")
    wide = op.modifiers[-1:] == ("f64",)
    if wide and approximate and op.opcode == "rcp" and form.flag("ftz"):
        type_ = form.done("f64")
        number = e.builder.bitcast(_normal(e, e.read(op.operands[1], type_.bits)), F64)
        inverse = e.builder.bitcast(e.builder.fdiv(F64(1.0), number), I64)
        e.write(op.operands[0], e.builder.and_(_normal(e, inverse), I64(0xFFFFFFFF00000000)))
        return
    style = Style(form)
    if style.type.name not in ("f32", "f64") or style.saturate or style.relu or (wide and approximate):
        raise form.error("this form is not supported")
    (value,) = operands(e, op, style.type, 1)
    number = style.take(e, value)
    e.write(op.operands[0], style.give(e, _root(e, op.opcode, number, style.direction)))


def _normal(e: Emitter, bits: Llvm) -> Llvm:
    """64 bits, with what is too small to be normal replaced by a zero of the same sign."""
    exponent = e.builder.and_(bits, I64(0x7FF0000000000000))
    small = e.builder.icmp_unsigned("==", exponent, I64(0))
    return e.builder.select(small, e.builder.and_(bits, I64(1 << 63)), bits)


def _root(e: Emitter, opcode: str, number: Llvm, direction: str) -> Llvm:
    b = e.builder
    if direction == "rn":
        return e.intrinsic("sqrt", [number]) if opcode == "sqrt" else b.fdiv(number.type(1.0), number)
    number = b.fpext(number, F64)
    if opcode == "sqrt":
        near = e.intrinsic("sqrt", [number])
        rest = e.intrinsic("fma", [b.fneg(near), near, number])
    else:
        near = b.fdiv(F64(1.0), number)
        rest = e.intrinsic("fma", [b.fneg(near), number, F64(1.0)])
        rest = b.select(b.fcmp_ordered("<", number, F64(0.0)), b.fneg(rest), rest)
    return rounding.to_f32(e, rounding.odd(e, near, rest), direction)


@instruction("functions", "rsqrt", ".approx .f32 .f64, .ftz")
def rsqrt(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    form.need("approx")
    if op.modifiers[-1] == "f64":
        form.flag("ftz")
    style = Style(form)
    if style.type.name not in ("f32", "f64"):
        raise form.error("it is for .f32 and .f64")
    (value,) = operands(e, op, style.type, 1)
    number = style.take(e, value)
    b = e.builder
    if style.type.bits == 32:
        wide = b.fdiv(F64(1.0), e.intrinsic("sqrt", [b.fpext(number, F64)]))
        e.write(op.operands[0], style.give(e, b.fptrunc(wide, F32)))
    else:
        e.write(op.operands[0], style.give(e, b.fdiv(F64(1.0), e.intrinsic("sqrt", [number]))))


@instruction("functions", "sin cos lg2", ".approx .f32, .ftz")
def transcendental(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    form.need("approx")
    style = Style(form)
    if style.type.name != "f32" or style.saturate or style.relu:
        raise form.error("it is for .f32")
    (value,) = operands(e, op, style.type, 1)
    name = {"lg2": "log2"}.get(op.opcode, op.opcode)
    e.write(op.operands[0], style.give(e, e.intrinsic(name, [style.take(e, value)])))


@instruction("functions", "ex2 tanh", ".approx .f32 .f16 .bf16 .f16x2 .bf16x2, .ftz")
def exponential(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    form.need("approx")
    if op.modifiers[-1].startswith("bf16"):
        form.flag("ftz")
    style = Style(form)
    if style.type.name == "f64" or style.saturate or style.relu:
        raise form.error("this form is not supported")
    name = "exp2" if op.opcode == "ex2" else "tanh"

    def apply(bits: Llvm) -> Llvm:
        return style.give(e, e.intrinsic(name, [style.take(e, bits)]))

    e.write(op.operands[0], e.lanes(style.type, apply, operands(e, op, style.type, 1)))
