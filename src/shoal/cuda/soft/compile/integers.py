"""Integer arithmetic, with and without carry."""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile import floats
from shoal.cuda.soft.compile.emitter import I1, I32, Emitter, Llvm
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import CARRY, Op
from shoal.cuda.soft.ptx.types import Type

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
PACKED = ("u16x2", "s16x2")


def _is_float(op: Op) -> bool:
    return op.modifiers[-1:] != () and op.modifiers[-1] in floats.TYPES_NAMES


@instruction(
    "arithmetic", "add sub", ".u16 .u32 .u64 .s16 .s32 .s64 .u16x2 .s16x2, .sat.s32, .cc; floats as fma without .relu"
)
def add(e: Emitter, op: Op) -> None:
    if _is_float(op):
        floats.binary(e, op)
        return
    form = Form(op)
    form.operands(3)
    if form.flag("cc"):
        with_carry(e, op, form, reads=False)
        return
    saturate = form.flag("sat")
    type_ = form.done(*INTEGERS, *PACKED)
    if saturate and type_.name != "s32":
        raise form.error(".sat is for .s32")
    left, right = (e.read(operand, type_.bits) for operand in op.operands[1:])
    if saturate:
        e.write(op.operands[0], e.intrinsic("sadd.sat" if op.opcode == "add" else "ssub.sat", [left, right]))
        return
    apply = e.builder.add if op.opcode == "add" else e.builder.sub
    e.write(op.operands[0], e.lanes(type_, apply, [left, right]))


@instruction("arithmetic", "addc subc", ".u32 .s32 .u64 .s64, .cc")
def addc(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3)
    form.flag("cc")
    with_carry(e, op, form, reads=True)


def with_carry(e: Emitter, op: Op, form: Form, reads: bool) -> None:
    """The flag is the carry of an addition, and the borrow of a subtraction."""
    type_ = form.done("u32", "s32", "u64", "s64")
    left, right = (e.read(operand, type_.bits) for operand in op.operands[1:])
    value, carry = sum_with_carry(e, left, right, e.load(CARRY) if reads else I1(0), op.opcode.startswith("sub"))
    if "cc" in op.modifiers:
        e.builder.store(carry, e.home(CARRY))
    e.write(op.operands[0], value)


def sum_with_carry(e: Emitter, left: Llvm, right: Llvm, carry: Llvm, subtract: bool) -> tuple[Llvm, Llvm]:
    bits = left.type.width
    wide = ir.IntType(bits + 8)
    left, right, carry = (e.builder.zext(value, wide) for value in (left, right, carry))
    apply = e.builder.sub if subtract else e.builder.add
    total = apply(apply(left, right), carry)
    over = e.builder.lshr(total, wide(bits))
    return e.builder.trunc(total, ir.IntType(bits)), e.builder.trunc(over, I1)


def product(e: Emitter, type_: Type, left: Llvm, right: Llvm) -> Llvm:
    """All bits of it: twice as many."""
    wide = ir.IntType(2 * type_.bits)
    widen = e.builder.sext if type_.signed else e.builder.zext
    return e.builder.mul(widen(left, wide), widen(right, wide))


def half(e: Emitter, type_: Type, wide: Llvm, part: str) -> Llvm:
    if part == "hi":
        wide = e.builder.lshr(wide, wide.type(type_.bits))
    return e.builder.trunc(wide, ir.IntType(type_.bits))


@instruction("arithmetic", "mul", ".lo .hi .wide of .u16 .u32 .u64 .s16 .s32 .s64; floats as fma without .relu")
def mul(e: Emitter, op: Op) -> None:
    if _is_float(op):
        floats.binary(e, op)
        return
    form = Form(op)
    form.operands(3)
    part = form.need("lo", "hi", "wide")
    type_ = form.done(*INTEGERS)
    wide = product(e, type_, *(e.read(operand, type_.bits) for operand in op.operands[1:]))
    _check_wide(form, type_, part)
    e.write(op.operands[0], wide if part == "wide" else half(e, type_, wide, part))


def _check_wide(form: Form, type_: Type, part: str) -> None:
    if part == "wide" and type_.bits == 64:
        raise form.error(".wide is for 16 and 32 bits")


@instruction(
    "arithmetic", "mad", ".lo .hi .wide of .u16 .u32 .u64 .s16 .s32 .s64, .hi.sat.s32, .cc; floats as fma without .relu"
)
def mad(e: Emitter, op: Op) -> None:
    if _is_float(op):
        floats.fma(e, op)
        return
    form = Form(op)
    form.operands(4)
    part = form.need("lo", "hi", "wide")
    carry, saturate = form.flag("cc"), form.flag("sat")
    type_ = form.done(*INTEGERS)
    _check_wide(form, type_, part)
    left, right = (e.read(operand, type_.bits) for operand in op.operands[1:3])
    more = e.read(op.operands[3], type_.bits * (2 if part == "wide" else 1))
    wide = product(e, type_, left, right)
    first = wide if part == "wide" else half(e, type_, wide, part)
    if saturate and (part, type_.name) != ("hi", "s32"):
        raise form.error(".sat is for .hi.s32")
    if carry and (part == "wide" or type_.bits == 16):
        raise form.error(".cc is for .lo and .hi of 32 and 64 bits")
    if carry:
        value, over = sum_with_carry(e, first, more, I1(0), False)
        e.builder.store(over, e.home(CARRY))
        e.write(op.operands[0], value)
    else:
        e.write(op.operands[0], e.intrinsic("sadd.sat", [first, more]) if saturate else e.builder.add(first, more))


@instruction("arithmetic", "madc", ".lo .hi of .u32 .s32 .u64 .s64, .cc")
def madc(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    part = form.need("lo", "hi")
    sets = form.flag("cc")
    type_ = form.done("u32", "s32", "u64", "s64")
    left, right, more = (e.read(operand, type_.bits) for operand in op.operands[1:])
    first = half(e, type_, product(e, type_, left, right), part)
    value, over = sum_with_carry(e, first, more, e.load(CARRY), False)
    if sets:
        e.builder.store(over, e.home(CARRY))
    e.write(op.operands[0], value)


@instruction("arithmetic", "mul24 mad24", ".lo .hi of .u32 .s32")
def mul24(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3 if op.opcode == "mul24" else 4)
    part = form.need("lo", "hi")
    type_ = form.done("u32", "s32")
    shift = e.builder.ashr if type_.signed else e.builder.lshr
    left, right = (shift(e.builder.shl(e.read(operand, 32), I32(8)), I32(8)) for operand in op.operands[1:3])
    wide = product(e, type_, left, right)
    value = e.builder.trunc(e.builder.lshr(wide, wide.type(16 if part == "hi" else 0)), I32)
    if op.opcode == "mad24":
        value = e.builder.add(value, e.read(op.operands[3], 32))
    e.write(op.operands[0], value)


@instruction(
    "arithmetic", "div rem", ".u16 .u32 .u64 .s16 .s32 .s64; div: .rn .rz .rm .rp .approx .full .f32, .rn .f64, .ftz"
)
def div(e: Emitter, op: Op) -> None:
    if _is_float(op):
        floats.divide(e, op)
        return
    form = Form(op)
    form.operands(3)
    type_ = form.done(*INTEGERS)
    left, right = (e.read(operand, type_.bits) for operand in op.operands[1:])
    kind = left.type
    b = e.builder
    # A processor traps on these two, which PTX leaves open: give what GPUs give.
    by_zero = b.icmp_unsigned("==", right, kind(0))
    safe = b.select(by_zero, kind(1), right)
    divide = op.opcode == "div"
    if type_.signed:
        minus = b.icmp_signed("==", right, kind(-1))
        safe = b.select(minus, kind(1), safe)
        value = (b.sdiv if divide else b.srem)(left, safe)
        value = b.select(minus, b.neg(left) if divide else kind(0), value)
    else:
        value = (b.udiv if divide else b.urem)(left, safe)
    e.write(op.operands[0], b.select(by_zero, kind(-1) if divide else left, value))


@instruction("arithmetic", "abs neg", ".s16 .s32 .s64; .f16 .bf16 .f16x2 .bf16x2 .f32 .f64")
def sign(e: Emitter, op: Op) -> None:
    if _is_float(op):
        floats.sign(e, op)
        return
    form = Form(op)
    form.operands(2)
    type_ = form.done("s16", "s32", "s64")
    value = e.read(op.operands[1], type_.bits)
    negative = e.builder.neg(value)
    if op.opcode == "abs":
        negative = e.builder.select(e.builder.icmp_signed("<", value, value.type(0)), negative, value)
    e.write(op.operands[0], negative)


@instruction(
    "arithmetic",
    "min max",
    ".u16 .u32 .u64 .s16 .s32 .s64 .u16x2 .s16x2; .f16 .bf16 .f16x2 .bf16x2 .f32 .f64, .NaN .ftz",
)
def extreme(e: Emitter, op: Op) -> None:
    if _is_float(op):
        floats.extreme(e, op)
        return
    form = Form(op)
    form.operands(3)
    type_ = form.done(*INTEGERS, *PACKED)
    name = ("s" if type_.signed else "u") + op.opcode
    values = [e.read(operand, type_.bits) for operand in op.operands[1:]]
    e.write(op.operands[0], e.lanes(type_, lambda *pair: e.intrinsic(name, list(pair)), values))


@instruction("arithmetic", "sad", ".u16 .u32 .u64 .s16 .s32 .s64")
def sad(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    type_ = form.done(*INTEGERS)
    left, right, more = (e.read(operand, type_.bits) for operand in op.operands[1:])
    compare = e.builder.icmp_signed if type_.signed else e.builder.icmp_unsigned
    less = compare("<", left, right)
    apart = e.builder.select(less, e.builder.sub(right, left), e.builder.sub(left, right))
    e.write(op.operands[0], e.builder.add(more, apart))


@instruction("arithmetic", "dp4a dp2a", ".u32 .s32 by .u32 .s32; dp2a: .lo .hi")
def dot(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    part = form.need("lo", "hi") if op.opcode == "dp2a" else ""
    types = form.types("u32", "s32")
    form.end()
    if len(types) != 2:
        raise form.error("it has two types")
    left, right, total = (e.read(operand, 32) for operand in op.operands[1:])
    b = e.builder

    def element(value: Llvm, at: int, bits: int, signed: bool) -> Llvm:
        moved = b.shl(value, I32(32 - bits - at))
        return (b.ashr if signed else b.lshr)(moved, I32(32 - bits))

    for index in range(2 if part else 4):
        first = element(left, 16 * index, 16, types[0].signed) if part else element(left, 8 * index, 8, types[0].signed)
        second = element(right, 8 * index + (16 if part == "hi" else 0), 8, types[1].signed)
        total = b.add(total, b.mul(first, second))
    e.write(op.operands[0], total)
