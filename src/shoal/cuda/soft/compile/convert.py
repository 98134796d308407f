"""cvt: from every type to every other."""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile import floats, rounding
from shoal.cuda.soft.compile.emitter import F32, F64, I32, I64, Emitter, Llvm
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import Op
from shoal.cuda.soft.ptx.types import TYPES, Type

_WHOLE = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_FORMS = (
    "integers and .f16 .bf16 .f32 .f64 to each other; .rni .rzi .rmi .rpi; .rn .rz .rm .rp to .f32, .rn .rz to .f16 "
    "and .bf16, .rn to .f64; two .f32 to .f16x2 .bf16x2; .sat .ftz .relu"
)


@instruction("moves", "cvt", _FORMS)
def cvt(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2, 3)
    whole, direction = form.one(*_WHOLE), form.one(*rounding.DIRECTIONS)
    flush, saturate, relu = form.flag("ftz"), form.flag("sat"), form.flag("relu")
    types = form.types()
    form.end()
    if len(types) != 2 or any(type_.kind == "p" or type_.bits == 128 for type_ in types):
        raise form.error("it has two types of 8 to 64 bits")
    to, of = types
    if len(op.operands) == 3:
        if to.name not in ("f16x2", "bf16x2") or of.name != "f32" or saturate:
            raise form.error("two sources are for .f16x2.f32 and .bf16x2.f32")
        half = TYPES[to.name[:-2]]
        high, low = (
            _to_float(e, half, _source(e, of, operand, flush), direction or "rn", relu) for operand in op.operands[1:]
        )
        b = e.builder
        e.write(op.operands[0], b.or_(b.shl(b.zext(high, I32), I32(16)), b.zext(low, I32)))
        return
    if to.lanes == 2 or of.lanes == 2:
        raise form.error("packed types are converted one by one")
    if relu and not (to.bits == 16 and of.floating):
        raise form.error(".relu is for results of 16 bits")
    value = e.read(op.operands[1], of.bits, loose=True)
    if of.floating:
        number = _source(e, of, op.operands[1], flush)
        if to.floating:
            result = _between(e, form, to, of, number, whole, direction, saturate, relu, flush)
        else:
            if not whole:
                raise form.error("a rounding to whole numbers is missing, as .rzi")
            result = _to_integer(e, to, number, whole)
    elif to.floating:
        result = _of_integer(e, form, to, of, value, direction)
        if saturate:
            result = floats.lower(e, to, floats.saturate(e, floats.lift(e, to, result)))
    else:
        result = _integers(e, to, of, value, saturate)
    e.write(op.operands[0], result, signed=to.signed, loose=not to.floating)


def _source(e: Emitter, of: Type, operand: object, flush: bool) -> Llvm:
    number = floats.lift(e, of, e.read(operand, of.bits, loose=True))  # type: ignore[arg-type]
    return floats.flush(e, number) if flush and of.name == "f32" else number


def _integers(e: Emitter, to: Type, of: Type, value: Llvm, saturate: bool) -> Llvm:
    wide = ir.IntType(72)
    b = e.builder
    value = (b.sext if of.signed else b.zext)(value, wide)
    if saturate:
        least, most = (-(1 << to.bits - 1), (1 << to.bits - 1) - 1) if to.signed else (0, (1 << to.bits) - 1)
        value = b.select(b.icmp_signed("<", value, wide(least)), wide(least), value)
        value = b.select(b.icmp_signed(">", value, wide(most)), wide(most), value)
    return b.trunc(value, ir.IntType(to.bits))


def _to_integer(e: Emitter, to: Type, number: Llvm, whole: str) -> Llvm:
    """Out of range is the nearest, and not a number is 0."""
    number = e.intrinsic(_WHOLE[whole], [number])
    name = f"llvm.fpto{'si' if to.signed else 'ui'}.sat.i{to.bits}.{'f32' if number.type == F32 else 'f64'}"
    known = e.module.globals.get(name)
    if known is None:
        known = ir.Function(e.module, ir.FunctionType(ir.IntType(to.bits), [number.type]), name)
    return e.builder.call(known, [number])


def _of_integer(e: Emitter, form: Form, to: Type, of: Type, value: Llvm, direction: str) -> Llvm:
    b = e.builder
    if not direction:
        raise form.error("a rounding is missing, as .rn")
    kind = F64 if to.bits == 64 else F32
    if direction == "rn" and to.bits >= 32:
        return floats.lower(e, to, (b.sitofp if of.signed else b.uitofp)(value, kind))
    if to.bits == 64:
        raise form.error(f".{direction} to .f64 is not supported")
    value = (b.sext if of.signed else b.zext)(value, ir.IntType(128))
    high = b.sitofp(b.trunc(b.ashr(value, value.type(32)), I64), F64)
    low = b.uitofp(b.trunc(value, I32), F64)
    exact = rounding.odd_sum(e, b.fmul(high, F64(2.0**32)), low)
    return _to_float(e, to, exact, direction, False)


def _to_float(e: Emitter, to: Type, number: Llvm, direction: str, relu: bool) -> Llvm:
    """Bits of a narrower type."""
    b = e.builder
    if to.name == "f32":
        return b.bitcast(rounding.to_f32(e, number, direction), I32)
    if number.type == F64:
        number = rounding.odd_f32(e, number)
    if relu:
        number = b.select(b.fcmp_unordered(">", number, F32(0.0)), number, F32(0.0))
    narrow = rounding.to_bf16 if to.kind == "bf" else rounding.to_f16
    return narrow(e, number, direction)


def _between(
    e: Emitter,
    form: Form,
    to: Type,
    of: Type,
    number: Llvm,
    whole: str,
    direction: str,
    saturate: bool,
    relu: bool,
    flush: bool,
) -> Llvm:
    b = e.builder
    if whole:
        if to != of:
            raise form.error(f".{whole} is for one type and whole numbers")
        number = e.intrinsic(_WHOLE[whole], [number])
    if flush and to.name == "f32" and of.name == "f64":
        number = b.fpext(floats.flush(e, rounding.to_f32(e, number, direction or "rn")), F64)
    if saturate:
        number = floats.saturate(e, number)
    if to.bits < of.bits or (to.bits == of.bits == 16 and to != of):
        if not direction:
            raise form.error("a rounding is missing, as .rn")
        return _to_float(e, to, number, direction, relu)
    if to.bits == 64:
        return b.bitcast(number if number.type == F64 else b.fpext(number, F64), I64)
    return floats.lower(e, to, number)
