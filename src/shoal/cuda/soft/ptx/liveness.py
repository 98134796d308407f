"""Which registers a thread still needs at a point: what it must put away when it stops there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from shoal.cuda.soft.ptx.flat import CARRY, At, Flat, Group, Inverse, Op, Register, Target, Two, Value
from shoal.cuda.soft.ptx.tree import PtxError

_WITHOUT_RESULT = """
st red bra brx exit membar fence trap brkpt nanosleep prefetch prefetchu discard applypriority pmevent cp
"""
_NO_RESULT = frozenset(_WITHOUT_RESULT.split())
_READS_CARRY = ("addc", "subc", "madc")


@dataclass(slots=True)
class Block:
    """Operations of which only the last may leave it. `next` are the indexes of blocks that may follow."""

    labels: list[str]
    ops: list[Op]
    next: list[int] = field(default_factory=list)
    live_in: frozenset[Register] = frozenset()
    live_out: frozenset[Register] = frozenset()


def blocks(flat: Flat) -> list[Block]:
    """The kernel's basic blocks in the order of the text, with what is live at their ends."""
    found = [Block([], [])]
    for item in flat.items:
        if isinstance(item, str):
            if found[-1].ops:
                found.append(Block([], []))
            found[-1].labels.append(item)
        else:
            found[-1].ops.append(item)
            if item.opcode in ("bra", "brx", "exit"):
                found.append(Block([], []))
    if not found[-1].ops and not found[-1].labels:
        found.pop()
    by_label = {label: index for index, block in enumerate(found) for label in block.labels}
    for index, block in enumerate(found):
        last = block.ops[-1] if block.ops else None
        if last is not None and last.opcode in ("bra", "brx"):
            targets = last.operands[-1] if last.operands else None
            if not isinstance(targets, Target):
                raise PtxError(f"{last.text}: it goes to a label", last.line)
            block.next += [by_label[name] for name in targets.names]
        if (last is None or last.guard is not None or last.opcode not in ("bra", "brx", "exit")) and index + 1 < len(
            found
        ):
            block.next.append(index + 1)
    _solve(found)
    return found


def before(op: Op, after: frozenset[Register]) -> frozenset[Register]:
    """What is live before an operation, given what is live after it."""
    results = frozenset(results_of(op)) if op.guard is None else frozenset()
    return (after - results) | frozenset(uses_of(op))


def results_of(op: Op) -> Iterator[Register]:
    if op.opcode == "call" or has_result(op):
        yield from _registers(op.operands[0])
    if "cc" in op.modifiers:
        yield CARRY


def has_result(op: Op) -> bool:
    if op.opcode in ("bar", "barrier"):
        return "red" in op.modifiers
    return op.opcode not in _NO_RESULT and bool(op.operands) and not isinstance(op.operands[0], At)


def uses_of(op: Op) -> Iterator[Register]:
    for operand in op.operands[1 if has_result(op) else 0 :]:
        yield from _registers(operand)
    if op.guard is not None:
        yield from _registers(op.guard)
    if op.opcode in _READS_CARRY:
        yield CARRY


def _registers(value: Value) -> Iterator[Register]:
    match value:
        case Register(name):
            if name != "_":
                yield value
        case At(Register() as base):
            yield base
        case Inverse(register):
            yield register
        case Group(items):
            for item in items:
                yield from _registers(item)
        case Two(first, second):
            yield from _registers(first)
            yield from _registers(second)


def _solve(found: list[Block]) -> None:
    changed = True
    while changed:
        changed = False
        for block in reversed(found):
            out: frozenset[Register] = frozenset()
            for index in block.next:
                out |= found[index].live_in
            live = out
            for op in reversed(block.ops):
                live = before(op, live)
            if live != block.live_in or out != block.live_out:
                block.live_in, block.live_out = live, out
                changed = True
