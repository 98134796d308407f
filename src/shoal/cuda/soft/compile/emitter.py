"""What every family of instructions builds with: registers, operands, faults, and stopping a thread."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from shoal.cuda.soft.compile.layout import Block, Launch, Reason, Stop, Thread
from shoal.cuda.soft.ptx.flat import Flat, Inverse, Place, Register, Special, Two, Value
from shoal.cuda.soft.ptx.tree import Number, PtxError, Real
from shoal.cuda.soft.ptx.types import Type

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()

BUDGET = 4096
"""Loops that a thread makes before it looks whether the launch was ended, and lets others run."""

Llvm = Any
"""A value of llvmlite, which has no types for mypy."""


class Structures:
    """Reads and writes the structures that generated code and the host share. `builder` stands where the next
    instruction goes."""

    builder: Llvm

    def place(self, pointer: Llvm, structure: type[ctypes.Structure], name: str, index: int = 0) -> tuple[Llvm, Llvm]:
        """Pointer to a field and the type of LLVM that it has."""
        kind: Any = {field[0]: field[1] for field in structure._fields_}[name]
        step = ctypes.sizeof(kind._type_ if issubclass(kind, ctypes.Array) else kind)
        offset = getattr(structure, name).offset + index * step
        return self.builder.gep(pointer, [I64(offset)], source_etype=I8), ir.IntType(8 * step)

    def field(self, pointer: Llvm, structure: type[ctypes.Structure], name: str, index: int = 0) -> Llvm:
        where, kind = self.place(pointer, structure, name, index)
        return self.builder.load(where, typ=kind)

    def put(self, pointer: Llvm, structure: type[ctypes.Structure], name: str, value: Llvm, index: int = 0) -> None:
        where, kind = self.place(pointer, structure, name, index)
        self.builder.store(kind(value) if isinstance(value, int) else value, where)

    def store_atomic(self, value: Llvm, where: Llvm, order: str) -> None:
        """`IRBuilder.store_atomic` asks the pointer for its type, which opaque pointers do not have."""
        size = max(value.type.width // 8, 1)
        self.builder._insert(ir.instructions.StoreAtomicInstr(self.builder.block, value, where, order, size))


class Emitter(Structures):
    """The LLVM function of one kernel while it is built. `builder` stands where the next instruction goes."""

    def __init__(self, module: Llvm, flat: Flat) -> None:
        self.flat = flat
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(I32, [POINTER, POINTER, POINTER]), "kernel")
        self.thread, self.block, self.launch = self.function.args
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.entry = self.function.entry_basic_block
        self.start = self.function.append_basic_block("start")
        self.homes: dict[Register, Llvm] = {}
        self.slots: dict[Register, int] = {}
        self.resumes: list[Llvm] = []
        self.keys: dict[str, int] = {}
        self.live: frozenset[Register] = frozenset()
        self.line = 0
        self.instruction = ""  # for messages
        self.faults: list[tuple[Llvm, Llvm, int]] = []
        self.fault = self.function.append_basic_block("fault")
        self.blocks: dict[str, Llvm] = {}
        # Read once at every entry, so that no store of the kernel makes LLVM read them again.
        self.base = self.field(self.launch, Launch, "base")
        self.granules = self.field(self.launch, Launch, "granules")
        self.map = self.field(self.launch, Launch, "map")
        self.image = self.field(self.launch, Launch, "image")
        self.parameters = self.field(self.launch, Launch, "parameters")
        self.parameter_bytes = self.field(self.launch, Launch, "parameter_bytes")
        self.shared_bytes = self.field(self.launch, Launch, "shared_bytes")
        self.local_bytes = self.field(self.launch, Launch, "local_bytes")
        self.shared = self.field(self.block, Block, "shared")
        self.local = self.field(self.thread, Thread, "local")
        self.budget = self.builder.alloca(I32, name="budget")
        self.builder.store(I32(BUDGET), self.budget)

    # Registers and operands

    def home(self, register: Register) -> Llvm:
        found = self.homes.get(register)
        if found is None:
            with self.builder.goto_block(self.entry):
                kind = ir.IntType(register.type.bits)
                found = self.homes[register] = self.builder.alloca(kind)
                # To LLVM, a branch on what was never written would be anything at all, and the end of this process.
                self.builder.store(kind(0), found)
        return found

    def load(self, register: Register) -> Llvm:
        return self.builder.load(self.home(register), typ=ir.IntType(register.type.bits))

    def read(self, value: Value, bits: int, loose: bool = False) -> Llvm:
        """An operand as an integer of so many bits. `loose` allows a register of another size."""
        kind = ir.IntType(bits)
        match value:
            case Register():
                if value.type.bits != bits and not loose:
                    raise self.error(
                        f"{value.name.partition('#')[0]} has {value.type.bits} bits, where {bits} are needed"
                    )
                return self.resize(self.load(value), bits)
            case Number(number):
                return kind(number & (1 << bits) - 1)
            case Real():
                return kind(self.real(value, bits))
            case Place():
                return self.resize(self.address_of(value), bits)
            case Special():
                from shoal.cuda.soft.compile.special import special

                return self.resize(special(self, value), bits)
            case Inverse(register):
                return self.builder.not_(self.load(register))
        raise self.error("an operand of a form that it does not take")

    def real(self, value: Real, bits: int) -> int:
        found = value.of(bits)
        if found is None:
            raise self.error(f"a constant of {value.bits} bits, where {bits} are needed")
        return found

    def predicate(self, value: Value) -> Llvm:
        if isinstance(value, Number):
            return I1(int(value.value != 0))
        if isinstance(value, Register | Inverse):
            return self.read(value, 1)
        raise self.error("expected a predicate register")

    def write(self, target: Value, value: Llvm, signed: bool = False, loose: bool = False) -> None:
        """`loose` widens into a larger register, by sign if `signed`."""
        if not isinstance(target, Register):
            raise self.error("the result goes to a register")
        if target.name == "_":
            return
        bits = target.type.bits
        if value.type.width != bits:
            if not loose or value.type.width > bits:
                raise self.error(f"{target.name.partition('#')[0]} has {bits} bits, and the result {value.type.width}")
            value = self.builder.sext(value, ir.IntType(bits)) if signed else self.resize(value, bits)
        self.builder.store(value, self.home(target))

    def write_pair(self, target: Value, first: Llvm, second: Llvm) -> None:
        """Into `p|q`; the second result is dropped where the target is one register."""
        if isinstance(target, Two):
            self.write(target.first, first)
            self.write(target.second, second)
        else:
            self.write(target, first)

    def address_of(self, place: Place) -> Llvm:
        """Within the window of its space; for global memory, the address itself."""
        if place.space == "global":
            return self.builder.add(self.image, I64(place.offset))
        return I64(place.offset + (self.flat.shared_bytes if place.space == "dynamic" else 0))

    def resize(self, value: Llvm, bits: int) -> Llvm:
        if value.type.width < bits:
            return self.builder.zext(value, ir.IntType(bits))
        return self.builder.trunc(value, ir.IntType(bits)) if value.type.width > bits else value

    # Values

    def intrinsic(self, name: str, arguments: Sequence[Llvm], result: Llvm = None) -> Llvm:
        """`llvm.NAME.TYPE` for the type of the first argument."""
        kind = arguments[0].type
        suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(str(kind), str(kind))
        full = f"llvm.{name}.{suffix}"
        known = self.module.globals.get(full)
        if known is None:
            shape = ir.FunctionType(result or kind, [argument.type for argument in arguments])
            known = ir.Function(self.module, shape, full)
        return self.builder.call(known, arguments)

    def lanes(self, type_: Type, apply: Callable[..., Llvm], values: Sequence[Llvm]) -> Llvm:
        """A function of whole values over each half of packed ones."""
        if type_.lanes == 1:
            return apply(*values)
        low = apply(*(self.builder.trunc(value, I16) for value in values))
        high = apply(*(self.builder.trunc(self.builder.lshr(value, I32(16)), I16) for value in values))
        return self.builder.or_(self.builder.zext(low, I32), self.builder.shl(self.builder.zext(high, I32), I32(16)))

    # Control

    def new_block(self, name: str = "") -> Llvm:
        return self.function.append_basic_block(name)

    def error(self, why: str) -> PtxError:
        return PtxError(f"{self.instruction}: {why}" if self.instruction else why, self.line)

    def fail_unless(self, fine: Llvm, address: Llvm, reason: Reason, size: int = 0) -> None:
        """Go on where `fine` holds; else the thread ends with a fault at this address."""
        after = self.new_block()
        self.builder.cbranch(fine, after, self.fault)
        self.faults.append((self.builder.block, address, self.code(reason, size)))
        self.builder.position_at_end(after)

    def code(self, reason: Reason, size: int = 0) -> int:
        return int(reason) | size << 8 | self.line << 32

    def fail(self, reason: Reason) -> None:
        """The thread ends here. What follows cannot be reached."""
        self.faults.append((self.builder.block, I64(0), self.code(reason)))
        self.builder.branch(self.fault)
        self.builder.position_at_end(self.new_block())

    def stop(self, why: Stop, live: frozenset[Register]) -> None:
        """Put the live registers away, return, and go on here when the thread is run again."""
        kept = sorted(live, key=lambda register: register.name)
        self.resumes.append(self.new_block(f"resume{len(self.resumes) + 1}"))
        for register in kept:
            self.builder.store(self.load(register), self.slot(register))
        self.put(self.thread, Thread, "resume", len(self.resumes))
        self.builder.ret(I32(int(why)))
        self.builder.position_at_end(self.resumes[-1])
        for register in kept:
            kind = ir.IntType(register.type.bits)
            self.builder.store(self.builder.load(self.slot(register), typ=kind), self.home(register))

    def slot(self, register: Register) -> Llvm:
        offset = self.slots.setdefault(register, ctypes.sizeof(Thread) + 16 * len(self.slots))
        return self.builder.gep(self.thread, [I64(offset)], source_etype=I8)

    def record_bytes(self) -> int:
        return ctypes.sizeof(Thread) + 16 * len(self.slots)

    def finish(self) -> None:
        """The entry's jump to where the thread goes on, and the end of those that fault."""
        with self.builder.goto_block(self.entry):
            self.builder.position_at_end(self.entry)
            resume = self.field(self.thread, Thread, "resume")
            switch = self.builder.switch(resume, self.start)
            for number, block in enumerate(self.resumes, 1):
                switch.add_case(I32(number), block)
        self.builder.position_at_end(self.fault)
        if not self.faults:
            self.builder.unreachable()
            return
        address, code = self.builder.phi(I64), self.builder.phi(I64)
        for block, where, number in self.faults:
            address.add_incoming(where, block)
            code.add_incoming(I64(number), block)
        self.put(self.thread, Thread, "fault_address", address)
        self.put(self.thread, Thread, "fault_code", code)
        self.builder.ret(I32(int(Stop.FAULT)))

    def key(self, text: str) -> int:
        return self.keys.setdefault(text, len(self.keys) + 1)
