"""A kernel as one flat list of operations: device functions put in where they are called, every name resolved.

A call is replaced by the body of what it calls, with registers and labels of its own, so that what follows (liveness,
code) knows one function alone, and a thread can stop at a barrier within a function as anywhere else. Recursion has no
such form and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.cuda.soft.ptx.tree import (
    Address,
    Function,
    Instruction,
    Item,
    Label,
    Many,
    Module,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    PtxError,
    Real,
    Registers,
    Scope,
    Targets,
    Variable,
)
from shoal.cuda.soft.ptx.types import TYPES, Type

BUILT_IN = ("vprintf", "__assertfail")
LIMIT = 200_000
"""Operations of one kernel, so that calls within calls within calls end with a message."""


@dataclass(frozen=True, slots=True)
class Register:
    name: str
    type: Type


CARRY = Register("CC", TYPES["pred"])
"""The flag that `add.cc` sets and `addc` reads."""


@dataclass(frozen=True, slots=True)
class Place:
    """A variable: its offset in its space, which is global, shared, local, param, or dynamic for shared memory whose
    size the launch says. `size` is then 0."""

    space: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Special:
    """`%tid` and its like."""

    name: str
    part: str


@dataclass(frozen=True, slots=True)
class Target:
    """A label, or a list of them."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class At:
    """An address: `[base+offset]`."""

    base: Register | Place | Number
    offset: int


@dataclass(frozen=True, slots=True)
class Inverse:
    register: Register


@dataclass(frozen=True, slots=True)
class Group:
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Two:
    first: Value
    second: Value


@dataclass(frozen=True, slots=True)
class Callee:
    name: str


Value = Register | Place | Special | Target | At | Inverse | Group | Two | Number | Real | Callee


@dataclass(frozen=True, slots=True)
class Op:
    """An instruction whose names are resolved."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Value, ...]
    line: int
    guard: Register | Inverse | None = None

    @property
    def text(self) -> str:
        return ".".join((self.opcode, *self.modifiers))


@dataclass(slots=True)
class Flat:
    """`parameters` holds offset and size of each; the sizes are bytes. A string in `items` is a label."""

    name: str
    items: list[Op | str] = field(default_factory=list)
    parameters: list[tuple[int, int]] = field(default_factory=list)
    parameter_bytes: int = 0
    local_bytes: int = 0
    shared_bytes: int = 0
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)


def flatten(module: Module, kernel: Function, places: Mapping[str, tuple[int, int]]) -> Flat:
    """`places` is where the module's global variables lie in its image."""
    return _Flattener(module, places, kernel).flat


class _Flattener:
    def __init__(self, module: Module, places: Mapping[str, tuple[int, int]], kernel: Function) -> None:
        self.module = module
        self.flat = Flat(kernel.name, directives=dict(kernel.directives))
        self.count = 0
        self.calls: list[str] = [kernel.name]
        top: dict[str, Value] = {name: Place("global", *place) for name, place in places.items()}
        self.module_shared: dict[str, Place] = {}
        self.names: list[dict[str, Value]] = [top, {}]
        for parameter in kernel.parameters:
            if isinstance(parameter, Registers):
                raise PtxError(f"the parameter {parameter.name} of a kernel is a register", kernel.line)
            start = _aligned(self.flat.parameter_bytes, parameter.align)
            self.flat.parameters.append((start, parameter.size))
            self.flat.parameter_bytes = start + parameter.size
            self.names[-1][parameter.name] = Place("param", start, parameter.size)
        self.body(kernel.body or (), "")
        self.flat.items.append(Op("exit", (), (), kernel.line))
        # Shared memory whose size the launch says starts where the rest ends; its names were given this offset early.
        self.flat.shared_bytes = _aligned(self.flat.shared_bytes, 16)

    def emit(self, op: Op) -> None:
        self.flat.items.append(op)
        if len(self.flat.items) > LIMIT:
            raise PtxError(f"{self.flat.name} has more than {LIMIT:,} instructions with its device functions", op.line)

    def fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}#{self.count}"

    def body(self, items: tuple[Item, ...], after: str) -> None:
        """`after` is the label that `ret` goes to; empty in the kernel itself."""
        self.names.append({})
        scope = self.names[-1]
        for item in items:  # labels and lists of them may be named before they stand
            if isinstance(item, Label):
                scope[item.name] = Target((self.fresh(item.name),))
        for item in items:
            if isinstance(item, Targets):
                scope[item.name] = Target(tuple(self.label(name, 0) for name in item.labels))
        for item in items:
            match item:
                case Instruction():
                    self.instruction(item, after)
                case Label():
                    self.flat.items.append(self.label(item.name, item.line))
                case Registers(name, type_, None):
                    scope[name] = Register(self.fresh(name), type_)
                case Registers(name, type_, count):
                    for number in range(count or 0):
                        scope[f"{name}{number}"] = Register(self.fresh(f"{name}{number}"), type_)
                case Variable():
                    scope[item.name] = self.variable(item)
                case Scope():
                    self.body(item.items, after)
        self.names.pop()

    def label(self, name: str, line: int) -> str:
        found = self.find(name, line)
        if not isinstance(found, Target) or len(found.names) != 1:
            raise PtxError(f"{name} is no label", line)
        return found.names[0]

    def variable(self, variable: Variable) -> Place:
        if variable.space == "shared":
            if not variable.size:
                return Place("dynamic", 0, 0)
            start = _aligned(self.flat.shared_bytes, variable.align)
            self.flat.shared_bytes = start + variable.size
            return Place("shared", start, variable.size)
        if variable.space not in ("local", "param"):
            raise PtxError(f"{variable.name}: .{variable.space} variables stand outside of functions", variable.line)
        start = _aligned(self.flat.local_bytes, variable.align)
        self.flat.local_bytes = start + variable.size
        return Place("local", start, variable.size)

    def find(self, name: str, line: int) -> Value:
        for scope in reversed(self.names):
            if name in scope:
                return scope[name]
        if name in self.module_shared:
            return self.module_shared[name]
        variable = self.module.variables.get(name)
        if variable is not None and variable.space == "shared":
            self.module_shared[name] = self.variable(variable)
            return self.module_shared[name]
        if name in self.module.functions or name in BUILT_IN:
            return Callee(name)
        raise PtxError(f"{name} is not declared", line)

    def instruction(self, item: Instruction, after: str) -> None:
        guard = None
        if item.guard is not None:
            found = self.operand(item.guard, item.line)
            if not isinstance(found, Register | Inverse):
                raise PtxError("the guard of an instruction is a predicate register", item.line)
            guard = found
        if item.opcode == "ret":
            opcode, operands = ("bra", (Target((after,)),)) if after else ("exit", ())
            self.emit(Op(opcode, (), operands, item.line, guard))
            return
        if item.opcode == "call":
            self.call(item, guard)
            return
        resolved = tuple(self.operand(operand, item.line) for operand in item.operands)
        self.emit(Op(item.opcode, item.modifiers, resolved, item.line, guard))

    def operand(self, operand: Operand, line: int) -> Value:
        match operand:
            case Name(text, part, offset):
                if text == "_":
                    return Register("_", TYPES["b64"])
                if part or (text.startswith("%") and not self.known(text)):
                    return Special(text[1:], part)
                found = self.find(text, line)
                if offset:
                    if not isinstance(found, Place):
                        raise PtxError(f"{text}+{offset}: only to the address of a variable can be added", line)
                    return Place(found.space, found.offset + offset, max(found.size - offset, 0))
                return found
            case Address(Name() as base, offset):
                found = self.operand(base, line)
                if not isinstance(found, Register | Place):
                    raise PtxError(f"[{base.text}] is no address", line)
                return At(found, offset)
            case Address(Number() as number, offset):
                return At(number, offset)
            case Not(name):
                found = self.operand(name, line)
                if not isinstance(found, Register):
                    raise PtxError(f"!{name.text}: not a predicate register", line)
                return Inverse(found)
            case Pair(first, second):
                return Two(self.operand(first, line), self.operand(second, line))
            case Many(items):
                return Group(tuple(self.operand(item, line) for item in items))
            case Number() | Real():
                return operand
        raise PtxError("an operand of this form is not supported", line)

    def known(self, name: str) -> bool:
        return any(name in scope for scope in self.names)

    def call(self, item: Instruction, guard: Register | Inverse | None) -> None:
        operands = list(item.operands)
        results: tuple[Operand, ...] = ()
        if operands and isinstance(operands[0], Many):
            results = operands.pop(0).items  # type: ignore[union-attr]
        if not operands or not isinstance(operands[0], Name):
            raise PtxError("a call without a function", item.line)
        name = operands[0].text
        arguments = operands[1].items if len(operands) > 1 and isinstance(operands[1], Many) else ()
        if not isinstance(self.find(name, item.line), Callee):
            raise PtxError(
                "calls through a pointer are not supported (virtual functions, function pointers)", item.line
            )
        given = [self.operand(operand, item.line) for operand in (*results, *arguments)]
        function = self.module.functions.get(name)
        if function is None or function.body is None:
            if name not in BUILT_IN:
                raise PtxError(f"{name} is called, and no image defines it: link the one that does", item.line)
            groups = (Group(tuple(given[: len(results)])), Callee(name), Group(tuple(given[len(results) :])))
            self.emit(Op("call", (name,), groups, item.line, guard))
            return
        if name in self.calls:
            raise PtxError(f"{name} calls itself: recursion is not supported", item.line)
        if (len(results), len(arguments)) != (len(function.results), len(function.parameters)):
            raise PtxError(f"{name} takes {len(function.parameters)} arguments, not {len(arguments)}", item.line)
        after = self.fresh("after")
        if guard is not None:
            opposite = Inverse(guard) if isinstance(guard, Register) else guard.register
            self.emit(Op("bra", (), (Target((after,)),), item.line, opposite))
        self.inline(function, given, after, item.line)

    def inline(self, function: Function, given: list[Value], after: str, line: int) -> None:
        formals = (*function.results, *function.parameters)
        names: dict[str, Value] = {}
        moves = []
        for index, (formal, value) in enumerate(zip(formals, given, strict=True)):
            if isinstance(formal, Registers):
                register = Register(self.fresh(formal.name), formal.type)
                names[formal.name] = register
                moves.append((register, value, index < len(function.results)))
            else:
                names[formal.name] = value
        outer, self.names = self.names, [self.names[0], names]
        self.calls.append(function.name)
        for register, value, result in moves:
            if not result:
                self.emit(_move(register.type, register, value, line))
        self.body(function.body or (), after)
        self.flat.items.append(after)
        for register, value, result in moves:
            if result:
                self.emit(_move(register.type, value, register, line))
        self.calls.pop()
        self.names = outer


def _move(type_: Type, target: Value, source: Value, line: int) -> Op:
    return Op("mov", ("pred" if type_.kind == "p" else f"b{type_.bits}",), (target, source), line)


def _aligned(size: int, align: int) -> int:
    return -(-size // max(align, 1)) * max(align, 1)
