"""PTX tokens to the tree. The grammar is that of NVIDIA's "PTX ISA", chapters 4 and 5."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TypeVar

from shoal.cuda.driver import Status
from shoal.cuda.soft.ptx.lexer import Token, tokens
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

T = TypeVar("T")

_SPACES = (".global", ".const", ".shared", ".local", ".param")
_LINKING = (".visible", ".extern", ".weak", ".common", ".hidden")
_IGNORED = (".pragma", ".loc", ".alias")
_VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
_OPAQUE = (".texref", ".samplerref", ".surfref")


def parse(text: str) -> Module:
    """The module that the text describes. A fault is a `PtxError`."""
    return _Parser(tokens(text)).module()


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0

    # Tokens

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.next.text != text or self.next.kind == "string":
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> Token:
        token = self.next
        if not self.accept(text):
            raise PtxError(f"expected {text!r}, and found {token.text!r}", token.line)
        return token

    def name(self) -> str:
        token = self.take()
        if token.kind != "name":
            raise PtxError(f"expected a name, and found {token.text!r}", token.line)
        return token.text

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.take()
        if token.kind != "number":
            raise PtxError(f"expected a whole number, and found {token.text!r}", token.line)
        return sign * _integer(token.text)

    def separated(self, read: Callable[[], T], end: str) -> tuple[T, ...]:
        """Items with commas between them, up to the end mark, which is taken."""
        found: list[T] = []
        while not self.accept(end):
            if found:
                self.expect(",")
            found.append(read())
        return tuple(found)

    # The module

    def module(self) -> Module:
        self.expect(".version")
        major, _, minor = self.take().text.partition(".")
        if not (major.isdigit() and minor.isdigit()):
            raise PtxError("expected a version such as 8.0", self.next.line)
        if not 1 <= int(major) <= 9:
            raise PtxError(f"version {major}.{minor} is newer than 9", 0, Status.UNSUPPORTED_PTX_VERSION)
        self.expect(".target")
        target = self.take().text
        while self.accept(","):
            self.take()
        module = Module((int(major), int(minor)), target)
        while self.next.kind != "end":
            self.top(module)
        return module

    def top(self, module: Module) -> None:
        token = self.next
        if self.accept(".address_size"):
            if self.integer() != 64:
                raise PtxError("addresses of 32 bits are not supported: compile for 64 bits", token.line)
        elif token.text in (".file", ".section", *_IGNORED):
            self.skip()
        else:
            extern = weak = False
            while self.next.text in _LINKING:
                link = self.take().text
                extern = extern or link == ".extern"
                weak = weak or link in (".weak", ".common")
            if self.next.text in (".entry", ".func"):
                function = self.function()
                known = module.functions.get(function.name)
                if known is None or known.body is None:
                    module.functions[function.name] = function
                elif function.body is not None and not weak:
                    raise PtxError(f"{function.name} is defined twice", function.line)
            elif self.next.text in _SPACES:
                for variable in self.variables(extern):
                    known_variable = module.variables.get(variable.name)
                    if known_variable is None or known_variable.extern:
                        module.variables[variable.name] = variable
            else:
                raise PtxError(f"did not expect {token.text!r} here", token.line)

    def skip(self) -> None:
        """Past a directive of debugging: `.section NAME { … }` to its brace, others to the end of the line or `;`."""
        first = self.take()
        if first.text == ".section":
            while not self.accept("{"):
                self.take()
            while not self.accept("}"):
                if self.take().kind == "end":
                    raise PtxError(".section has no end", first.line)
            return
        while self.next.line == first.line and self.next.kind != "end":
            if self.take().text == ";":
                return

    def function(self) -> Function:
        token = self.take()
        kernel = token.text == ".entry"
        results: tuple[Variable | Registers, ...] = ()
        if self.accept("("):
            results = self.separated(self.formal, ")")
        name = self.name()
        parameters: tuple[Variable | Registers, ...] = ()
        if self.accept("("):
            parameters = self.separated(self.formal, ")")
        function = Function(name, kernel, results, parameters, None, token.line)
        while self.next.kind == "dot":
            self.directive(function)
        if not self.accept(";"):
            self.expect("{")
            function.body = self.body()
        return function

    def directive(self, function: Function) -> None:
        token = self.take()
        if token.text == ".pragma":
            self.at -= 1
            self.skip()
            return
        values = []
        while self.next.kind in ("number", "name"):
            values.append(self.integer() if self.next.kind == "number" else 0 * len(self.take().text))
            if not self.accept(","):
                break
        function.directives[token.text[1:]] = tuple(values)

    def formal(self) -> Variable | Registers:
        if self.accept(".reg"):
            type_, name = self.type(), self.name()
            return Registers(name, type_, None)
        (variable,) = self.variable_list(one=True)
        return variable

    # Variables

    def type(self) -> Type:
        token = self.take()
        found = TYPES.get(token.text[1:]) if token.kind == "dot" else None
        if found is None:
            raise PtxError(f"expected a type, and found {token.text!r}", token.line)
        return found

    def variables(self, extern: bool = False) -> tuple[Variable, ...]:
        found = self.variable_list(extern=extern)
        self.expect(";")
        return found

    def variable_list(self, one: bool = False, extern: bool = False) -> tuple[Variable, ...]:
        line = self.next.line
        space = self.take().text[1:]
        align, vector, kind, pointer = 0, 1, None, False
        while self.next.kind == "dot":
            if self.accept(".align"):
                stated = self.integer()
                align = align if pointer else stated  # after .ptr, it is that of what the parameter points to
            elif self.next.text in _VECTORS:
                vector = _VECTORS[self.take().text]
            elif self.next.text in _OPAQUE:
                raise PtxError(f"{self.next.text}: textures and surfaces are not supported", line)
            elif self.next.text in (".ptr", ".global", ".const", ".shared", ".local", ".attribute"):
                word = self.take().text
                pointer = pointer or word == ".ptr"
                if word == ".attribute":
                    self.expect("(")
                    while not self.accept(")"):
                        self.take()
            else:
                kind = self.type()
        if kind is None:
            raise PtxError("a variable without a type", line)
        found = []
        while True:
            name = self.name()
            size = kind.bytes * vector
            open_end = False
            while self.accept("["):
                if self.accept("]"):
                    open_end = True
                    continue
                size *= self.integer()
                self.expect("]")
            initial: tuple[Number | Real | Name, ...] = ()
            if self.accept("="):
                initial = self.initial()
                if open_end:
                    size, open_end = len(initial) * kind.bytes, False
            found.append(
                Variable(
                    name, space, kind, 0 if open_end else size, max(align, kind.bytes * vector), initial, extern, line
                )
            )
            if one or not self.accept(","):
                return tuple(found)

    def initial(self) -> tuple[Number | Real | Name, ...]:
        if self.accept("{"):
            return tuple(value for part in self.separated(self.initial, "}") for value in part)
        line = self.next.line
        if self.next.kind == "name" and self.next.text == "generic":
            self.take()
            self.expect("(")
            value = self.operand()
            self.expect(")")
            if isinstance(value, Name):
                value = Name(value.text, value.part, value.offset + self.offset())
        else:
            value = self.operand()
            if self.next.text == "(":
                raise PtxError("a byte of an address, as 0xFF(name), is not supported", line)
        if not isinstance(value, Number | Real | Name):
            raise PtxError("a variable starts with numbers or addresses", line)
        return (value,)

    # Bodies

    def body(self) -> tuple[Item, ...]:
        found: list[Item] = []
        while not self.accept("}"):
            token = self.next
            if token.kind == "end":
                raise PtxError("a function has no end", token.line)
            if self.accept("{"):
                found.append(Scope(self.body()))
            elif self.accept(";"):
                continue
            elif self.accept(".reg"):
                found += self.registers()
            elif token.text in _SPACES:
                found += self.variables()
            elif token.text in _IGNORED or token.text in (".file", ".section"):
                self.skip()
            elif token.kind == "name" and self.tokens[self.at + 1].text == ":":
                found.append(self.label())
            else:
                found.append(self.instruction())
        return tuple(found)

    def label(self) -> Label | Targets | Scope:
        line = self.next.line
        name = self.name()
        self.expect(":")
        if self.accept(".branchtargets"):
            return Targets(name, self.separated(self.name, ";"))
        if self.next.text in (".callprototype", ".calltargets"):
            while not self.accept(";"):
                self.take()
            return Scope(())
        return Label(name, line)

    def registers(self) -> list[Item]:
        while self.next.text in _VECTORS:
            raise PtxError("vector registers are not supported", self.next.line)
        type_ = self.type()
        found: list[Item] = []
        while True:
            name = self.name()
            count = None
            if self.accept("<"):
                count = self.integer()
                self.expect(">")
            found.append(Registers(name, type_, count))
            if self.accept(";"):
                return found
            self.expect(",")

    def instruction(self) -> Instruction:
        guard: Name | Not | None = None
        if self.accept("@"):
            guard = Not(Name(self.name())) if self.accept("!") else Name(self.name())
        token = self.next
        opcode = self.name()
        modifiers = []
        while self.next.kind == "dot":
            modifiers.append(self.take().text[1:])
        operands = self.separated(self.operand, ";") if opcode != "call" else self.separated(self.call_operand, ";")
        return Instruction(opcode, tuple(modifiers), operands, token.line, guard)

    def call_operand(self) -> Operand:
        return Many(self.separated(self.operand, ")")) if self.accept("(") else self.operand()

    def operand(self) -> Operand:
        token = self.next
        if self.accept("{"):
            return Many(self.separated(self.operand, "}"))
        if self.accept("["):
            return self.address()
        if self.accept("!"):
            return Not(Name(self.name()))
        if self.accept("-"):
            return _negative(self.operand(), token.line)
        if token.kind == "real":
            self.take()
            return _real(token.text)
        if token.kind == "number":
            return Number(self.integer())
        first = Name(self.name())
        if self.next.kind == "dot":
            first = Name(first.text, self.take().text[1:])
        if self.next.text in ("+", "-"):
            first = Name(first.text, first.part, self.offset())
        return Pair(first, self.operand()) if self.accept("|") else first

    def address(self) -> Address:
        line = self.next.line
        base = Number(self.integer()) if self.next.kind == "number" or self.next.text == "-" else Name(self.name())
        offset = self.offset()
        if not self.accept("]"):
            raise PtxError("an address of this form is not supported (textures, surfaces, matrices)", line)
        return Address(base, offset)

    def offset(self) -> int:
        total = 0
        while self.next.text in ("+", "-"):
            self.accept("+")
            total += self.integer()
        return total


def _integer(text: str) -> int:
    text = text.rstrip("U")
    return int(text, 8) if re.fullmatch("0[0-7]+", text) else int(text, 0)


def _real(text: str) -> Real:
    if text[:2].lower() == "0f":
        return Real(int(text[2:], 16), 32)
    if text[:2].lower() == "0d":
        return Real(int(text[2:], 16), 64)
    return Real(int.from_bytes(struct.pack("<d", float(text)), "little"), 64)


def _negative(operand: Operand, line: int) -> Operand:
    if isinstance(operand, Number):
        return Number(-operand.value)
    if isinstance(operand, Real):
        return Real(operand.pattern ^ 1 << operand.bits - 1, operand.bits)
    raise PtxError("a minus before what is no number", line)
