"""What a PTX module says, as small values."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.soft.ptx.types import Type


class PtxError(DriverError):
    """PTX that is wrong, or that the software GPU does not execute. The message names the line."""

    def __init__(self, message: str, line: int = 0, status: int = Status.INVALID_PTX) -> None:
        super().__init__(status, f"PTX line {line}: {message}" if line else f"PTX: {message}")


@dataclass(frozen=True, slots=True)
class Name:
    """A register, a variable, a label or a function; `part` is the x of `%tid.x`. `offset` is that of `name+4`."""

    text: str
    part: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Number:
    value: int


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point constant: its bits, as a number of 32 or 64 bits."""

    pattern: int
    bits: int

    def of(self, bits: int) -> int | None:
        """Its bits as a number of 32 or 64, rounded to the nearest; None for other sizes."""
        if bits == self.bits:
            return self.pattern
        if {bits, self.bits} != {32, 64}:
            return None
        own, other = ("<f", "<d") if self.bits == 32 else ("<d", "<f")
        (number,) = struct.unpack(own, self.pattern.to_bytes(self.bits // 8, "little"))
        try:
            packed = struct.pack(other, number)
        except OverflowError:
            packed = struct.pack(other, math.copysign(math.inf, number))
        return int.from_bytes(packed, "little")


@dataclass(frozen=True, slots=True)
class Address:
    base: Name | Number
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Not:
    name: Name


@dataclass(frozen=True, slots=True)
class Pair:
    """`%p|%q`: two results."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Many:
    """`{a, b}`, or the lists in parentheses of a call."""

    items: tuple[Operand, ...]


Operand = Name | Number | Real | Address | Not | Pair | Many


@dataclass(frozen=True, slots=True)
class Instruction:
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    guard: Name | Not | None = None

    @property
    def text(self) -> str:
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Registers:
    """`count` registers `name0` … for `%r<5>`, and one register where it is None."""

    name: str
    type: Type
    count: int | None


@dataclass(frozen=True, slots=True)
class Variable:
    """`space` is global, const, shared, local or param. `initial` holds numbers, and names of variables for addresses.
    `size` is 0 for the shared memory whose size the launch says."""

    name: str
    space: str
    type: Type
    size: int
    align: int
    initial: tuple[Number | Real | Name, ...] = ()
    extern: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """A body within braces: its names are its own."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Targets:
    """`name: .branchtargets a, b;`"""

    name: str
    labels: tuple[str, ...]


Item = Instruction | Label | Registers | Variable | Scope | Targets


@dataclass(slots=True)
class Function:
    """`body` is None for what is only declared. Formals of device functions are registers or variables."""

    name: str
    kernel: bool
    results: tuple[Variable | Registers, ...]
    parameters: tuple[Variable | Registers, ...]
    body: tuple[Item, ...] | None
    line: int
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Module:
    version: tuple[int, int]
    target: str
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
