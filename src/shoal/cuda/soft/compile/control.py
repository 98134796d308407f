"""Barriers, ends, and the functions of the host that kernels call. Branches are in `kernel`."""

from __future__ import annotations

from llvmlite import ir

from shoal.cuda.soft.compile.emitter import I32, I64, POINTER, Emitter, Llvm
from shoal.cuda.soft.compile.layout import BARRIERS, Block, Launch, Reason, Stop, Thread
from shoal.cuda.soft.compile.table import Form, instruction
from shoal.cuda.soft.compile.warp import gather
from shoal.cuda.soft.ptx.flat import Group, Op, Place, Value
from shoal.cuda.soft.ptx.tree import Number

PRINT, ASSERT = 1, 2
"""What the host's function is asked for."""


@instruction(
    "control", "bar barrier", ".sync .arrive .red.popc.u32 .red.and.pred .red.or.pred, .warp.sync, .cta .aligned"
)
def bar(e: Emitter, op: Op) -> None:
    form = Form(op)
    form.flag("cta")
    if form.flag("warp"):
        form.need("sync")
        form.end()
        gather(e, op, I64(0), op.operands[0])
        return
    what = form.need("sync", "arrive", "red")
    form.flag("aligned")
    if what == "red":
        _reduce(e, form, op)
        return
    form.end()
    form.operands(1, 2)
    count = e.read(op.operands[1], 32) if len(op.operands) == 2 else I32(0)
    number = _number(e, op.operands[0])
    if what == "sync":
        _wait(e, number, count, I64(0))
        return
    if len(op.operands) != 2:
        raise form.error("it needs the number of threads")
    where, kind = e.place(e.block, Block, "arrived")
    cell = e.builder.gep(where, [e.builder.zext(number, I64)], source_etype=kind)
    e.builder.store(e.builder.add(e.builder.load(cell, typ=kind), I32(1)), cell)


def _number(e: Emitter, operand: Value) -> Llvm:
    if isinstance(operand, Number) and not 0 <= operand.value < BARRIERS:
        raise e.error(f"barrier {operand.value} is not one of the {BARRIERS}")
    return e.builder.and_(e.read(operand, 32), I32(BARRIERS - 1))


def _wait(e: Emitter, number: Llvm, count: Llvm, given: Llvm) -> None:
    e.put(e.thread, Thread, "barrier", number)
    e.put(e.thread, Thread, "count", count)
    e.put(e.thread, Thread, "given", given)
    e.stop(Stop.BARRIER, e.live)


def _reduce(e: Emitter, form: Form, op: Op) -> None:
    how = form.need("popc", "and", "or")
    form.done("u32" if how == "popc" else "pred")
    form.operands(3, 4)
    number = _number(e, op.operands[1])
    count = e.read(op.operands[2], 32) if len(op.operands) == 4 else I32(0)
    _wait(e, number, count, e.builder.zext(e.predicate(op.operands[-1]), I64))
    b = e.builder
    those, all_ = (e.field(e.thread, Thread, name) for name in ("ballot", "group"))
    answer = {
        "popc": lambda: those,
        "and": lambda: b.icmp_unsigned("==", those, all_),
        "or": lambda: b.icmp_unsigned("!=", those, I32(0)),
    }[how]()
    e.write(op.operands[0], answer)


@instruction("control", "exit ret", "in kernels; ret in device functions too")
def exit_(e: Emitter, op: Op) -> None:
    e.builder.ret(I32(int(Stop.EXIT)))
    e.builder.position_at_end(e.new_block())


@instruction("control", "trap", "ends the kernel with a fault")
def trap(e: Emitter, op: Op) -> None:
    e.fail(Reason.TRAP)


@instruction("control", "brkpt nanosleep pmevent", "accepted, and without effect")
def nothing(e: Emitter, op: Op) -> None:
    pass


@instruction("control", "call", "device functions, without recursion and pointers; vprintf, __assertfail")
def call(e: Emitter, op: Op) -> None:
    (name,) = op.modifiers
    given, wanted = op.operands[2], op.operands[0]
    assert isinstance(given, Group)
    assert isinstance(wanted, Group)
    sizes = {"vprintf": (8, 8), "__assertfail": (8, 8, 4, 8, 8)}[name]
    if len(given.items) != len(sizes):
        raise e.error(f"{name} takes {len(sizes)} arguments")
    arguments = [_argument(e, item, size) for item, size in zip(given.items, sizes, strict=True)]
    shape = ir.FunctionType(I32, [I32, POINTER, POINTER, POINTER] + [I64] * 5)
    where = e.builder.inttoptr(e.field(e.launch, Launch, "call"), POINTER)
    what = I32(PRINT if name == "vprintf" else ASSERT)
    padded = arguments + [I64(0)] * (5 - len(arguments))
    answer = _call(e, where, shape, [what, e.launch, e.block, e.thread, *padded])
    if name == "__assertfail":
        e.fail(Reason.ASSERT)
    elif wanted.items:
        result = wanted.items[0]
        if isinstance(result, Place):
            target = e.builder.inttoptr(e.builder.add(e.local, I64(result.offset)), POINTER)
            e.builder.store(answer, target)
        else:
            e.write(result, answer)


def _argument(e: Emitter, item: Value, size: int) -> Llvm:
    if isinstance(item, Place) and item.space == "local":
        where = e.builder.inttoptr(e.builder.add(e.local, I64(item.offset)), POINTER)
        return e.resize(e.builder.load(where, typ=ir.IntType(8 * size)), 64)
    return e.resize(e.read(item, 8 * size), 64)


def _call(e: Emitter, where: Llvm, shape: Llvm, arguments: list[Llvm]) -> Llvm:
    """Through a pointer, for which llvmlite wants a function type on the value."""
    return e.builder.call(_Typed(where, shape), arguments)


class _Typed:
    """A pointer that llvmlite's builder takes for a function."""

    def __init__(self, pointer: Llvm, shape: Llvm) -> None:
        self.pointer = pointer
        self.function_type = shape
        self.type = pointer.type
        self.calling_convention = ""
        self.attributes: list[str] = []

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())
