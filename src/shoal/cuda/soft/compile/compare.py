"""Comparison, selection and moves between registers."""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile import floats
from shoal.cuda.soft.compile.emitter import I32, Emitter, Llvm
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import Group, Op, Two
from shoal.cuda.soft.ptx.types import TYPES, Type

_ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNORDERED = {"equ": "==", "neu": "!=", "ltu": "<", "leu": "<=", "gtu": ">", "geu": ">="}
_UNSIGNED = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_TESTS = (*_ORDERED, *_UNORDERED, *_UNSIGNED, "num", "nan")


def compare(e: Emitter, form: Form, test: str, type_: Type, flush: bool, left: Llvm, right: Llvm) -> Llvm:
    b = e.builder
    if not type_.floating:
        if test in _UNSIGNED and type_.kind == "u":
            return b.icmp_unsigned(_UNSIGNED[test], left, right)
        if test not in _ORDERED or (type_.kind == "b" and test not in ("eq", "ne")):
            raise form.error(f".{test} is not for .{type_.name}")
        return (b.icmp_signed if type_.signed else b.icmp_unsigned)(_ORDERED[test], left, right)
    numbers = [floats.lift(e, type_, value) for value in (left, right)]
    if flush and type_.bits == 32:
        numbers = [floats.flush(e, number) for number in numbers]
    if test in ("num", "nan"):
        return b.fcmp_ordered("ord", *numbers) if test == "num" else b.fcmp_unordered("uno", *numbers)
    if test in _ORDERED:
        return b.fcmp_ordered(_ORDERED[test], *numbers)
    if test in _UNORDERED:
        return b.fcmp_unordered(_UNORDERED[test], *numbers)
    raise form.error(f".{test} is not for .{type_.name}")


def _join(e: Emitter, how: str, found: Llvm, other: Llvm) -> Llvm:
    return {"and": e.builder.and_, "or": e.builder.or_, "xor": e.builder.xor}[how](found, other)


@instruction("comparison", "setp", "all tests, .and .or .xor, .ftz; all types of 16 to 64 bits, .f16x2 .bf16x2")
def setp(e: Emitter, op: Op) -> None:
    form = Form(op)
    test, how, flush = form.need(*_TESTS), form.one("and", "or", "xor"), form.flag("ftz")
    type_ = form.done()
    form.operands(4 if how else 3)
    left, right = (e.read(operand, type_.bits) for operand in op.operands[1:3])
    other = e.predicate(op.operands[3]) if how else None
    target = op.operands[0]
    if type_.lanes == 2:
        half = TYPES[type_.name[:-2]]
        found = []
        for at in (0, 16):
            pair = [e.builder.trunc(e.builder.lshr(value, I32(at)), ir.IntType(16)) for value in (left, right)]
            found.append(compare(e, form, test, half, flush, *pair))
        if other is not None:
            found = [_join(e, how, value, other) for value in found]
        if not isinstance(target, Two):
            raise form.error("packed values give two predicates")
        e.write(target.first, found[0])
        e.write(target.second, found[1])
        return
    value = compare(e, form, test, type_, flush, left, right)
    opposite = e.builder.not_(value)
    if other is not None:
        value, opposite = _join(e, how, value, other), _join(e, how, opposite, other)
    e.write_pair(target, value, opposite)


@instruction("comparison", "set", "all tests, .and .or .xor, .ftz; to .u32 .s32 .f32")
def set_(e: Emitter, op: Op) -> None:
    form = Form(op)
    test, how, flush = form.need(*_TESTS), form.one("and", "or", "xor"), form.flag("ftz")
    types = form.types()
    form.end()
    form.operands(4 if how else 3)
    if len(types) != 2 or types[0].name not in ("u32", "s32", "f32") or types[1].lanes == 2:
        raise form.error("it gives .u32, .s32 or .f32 and compares one type")
    left, right = (e.read(operand, types[1].bits) for operand in op.operands[1:3])
    value = compare(e, form, test, types[1], flush, left, right)
    if how:
        value = _join(e, how, value, e.predicate(op.operands[3]))
    e.write(op.operands[0], e.builder.select(value, I32(0x3F800000 if types[0].floating else -1), I32(0)))


@instruction("comparison", "selp", "types of 16 to 64 bits")
def selp(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    type_ = form.done()
    left, right = (e.read(operand, type_.bits) for operand in op.operands[1:3])
    e.write(op.operands[0], e.builder.select(e.predicate(op.operands[3]), left, right))


@instruction("comparison", "slct", "types of 16 to 64 bits by .s32 .f32, .ftz")
def slct(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(4)
    flush = form.flag("ftz")
    types = form.types()
    form.end()
    if len(types) != 2 or types[1].name not in ("s32", "f32"):
        raise form.error("it has a type, and .s32 or .f32")
    left, right = (e.read(operand, types[0].bits) for operand in op.operands[1:3])
    by = e.read(op.operands[3], 32)
    if types[1].floating:
        number = floats.lift(e, types[1], by)
        number = floats.flush(e, number) if flush else number
        first = e.builder.fcmp_ordered(">=", number, number.type(0.0))
    else:
        first = e.builder.icmp_signed(">=", by, I32(0))
    e.write(op.operands[0], e.builder.select(first, left, right))


@instruction("moves", "mov", "all types, to and from {…}, addresses of variables, special registers")
def mov(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    type_ = form.done()
    target, source = op.operands
    if type_.kind == "p":
        e.write(target, e.predicate(source))
    elif isinstance(source, Group):
        e.write(target, _pack(e, type_, source))
    elif isinstance(target, Group):
        value = e.read(source, type_.bits)
        step = type_.bits // len(target.items)
        for index, item in enumerate(target.items):
            part = e.builder.lshr(value, value.type(step * index))
            e.write(item, e.builder.trunc(part, ir.IntType(step)), loose=True)
    else:
        e.write(target, e.read(source, type_.bits))


def _pack(e: Emitter, type_: Type, source: Group) -> Llvm:
    kind = ir.IntType(type_.bits)
    step = type_.bits // len(source.items)
    total = kind(0)
    for index, item in enumerate(source.items):
        part = e.resize(e.read(item, step), type_.bits)
        total = e.builder.or_(total, e.builder.shl(part, kind(step * index)))
    return total
