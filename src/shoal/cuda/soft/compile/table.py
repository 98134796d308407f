"""Which instructions there are: each family adds its own, and the documentation's table is made of the same entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.cuda.soft.ptx.flat import Op
from shoal.cuda.soft.ptx.tree import PtxError
from shoal.cuda.soft.ptx.types import TYPES, Type

if TYPE_CHECKING:
    from shoal.cuda.soft.compile.emitter import Emitter

Emit = Callable[["Emitter", Op], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """`forms` says which modifiers and types are executed."""

    opcode: str
    family: str
    forms: str
    emit: Emit


TABLE: dict[str, Entry] = {}


def instruction(family: str, opcodes: str, forms: str) -> Callable[[Emit], Emit]:
    """The function emits these opcodes, which have spaces between them."""

    def add(emit: Emit) -> Emit:
        for opcode in opcodes.split():
            TABLE[opcode] = Entry(opcode, family, forms, emit)
        return emit

    return add


class Form:
    """The modifiers of one instruction, taken one by one. What is left at the end is something that the software GPU
    does not know, so that nothing is ever computed as if it were not there."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.left = list(op.modifiers)

    def flag(self, *names: str) -> bool:
        """Whether one of these is there."""
        return self.one(*names) != ""

    def one(self, *names: str) -> str:
        """The first modifier that is one of these; empty if none is."""
        for modifier in self.left:
            if modifier in names:
                self.left.remove(modifier)
                return modifier
        return ""

    def need(self, *names: str) -> str:
        found = self.one(*names)
        if not found:
            raise self.error(f"one of .{', .'.join(names)} is missing")
        return found

    def types(self, *allowed: str) -> list[Type]:
        """All modifiers that are types, in their order."""
        found = [TYPES[modifier] for modifier in self.left if modifier in TYPES]
        self.left = [modifier for modifier in self.left if modifier not in TYPES]
        for type_ in found:
            if allowed and type_.name not in allowed:
                raise self.error(f".{type_.name} is not a type that it has")
        return found

    def done(self, *allowed: str) -> Type:
        """The only type, once everything else is taken."""
        found = self.types(*allowed)
        if len(found) != 1:
            raise self.error("it has one type")
        self.end()
        return found[0]

    def end(self) -> None:
        if self.left:
            raise self.error(f".{self.left[0]} is not supported here")

    def error(self, why: str) -> PtxError:
        return PtxError(f"{self.op.text}: {why}", self.op.line)

    def operands(self, least: int, most: int | None = None) -> None:
        count = len(self.op.operands)
        if not least <= count <= (most if most is not None else least):
            raise self.error(f"it has {least} operands, not {count}")
