"""Atomic operations and fences."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from shoal.cuda.soft.compile import floats
from shoal.cuda.soft.compile.emitter import F32, F64, Emitter, Llvm
from shoal.cuda.soft.compile.layout import Reason
from shoal.cuda.soft.compile.memory import pointer, space_of
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import Op
from shoal.cuda.soft.ptx.types import TYPES, Type

ORDER = "seq_cst"
_SIMPLE = {"and": "and", "or": "or", "xor": "xor", "exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}
_ALLOWED = {
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64", "b16", "u32", "s32", "u64", "s64", "f32", "f64"),
    "cas": ("b16", "b32", "b64", "u32", "s32", "u64", "s64", "f32", "f64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
    "max": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
    "add": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"),
}


@instruction(
    "atomics", "atom red", ".and .or .xor .exch .cas .inc .dec .min .max .add, scalar types; global, shared, generic"
)
def atom(e: Emitter, op: Op) -> None:
    form = Form(op)
    gives = op.opcode == "atom"
    form.flag("relaxed", "acquire", "release", "acq_rel")
    form.flag("noftz")
    space = space_of(form)
    name = form.need(*_ALLOWED)
    type_ = form.done(*_ALLOWED[name])
    operands = op.operands[1:] if gives else op.operands
    if len(operands) != (3 if name == "cas" else 2) or (name in ("exch", "cas") and not gives):
        raise form.error("it has another number of operands")
    where = pointer(e, operands[0], space, type_.bytes, Reason.ATOMIC)
    value = e.read(operands[1], type_.bits)
    if name == "cas":
        pair = e.builder.cmpxchg(where, value, e.read(operands[2], type_.bits), ORDER, ORDER)
        old = e.builder.extract_value(pair, 0)
    else:
        old = _modify(e, name, type_, where, value)
    if gives:
        e.write(op.operands[0], old)


def _modify(e: Emitter, name: str, type_: Type, where: Llvm, value: Llvm) -> Llvm:
    b = e.builder
    if name in _SIMPLE:
        return b.atomic_rmw(_SIMPLE[name], where, value, ORDER)
    if type_.integer:
        kind = name if name == "add" else ("" if type_.signed else "u") + name
        return b.atomic_rmw(kind, where, value, ORDER)
    if type_.bits >= 32 and type_.lanes == 1:
        number = b.bitcast(value, F64 if type_.bits == 64 else F32)
        return b.bitcast(b.atomic_rmw("fadd", where, number, ORDER), value.type)
    half = TYPES[type_.name[:-2]] if type_.lanes == 2 else type_
    return _loop(e, where, value, lambda old: e.lanes(type_, lambda *pair: _half(e, name, half, *pair), [old, value]))


def _half(e: Emitter, name: str, half: Type, old: Llvm, value: Llvm) -> Llvm:
    left, right = floats.lift(e, half, old), floats.lift(e, half, value)
    if name == "add":
        return floats.lower(e, half, e.builder.fadd(left, right))
    b = e.builder
    first = b.fcmp_unordered(">" if name == "max" else "<", left, right)
    number = b.select(first, left, right)
    return floats.lower(e, half, b.select(b.fcmp_unordered("uno", left, left), right, number))


def _loop(e: Emitter, where: Llvm, value: Llvm, apply: Callable[[Llvm], Llvm]) -> Llvm:
    """Compare and exchange until nobody came between."""
    b = e.builder
    kind = ir.IntType(value.type.width)
    first = b.load_atomic(where, "monotonic", kind.width // 8, typ=kind)
    before, again, after = b.block, e.new_block(), e.new_block()
    b.branch(again)
    b.position_at_end(again)
    old = b.phi(kind)
    old.add_incoming(first, before)
    pair = b.cmpxchg(where, old, apply(old), ORDER, ORDER)
    seen = b.extract_value(pair, 0)
    old.add_incoming(seen, b.block)
    b.cbranch(b.extract_value(pair, 1), after, again)
    b.position_at_end(after)
    return old


@instruction("atomics", "membar fence", ".cta .gl .sys .gpu, .sc .acq_rel")
def fence(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.flag("sc", "acq_rel", "acquire", "release")
    form.flag("cta", "gl", "sys", "gpu", "cluster")
    form.end()
    e.builder.fence(ORDER)
