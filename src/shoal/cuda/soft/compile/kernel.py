"""A flat kernel to one LLVM function, and the checks that every instruction is one of the table."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from llvmlite import ir

from shoal.cuda.soft.compile.emitter import BUDGET, I32, Emitter, Llvm
from shoal.cuda.soft.compile.floats import TYPES_NAMES
from shoal.cuda.soft.compile.layout import Launch, Reason, Stop
from shoal.cuda.soft.compile.table import TABLE, Entry, Form, instruction
from shoal.cuda.soft.ptx.flat import Flat, Inverse, Op, Register, Target
from shoal.cuda.soft.ptx.liveness import Block, before, blocks
from shoal.cuda.soft.ptx.tree import Number

for _family in (
    "integers",
    "bits",
    "floats",
    "functions",
    "compare",
    "convert",
    "memory",
    "atomics",
    "warp",
    "control",
):
    importlib.import_module(f"shoal.cuda.soft.compile.{_family}")

_WAITS_FOR_OTHERS = frozenset(("volatile", "relaxed", "acquire", "mmio"))


@instruction("control", "bra brx", "bra, .uni; brx.idx over .branchtargets")
def _branch(e: Emitter, op: Op) -> None:
    raise AssertionError("a branch ends its block and is built there")


@dataclass(frozen=True, slots=True)
class Code:
    """LLVM's text of a kernel, and the bytes of a thread's record."""

    text: str
    record_bytes: int


def build(flat: Flat) -> Code:
    module = ir.Module(flat.name)
    emitter = Emitter(module, flat)
    _Builder(emitter, blocks(flat)).build()
    return Code(str(module), emitter.record_bytes())


def entry_of(op: Op) -> Entry:
    found = TABLE.get(op.opcode)
    if found is None:
        raise Form(op).error(
            "the software GPU does not have this instruction (docs/software-gpu.md lists those it has)"
        )
    return found


class _Builder:
    def __init__(self, emitter: Emitter, found: list[Block]) -> None:
        self.e = emitter
        self.found = found
        self.places = [emitter.new_block(f"block{index}") for index in range(len(found))]
        self.by_label = {label: index for index, block in enumerate(found) for label in block.labels}
        # A loop that waits for what another thread does must let it run. Other loops only look whether to end.
        self.yields = any(
            op.opcode == "atom" or (op.opcode == "ld" and _WAITS_FOR_OTHERS & set(op.modifiers))
            for block in found
            for op in block.ops
        )

    def build(self) -> None:
        e = self.e
        e.builder.position_at_end(e.start)
        e.builder.branch(self.places[0])
        for index, block in enumerate(self.found):
            e.builder.position_at_end(self.places[index])
            self.block(index, block)
        e.finish()
        for place in e.function.blocks:  # what follows an end and is reached by nothing
            if not place.is_terminated:
                ir.IRBuilder(place).unreachable()

    def block(self, index: int, block: Block) -> None:
        e = self.e
        after = [block.live_out]
        for op in reversed(block.ops):
            after.append(before(op, after[-1]))
        for op, live in zip(block.ops, reversed(after[:-1]), strict=True):
            e.line, e.instruction = op.line, op.text
            e.live = before(op, live)
            if op.opcode in ("bra", "brx"):
                self.branch(index, op)
                return
            self.guarded(op)
        if not e.builder.block.is_terminated:
            if index + 1 < len(self.places):
                e.builder.branch(self.places[index + 1])
            else:
                e.builder.ret(I32(int(Stop.EXIT)))

    def guarded(self, op: Op) -> None:
        e = self.e
        emit = entry_of(op).emit
        if op.modifiers[-1:] and op.modifiers[-1] in TYPES_NAMES:
            for operand in op.operands:
                if isinstance(operand, Number) and operand.value:
                    raise e.error(f"{operand.value} is no real number; write {operand.value}.0")
        if op.guard is None:
            emit(e, op)
            return
        inside, after = e.new_block(), e.new_block()
        e.builder.cbranch(e.predicate(op.guard), inside, after)
        e.builder.position_at_end(inside)
        emit(e, op)
        e.builder.branch(after)
        e.builder.position_at_end(after)

    def branch(self, index: int, op: Op) -> None:
        e = self.e
        form = Form(op)
        if op.opcode == "bra":
            form.flag("uni")
        else:
            form.need("idx")
            form.flag("uni")
        form.end()
        inside = e.builder.block
        if op.guard is not None:
            taken, other = e.new_block(), self.next(index)
            inside = taken
            e.builder.cbranch(self.guard(op.guard), taken, other)
        e.builder.position_at_end(inside)
        target = op.operands[-1]
        if not isinstance(target, Target):
            raise form.error("it goes to a label")
        indexes = [self.by_label[name] for name in target.names]
        if op.opcode == "bra":
            e.builder.branch(self.edge(index, indexes[0]))
            return
        number = e.read(op.operands[0], 32)
        edges = [self.edge(index, to) for to in indexes]
        e.builder.position_at_end(inside)
        switch = e.builder.switch(number, edges[0])  # an index beyond the list is the program's fault, and undefined
        for case, edge in enumerate(edges):
            switch.add_case(I32(case), edge)

    def guard(self, guard: Register | Inverse) -> Llvm:
        return self.e.predicate(guard)

    def next(self, index: int) -> Llvm:
        if index + 1 < len(self.places):
            return self.places[index + 1]
        place = self.e.new_block()
        ir.IRBuilder(place).ret(I32(int(Stop.EXIT)))
        return place

    def edge(self, index: int, to: int) -> Llvm:
        """Where a branch goes: the block itself, or for a loop by way of a look at the clock."""
        if to > index:
            return self.places[to]
        e = self.e
        here = e.builder.block
        edge, slow = e.new_block("loop"), e.new_block()
        b = e.builder
        b.position_at_end(edge)
        left = b.sub(b.load(e.budget, typ=I32), I32(1))
        b.store(left, e.budget)
        b.cbranch(b.icmp_unsigned("!=", left, I32(0)), self.places[to], slow)
        b.position_at_end(slow)
        where, kind = e.place(e.launch, Launch, "stop")
        stop = b.load_atomic(where, "monotonic", 4, typ=kind)
        e.fail_unless(b.icmp_unsigned("==", stop, I32(0)), ir.IntType(64)(0), Reason.STOPPED)
        if self.yields:
            e.stop(Stop.RUN, self.found[to].live_in)
        b.store(I32(BUDGET), e.budget)
        b.branch(self.places[to])
        b.position_at_end(here)
        return edge
