"""Loads, stores, and addresses. Every access is checked: outside of what the program has, or misaligned, is a fault.

An address in global memory is the host's own. One in shared, local or parameter memory is an offset within the window
of the block or the thread; as a generic address it is the host's again.
"""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile.emitter import I16, I64, POINTER, Emitter, Llvm
from shoal.cuda.soft.compile.layout import GRANULE, Reason
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import At, Group, Op, Place, Register, Value
from shoal.cuda.soft.ptx.tree import Number
from shoal.cuda.soft.ptx.types import Type

_WINDOWS = {
    "shared": "shared",
    "shared::cta": "shared",
    "dynamic": "shared",
    "local": "local",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
_SPACES = ("global", "const", *_WINDOWS)
_SCOPES = ("cta", "gpu", "sys", "cluster")
_HINTS = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "unified")
_ORDERED = ("volatile", "relaxed", "acquire", "release", "mmio")
SCALARS = (*(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)), "f16", "bf16", "f32", "f64", "b128")


def space_of(form: Form) -> str:
    """The space that is named; empty for generic addresses. Caching and scopes change nothing here."""
    form.left = [modifier for modifier in form.left if not modifier.startswith(("L1::", "L2::"))]
    while form.flag(*_HINTS, *_SCOPES):
        pass
    return form.one(*_SPACES)


def window(e: Emitter, space: str) -> tuple[Llvm, Llvm]:
    """Where it lies in the host's memory, and how large it is."""
    return {
        "shared": (e.shared, e.shared_bytes),
        "local": (e.local, e.local_bytes),
        "param": (e.parameters, e.parameter_bytes),
    }[space]


def address(e: Emitter, at: Value) -> tuple[Llvm, str]:
    """The value of an address as 64 bits, and the space that its variable tells, if it is one."""
    if not isinstance(at, At):
        raise e.error("expected an address in brackets")
    match at.base:
        case Place(space):
            return e.builder.add(e.address_of(at.base), I64(at.offset)), space
        case Number(value):
            return I64((value + at.offset) & (1 << 64) - 1), ""
        case Register(_, type_):
            value = e.load(at.base)
            if type_.bits not in (32, 64):
                raise e.error("an address has 32 or 64 bits")
            value = e.builder.add(value, value.type(at.offset & (1 << type_.bits) - 1)) if at.offset else value
            return e.resize(value, 64), ""


def pointer(e: Emitter, at: Value, space: str, size: int, reason: Reason) -> Llvm:
    """The checked place of `size` bytes, which are a power of two."""
    value, own = address(e, at)
    space = _WINDOWS.get(own or space, own or space)
    assert isinstance(at, At)
    inside = isinstance(at.base, Place) and at.offset >= 0 and at.offset + size <= at.base.size
    if space in ("shared", "local", "param"):
        start, total = window(e, space)
        if not (inside and isinstance(at.base, Place) and (at.base.offset + at.offset) % size == 0):
            e.fail_unless(within(e, value, I64(0), total, size), value, reason, size)
        return e.builder.inttoptr(e.builder.add(start, value), POINTER)
    fine = in_global(e, value, size)
    if not space:
        _anywhere(e, fine, value, size, reason)
    else:
        e.fail_unless(fine, value, reason, size)
    return e.builder.inttoptr(value, POINTER)


def within(e: Emitter, value: Llvm, start: Llvm, total: Llvm, size: int) -> Llvm:
    b = e.builder
    offset = b.sub(value, start)
    below = b.and_(b.icmp_unsigned("<", offset, total), b.icmp_unsigned("<=", b.add(offset, I64(size)), total))
    return b.and_(below, b.icmp_unsigned("==", b.and_(offset, I64(size - 1)), I64(0)))


def in_global(e: Emitter, value: Llvm, size: int) -> Llvm:
    """Whether the context's map allows the access. What is outside of the device reads the map's last number, a 0."""
    b = e.builder
    offset = b.sub(value, e.base)
    granule = e.intrinsic("umin", [b.lshr(offset, I64(GRANULE.bit_length() - 1)), e.granules])
    entry = b.inttoptr(b.add(e.map, b.shl(granule, I64(1))), POINTER)
    allowed = b.zext(b.load(entry, typ=I16), I64)
    end = b.add(b.and_(offset, I64(GRANULE - 1)), I64(size))
    fine = b.icmp_unsigned("<=", end, allowed)
    return b.and_(fine, b.icmp_unsigned("==", b.and_(value, I64(size - 1)), I64(0))) if size > 1 else fine


def _anywhere(e: Emitter, fine: Llvm, value: Llvm, size: int, reason: Reason) -> None:
    """A generic address that is not in global memory may be in one of the windows."""
    b = e.builder
    slow, after = e.new_block(), e.new_block()
    b.cbranch(fine, after, slow)
    b.position_at_end(slow)
    allowed = within(e, value, e.shared, e.shared_bytes, size)
    allowed = b.or_(allowed, within(e, value, e.local, e.local_bytes, size))
    if reason is Reason.LOAD:
        allowed = b.or_(allowed, within(e, value, e.parameters, e.parameter_bytes, size))
    e.fail_unless(allowed, value, reason, size)
    b.branch(after)
    b.position_at_end(after)


def _shape(form: Form) -> tuple[str, str, int, Type]:
    """Ordering, space, how many values and their type."""
    ordering = form.one(*_ORDERED)
    space = space_of(form)
    count = int((form.one("v2", "v4", "v8") or "v1")[1:])
    type_ = form.done(*SCALARS)
    if count * type_.bytes > 32:
        raise form.error("more than 32 bytes at once")
    return ordering, space, count, type_


@instruction(
    "memory", "ld ldu", "all spaces and generic, .v2 .v4 .v8, .volatile .relaxed .acquire; types of 8 to 128 bits"
)
def load(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2, 3)
    ordering, space, count, type_ = _shape(form)
    where = pointer(e, op.operands[1], space, count * type_.bytes, Reason.LOAD)
    target = op.operands[0]
    targets = target.items if isinstance(target, Group) else (target,)
    if len(targets) != count:
        raise form.error(f"{count} registers take its result")
    kind = ir.IntType(type_.bits)
    for index, item in enumerate(targets):
        element = e.builder.gep(where, [I64(index * type_.bytes)], source_etype=ir.IntType(8)) if index else where
        if ordering and type_.bits <= 64:
            how = "acquire" if ordering == "acquire" else "monotonic"
            value = e.builder.load_atomic(element, how, type_.bytes, typ=kind)
        else:
            value = e.builder.load(element, align=type_.bytes, typ=kind)
        e.write(item, value, signed=type_.signed, loose=True)


@instruction("memory", "st", "all spaces and generic, .v2 .v4 .v8, .volatile .relaxed .release; types of 8 to 128 bits")
def store(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2, 3)
    ordering, space, count, type_ = _shape(form)
    if space == "const":
        raise form.error("constant memory is not written")
    where = pointer(e, op.operands[0], space, count * type_.bytes, Reason.STORE)
    source = op.operands[1]
    sources = source.items if isinstance(source, Group) else (source,)
    if len(sources) != count:
        raise form.error(f"{count} registers are stored")
    for index, item in enumerate(sources):
        value = e.read(item, type_.bits, loose=True)
        element = e.builder.gep(where, [I64(index * type_.bytes)], source_etype=ir.IntType(8)) if index else where
        if ordering and type_.bits <= 64:
            e.store_atomic(value, element, "release" if ordering == "release" else "monotonic")
        else:
            e.builder.store(value, element, align=type_.bytes)


@instruction("memory", "cvta", ".to, .global .const .shared .local .param, .u64")
def cvta(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    to = form.flag("to")
    space = form.need(*_SPACES)
    form.done("u64")
    value = e.read(op.operands[1], 64)
    if space in _WINDOWS:
        start, _ = window(e, _WINDOWS[space])
        value = e.builder.sub(value, start) if to else e.builder.add(value, start)
    e.write(op.operands[0], value)


@instruction("memory", "isspacep", ".global .const .shared .local .param")
def isspacep(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.operands(2)
    space = form.need(*_SPACES)
    form.end()
    value = e.read(op.operands[1], 64)
    b = e.builder

    def inside(name: str) -> Llvm:
        start, total = window(e, name)
        return b.icmp_unsigned("<", b.sub(value, start), total)

    if space in _WINDOWS:
        answer = inside(_WINDOWS[space])
    elif space == "const":
        answer = ir.IntType(1)(0)
    else:
        answer = b.not_(b.or_(inside("shared"), b.or_(inside("local"), inside("param"))))
    e.write(op.operands[0], answer)


@instruction("memory", "prefetch prefetchu discard applypriority", "accepted; there is no cache to tell")
def hint(e: Emitter, op: Op) -> None:
    pass


@instruction(
    "memory", "cp", ".async.ca .async.cg .shared.global of 4, 8 or 16 bytes; .async.commit_group .wait_group .wait_all"
)
def copy(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.need("async")
    if form.flag("commit_group", "wait_group", "wait_all"):  # the copy below has happened when it returns
        form.end()
        return
    space_of(form)
    form.left = [modifier for modifier in form.left if modifier not in ("shared", "shared::cta", "global")]
    form.end()
    form.operands(3)
    size = op.operands[2]
    if not isinstance(size, Number) or size.value not in (4, 8, 16):
        raise form.error("it copies 4, 8 or 16 bytes")
    source = pointer(e, op.operands[1], "global", size.value, Reason.LOAD)
    target = pointer(e, op.operands[0], "shared", size.value, Reason.STORE)
    kind = ir.IntType(8 * size.value)
    e.builder.store(e.builder.load(source, align=size.value, typ=kind), target, align=size.value)
