"""Bits: logic, shifts, fields, permutations."""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile.emitter import I1, I8, I32, I64, Emitter, Llvm
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import Op
from shoal.cuda.soft.ptx.tree import Number


@instruction("bits", "and or xor", ".b16 .b32 .b64 .pred")
def logic(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3)
    type_ = form.done("b16", "b32", "b64", "pred")
    if type_.kind == "p":
        left, right = (e.predicate(operand) for operand in op.operands[1:])
    else:
        left, right = (e.read(operand, type_.bits) for operand in op.operands[1:])
    apply = {"and": e.builder.and_, "or": e.builder.or_, "xor": e.builder.xor}[op.opcode]
    e.write(op.operands[0], apply(left, right))


@instruction("bits", "not cnot", ".b16 .b32 .b64, not: .pred")
def invert(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    type_ = form.done("b16", "b32", "b64", *(("pred",) if op.opcode == "not" else ()))
    value = e.predicate(op.operands[1]) if type_.kind == "p" else e.read(op.operands[1], type_.bits)
    if op.opcode == "not":
        e.write(op.operands[0], e.builder.not_(value))
    else:
        e.write(op.operands[0], e.builder.zext(e.builder.icmp_unsigned("==", value, value.type(0)), value.type))


def shift(e: Emitter, value: Llvm, amount: Llvm, how: str) -> Llvm:
    """By any amount of 32 bits: beyond the width nothing is left but the sign. `how` is shl, lshr or ashr."""
    bits = value.type.width
    most = I32(bits - 1)
    over = e.builder.icmp_unsigned(">", amount, most)
    bounded = e.resize(e.builder.select(over, most, amount), bits)
    moved = getattr(e.builder, how)(value, bounded)
    return moved if how == "ashr" else e.builder.select(over, value.type(0), moved)


@instruction("bits", "shl shr", ".b16 .b32 .b64; shr: .u and .s too")
def shifts(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3)
    allowed = (
        ("b16", "b32", "b64") if op.opcode == "shl" else ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")
    )
    type_ = form.done(*allowed)
    how = "shl" if op.opcode == "shl" else ("ashr" if type_.signed else "lshr")
    e.write(op.operands[0], shift(e, e.read(op.operands[1], type_.bits), e.read(op.operands[2], 32), how))


@instruction("bits", "shf", ".l .r, .clamp .wrap, .b32")
def funnel(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    side, mode = form.need("l", "r"), form.need("clamp", "wrap")
    form.done("b32")
    low, high, amount = (e.read(operand, 32) for operand in op.operands[1:])
    b = e.builder
    both = b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), I64(32)))
    amount = b.and_(amount, I32(31)) if mode == "wrap" else e.intrinsic("umin", [amount, I32(32)])
    wide = b.zext(amount, I64)
    moved = b.lshr(both, wide) if side == "r" else b.lshr(b.shl(both, wide), I64(32))
    e.write(op.operands[0], b.trunc(moved, I32))


@instruction("bits", "popc clz brev", ".b32 .b64")
def count(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    type_ = form.done("b32", "b64")
    value = e.read(op.operands[1], type_.bits)
    if op.opcode == "brev":
        e.write(op.operands[0], e.intrinsic("bitreverse", [value]))
    elif op.opcode == "popc":
        e.write(op.operands[0], e.resize(e.intrinsic("ctpop", [value]), 32))
    else:
        e.write(op.operands[0], e.resize(e.intrinsic("ctlz", [value, I1(0)]), 32))


@instruction("bits", "bfind", ".u32 .s32 .u64 .s64, .shiftamt")
def bfind(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    amount = form.flag("shiftamt")
    type_ = form.done("u32", "s32", "u64", "s64")
    value = e.read(op.operands[1], type_.bits)
    b = e.builder
    if type_.signed:
        value = b.xor(value, b.ashr(value, value.type(type_.bits - 1)))
    zeros = e.intrinsic("ctlz", [value, I1(0)])
    found = zeros if amount else b.sub(value.type(type_.bits - 1), zeros)
    none = b.icmp_unsigned("==", value, value.type(0))
    e.write(op.operands[0], b.select(none, I32(-1), e.resize(found, 32)))


@instruction("bits", "bfe", ".u32 .s32 .u64 .s64")
def bfe(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    type_ = form.done("u32", "s32", "u64", "s64")
    b = e.builder
    value = e.read(op.operands[1], type_.bits)
    position, length = (b.and_(e.read(operand, 32), I32(255)) for operand in op.operands[2:])
    # Bits above the value's own are its sign's, or 0; so is what is beyond the field.
    wide = (b.sext if type_.signed else b.zext)(value, ir.IntType(2 * type_.bits))
    full = I32(2 * type_.bits)
    moved = shift(e, wide, position, "ashr" if type_.signed else "lshr")
    unused = b.select(b.icmp_unsigned(">", length, I32(type_.bits)), I32(type_.bits), length)
    rest = b.sub(full, unused)
    field = shift(e, shift(e, moved, rest, "shl"), rest, "ashr" if type_.signed else "lshr")
    if type_.signed:
        # PTX: the sign bit is that of min(position + length - 1, the last bit).
        empty = b.icmp_unsigned("==", length, I32(0))
        field = b.select(empty, field.type(0), field)
    e.write(op.operands[0], b.trunc(field, value.type))


@instruction("bits", "bfi", ".b32 .b64")
def bfi(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(5)
    type_ = form.done("b32", "b64")
    b = e.builder
    source, target = (e.read(operand, type_.bits) for operand in op.operands[1:3])
    position, length = (b.and_(e.read(operand, 32), I32(255)) for operand in op.operands[3:])
    ones = _ones(e, type_.bits, length)
    mask = shift(e, ones, position, "shl")
    moved = shift(e, source, position, "shl")
    e.write(op.operands[0], b.or_(b.and_(moved, mask), b.and_(target, b.not_(mask))))


def _ones(e: Emitter, bits: int, length: Llvm) -> Llvm:
    kind = ir.IntType(bits)
    return e.builder.not_(shift(e, kind(-1), length, "shl"))


@instruction("bits", "bmsk", ".clamp .wrap, .b32")
def bmsk(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3)
    mode = form.need("clamp", "wrap")
    form.done("b32")
    position, length = (e.read(operand, 32) for operand in op.operands[1:])
    if mode == "wrap":
        position, length = (e.builder.and_(value, I32(31)) for value in (position, length))
    e.write(op.operands[0], shift(e, _ones(e, 32, length), position, "shl"))


@instruction("bits", "szext", ".clamp .wrap, .u32 .s32")
def szext(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(3)
    mode = form.need("clamp", "wrap")
    type_ = form.done("u32", "s32")
    value, width = (e.read(operand, 32) for operand in op.operands[1:])
    b = e.builder
    if mode == "wrap":
        width = b.and_(width, I32(31))
    over = b.icmp_unsigned(">=", width, I32(32))
    rest = b.sub(I32(32), e.intrinsic("umin", [width, I32(32)]))
    field = shift(e, shift(e, value, rest, "shl"), rest, "ashr" if type_.signed else "lshr")
    field = b.select(b.icmp_unsigned("==", width, I32(0)), I32(0), field)
    e.write(op.operands[0], b.select(over, value, field))


@instruction("bits", "lop3", ".b32 with an immediate table")
def lop3(e: Emitter, op: Op) -> None:
    form = Form(op)
    if len(op.operands) != 5:
        raise form.error("only the form with three inputs and a table is supported")
    form.done("b32")
    table = op.operands[4]
    if not isinstance(table, Number):
        raise form.error("the table is a constant")
    inputs = [e.read(operand, 32) for operand in op.operands[1:4]]
    b = e.builder
    total = I32(0)
    for row in range(8):
        if table.value >> row & 1:
            term = I32(-1)
            for value, bit in zip(inputs, (4, 2, 1), strict=True):
                term = b.and_(term, value if row & bit else b.not_(value))
            total = b.or_(total, term)
    e.write(op.operands[0], total)


@instruction("bits", "prmt", ".b32, and .f4e .b4e .rc8 .ecl .ecr .rc16")
def prmt(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    mode = form.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    form.done("b32")
    low, high, selector = (e.read(operand, 32) for operand in op.operands[1:])
    b = e.builder
    both = b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), I64(32)))
    total = I32(0)
    control = b.and_(selector, I32(3))
    for index in range(4):
        if mode:
            which, repeat = _prmt_index(e, mode, control, index), None
        else:
            nibble = b.and_(b.lshr(selector, I32(4 * index)), I32(15))
            which, repeat = b.and_(nibble, I32(7)), b.icmp_unsigned("!=", b.and_(nibble, I32(8)), I32(0))
        byte = b.trunc(b.lshr(both, b.zext(b.shl(which, I32(3)), I64)), I8)
        if repeat is not None:
            byte = b.select(repeat, b.ashr(byte, I8(7)), byte)
        total = b.or_(total, b.shl(b.zext(byte, I32), I32(8 * index)))
    e.write(op.operands[0], total)


def _prmt_index(e: Emitter, mode: str, control: Llvm, index: int) -> Llvm:
    b = e.builder
    if mode == "f4e":
        return b.add(control, I32(index))
    if mode == "b4e":
        return b.and_(b.sub(control, I32(index)), I32(7))
    if mode == "rc8":
        return control
    if mode == "rc16":
        return b.add(b.shl(b.and_(control, I32(1)), I32(1)), I32(index & 1))
    return e.intrinsic("umax" if mode == "ecl" else "umin", [control, I32(index)])


@instruction("bits", "fns", ".b32")
def fns(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    form.done("b32")
    mask, base, offset = (e.read(operand, 32) for operand in op.operands[1:])
    b = e.builder
    # Walk the 32 bits in both directions at once, and count those that are set.
    forward, backward = b.icmp_signed(">", offset, I32(0)), b.icmp_signed("<", offset, I32(0))
    wanted = b.select(forward, offset, b.neg(offset))
    zero = b.icmp_signed("==", offset, I32(0))
    found, seen = I32(-1), I32(0)
    for step in range(32):
        position = b.select(backward, b.sub(base, I32(step)), b.add(base, I32(step)))
        inside = b.icmp_unsigned("<", position, I32(32))
        bit = b.and_(inside, b.trunc(shift(e, mask, position, "lshr"), I1))
        seen = b.add(seen, b.zext(bit, I32))
        here = b.and_(bit, b.icmp_unsigned("==", seen, wanted))
        here = b.and_(here, b.icmp_signed("==", found, I32(-1)))
        found = b.select(here, position, found)
    own = b.and_(b.icmp_unsigned("<", base, I32(32)), b.trunc(shift(e, mask, base, "lshr"), I1))
    e.write(op.operands[0], b.select(zero, b.select(own, base, I32(-1)), found))
