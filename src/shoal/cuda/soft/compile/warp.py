"""Operations over the lanes of a warp. Each lane shows its operand and stops until the others are there too."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from shoal.cuda.soft.compile.emitter import I1, I32, I64, Emitter, Llvm
from shoal.cuda.soft.compile.layout import WARP, Block, Launch, Stop, Thread
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.ptx.flat import Op, Two, Value


def gather(e: Emitter, op: Op, given: Llvm, mask: Value | None) -> None:
    """Stop until every lane of the mask is at an operation of the same kind. Without a mask, those that come to this
    very instruction are together."""
    e.put(e.thread, Thread, "given", e.resize(given, 64))
    e.put(e.thread, Thread, "mask", I32(0) if mask is None else e.read(mask, 32))
    e.put(e.thread, Thread, "key", e.key(op.text if mask is not None else f"{op.text} {len(e.resumes)}"))
    e.stop(Stop.WARP, e.live)


def _lane(e: Emitter) -> Llvm:
    return e.builder.and_(e.field(e.thread, Thread, "linear"), I32(WARP - 1))


def shown(e: Emitter, lane: Llvm) -> Llvm:
    """What a lane that took part has shown."""
    b = e.builder
    first = b.and_(e.field(e.thread, Thread, "linear"), I32(-WARP))
    stride = b.zext(e.field(e.launch, Launch, "stride"), I64)
    start = b.mul(b.zext(b.add(first, lane), I64), stride)
    record = b.inttoptr(b.add(e.field(e.block, Block, "threads"), start), ir.PointerType())
    return e.field(record, Thread, "shown")


def over_group(e: Emitter, start: Llvm, step: Callable[[Llvm, Llvm, Llvm], Llvm]) -> Llvm:
    """Fold what the lanes of the group have shown: `step(total, shown, lane)`."""
    b = e.builder
    before, head, body, after = b.block, e.new_block(), e.new_block(), e.new_block()
    group = e.field(e.thread, Thread, "group")
    b.branch(head)
    b.position_at_end(head)
    left, total = b.phi(I32), b.phi(start.type)
    left.add_incoming(group, before)
    total.add_incoming(start, before)
    b.cbranch(b.icmp_unsigned("!=", left, I32(0)), body, after)
    b.position_at_end(body)
    lane = e.intrinsic("cttz", [left, I1(1)])
    total.add_incoming(step(total, shown(e, lane), lane), b.block)
    left.add_incoming(b.and_(left, b.sub(left, I32(1))), b.block)
    b.branch(head)
    b.position_at_end(after)
    return total


@instruction("warp", "shfl", ".sync or not, .up .down .bfly .idx, .b32")
def shfl(e: Emitter, op: Op) -> None:
    form = Form(op)
    sync = form.flag("sync")
    mode = form.need("up", "down", "bfly", "idx")
    form.done("b32")
    form.operands(5 if sync else 4)
    target = op.operands[0]
    gather(e, op, e.read(op.operands[1], 32), op.operands[4] if sync else None)
    b = e.builder
    lane = _lane(e)
    source, control = (e.read(operand, 32) for operand in op.operands[2:4])
    source, clamp = b.and_(source, I32(31)), b.and_(control, I32(31))
    segment = b.and_(b.lshr(control, I32(8)), I32(31))
    outside = b.and_(b.not_(segment), I32(31))
    last = b.or_(b.and_(lane, segment), b.and_(clamp, outside))
    other = {
        "up": lambda: b.sub(lane, source),
        "down": lambda: b.add(lane, source),
        "bfly": lambda: b.xor(lane, source),
        "idx": lambda: b.or_(b.and_(lane, segment), b.and_(source, outside)),
    }[mode]()
    inside = b.icmp_signed(">=" if mode == "up" else "<=", other, last)
    other = b.select(inside, other, lane)
    # Of a lane that is not there, nothing is read: the result is then left open, and is the lane's own here.
    there = b.trunc(b.lshr(e.field(e.thread, Thread, "group"), b.and_(other, I32(31))), I1)
    value = b.trunc(shown(e, b.select(there, other, lane)), I32)
    e.write_pair(target, value, inside)


@instruction("warp", "vote", ".sync or not, .all .any .uni .pred, .ballot.b32")
def vote(e: Emitter, op: Op) -> None:
    form = Form(op)
    sync = form.flag("sync")
    mode = form.need("all", "any", "uni", "ballot")
    form.done("b32" if mode == "ballot" else "pred")
    form.operands(3 if sync else 2)
    gather(e, op, e.predicate(op.operands[1]), op.operands[2] if sync else None)
    b = e.builder
    ballot, group = (e.field(e.thread, Thread, name) for name in ("ballot", "group"))
    every, some = b.icmp_unsigned("==", ballot, group), b.icmp_unsigned("!=", ballot, I32(0))
    answer = {
        "all": lambda: every,
        "any": lambda: some,
        "uni": lambda: b.or_(every, b.not_(some)),
        "ballot": lambda: ballot,
    }[mode]()
    e.write(op.operands[0], answer)


@instruction("warp", "activemask", ".b32")
def activemask(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.done("b32")
    form.operands(1)
    gather(e, op, I64(0), None)
    e.write(op.operands[0], e.field(e.thread, Thread, "group"))


@instruction("warp", "match", ".any .all, .sync, .b32 .b64")
def match(e: Emitter, op: Op) -> None:
    form = Form(op)
    mode = form.need("any", "all")
    form.need("sync")
    type_ = form.done("b32", "b64")
    form.operands(3)
    gather(e, op, e.read(op.operands[1], type_.bits), op.operands[2])
    b = e.builder
    own = e.field(e.thread, Thread, "shown")

    def step(total: Llvm, value: Llvm, lane: Llvm) -> Llvm:
        return b.select(b.icmp_unsigned("==", value, own), b.or_(total, b.shl(I32(1), lane)), total)

    same = over_group(e, I32(0), step)
    target = op.operands[0]
    if mode == "any":
        e.write(target, same)
        return
    every = b.icmp_unsigned("==", same, e.field(e.thread, Thread, "group"))
    value = b.select(every, same, I32(0))
    e.write_pair(target, value, every)


@instruction("warp", "redux", ".sync, .add .min .max .u32 .s32, .and .or .xor .b32")
def redux(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.need("sync")
    name = form.need("add", "min", "max", "and", "or", "xor")
    type_ = form.done(*(("u32", "s32") if name in ("add", "min", "max") else ("b32",)))
    form.operands(3)
    gather(e, op, e.read(op.operands[1], 32), op.operands[2])
    b = e.builder
    start = {"add": 0, "or": 0, "xor": 0, "and": -1}.get(name)
    first = e.builder.trunc(e.field(e.thread, Thread, "shown"), I32) if start is None else I32(start)

    def step(total: Llvm, value: Llvm, lane: Llvm) -> Llvm:
        value = b.trunc(value, I32)
        if name in ("min", "max"):
            return e.intrinsic(("s" if type_.signed else "u") + name, [total, value])
        return {"add": b.add, "and": b.and_, "or": b.or_, "xor": b.xor}[name](total, value)

    e.write(op.operands[0], over_group(e, first, step))


@instruction("warp", "elect", ".sync")
def elect(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.need("sync")
    form.end()
    form.operands(2)
    gather(e, op, I64(0), op.operands[1])
    leader = e.intrinsic("cttz", [e.field(e.thread, Thread, "group"), I1(1)])
    target = op.operands[0]
    if not isinstance(target, Two):
        raise form.error("it gives a lane and a predicate")
    e.write(target.first, leader)
    e.write(target.second, e.builder.icmp_unsigned("==", leader, _lane(e)))
