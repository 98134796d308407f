"""A driver for tests of the wire: memory, streams, events and modules' bookkeeping in this process, without a GPU.

It compiles nothing. Code is accepted if it has the test programs' kernel `saxpy`, which numpy computes; all work is
done when it is asked for. So it shows what the wire does with what a driver gives, and nothing about any GPU.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Generic, TypeVar

import numpy as np

from shoal.cuda.driver import Context, Device, DriverError, Function, Module, Status

ADDRESSES = count(0x7F0000000000, 1 << 36)
HANDLES = count(1)
T = TypeVar("T")
ARGUMENTS = struct.Struct("<IfQQ")
LARGEST = {1: 1024, 2: 1024, 3: 1024, 4: 64, 5: (1 << 31) - 1, 6: 65535, 7: 65535, 8: 49152}
ATTRIBUTES = {**LARGEST, 10: 32, 16: 2, 75: 7, 76: 5}
"""By number of `CUdevice_attribute`: the largest blocks and grids, warps, multiprocessors and compute capability."""


class HostDriver:
    version = 12080

    def __init__(self, devices: Sequence[tuple[str, int]]) -> None:
        self.devices: Sequence[Device] = [HostDevice(name, memory) for name, memory in devices]


class HostDevice:
    pci_bus_id = "0000:01:00.0"
    attributes: Mapping[int, int] = ATTRIBUTES

    def __init__(self, name: str, memory: int) -> None:
        self.name, self.memory = name, memory
        self.uuid = uuid.uuid5(uuid.NAMESPACE_DNS, name).bytes

    def open(self) -> Context:
        return HostContext(self.memory)


class Done(Generic[T]):
    """What is done as it is asked for."""

    def __init__(self, found: T) -> None:
        self._found = found

    def done(self) -> bool:
        return True

    def wait(self) -> T:
        return self._found


class HostContext:
    def __init__(self, memory: int) -> None:
        self._total = memory
        self._memory: dict[int, bytearray] = {}
        self._handles: set[int] = set()
        self._fault: DriverError | None = None
        self._printed = b""

    def _check(self, *handles: int) -> None:
        if self._fault:
            raise self._fault
        for handle in handles:
            if handle and handle not in self._handles:
                raise DriverError(Status.INVALID_HANDLE, f"there is no {handle}")

    def part(self, address: int, size: int) -> memoryview:
        base, whole = self.find(address)
        if address + size > base + whole:
            raise DriverError(Status.INVALID_VALUE, f"{size} bytes at {address:#x} reach beyond the allocation")
        return memoryview(self._memory[base])[address - base : address - base + size]

    def fail(self, fault: DriverError) -> None:
        self._fault = fault

    def show(self, printed: bytes) -> None:
        self._printed += printed

    def memory(self) -> tuple[int, int]:
        self._check()
        return self._total - sum(map(len, self._memory.values())), self._total

    def allocate(self, size: int) -> int:
        self._check()
        address = next(ADDRESSES)
        self._memory[address] = bytearray(size)
        return address

    def free(self, address: int) -> None:
        self._check()
        if self._memory.pop(address, None) is None:
            raise DriverError(Status.INVALID_VALUE, f"nothing begins at {address:#x}")

    def find(self, address: int) -> tuple[int, int]:
        for base, memory in self._memory.items():
            if base <= address < base + len(memory):
                return base, len(memory)
        raise DriverError(Status.INVALID_VALUE, f"{address:#x} is no address")

    def write(self, address: int, data: bytes | memoryview, stream: int = 0) -> None:
        self._check(stream)
        self.part(address, len(data))[:] = data

    def read(self, address: int, size: int, stream: int = 0) -> bytes:
        self._check(stream)
        return bytes(self.part(address, size))

    def reading(self, address: int, size: int, stream: int = 0) -> Done[bytes]:
        return Done(self.read(address, size, stream))

    def copy(self, target: int, source: int, size: int, stream: int = 0) -> None:
        self.write(target, self.read(source, size, stream), stream)

    def fill(self, address: int, pattern: bytes, count: int, stream: int = 0) -> None:
        self._check(stream)
        self.part(address, len(pattern) * count)[:] = pattern * count

    def load(self, images: Sequence[bytes]) -> Module:
        self._check()
        if not any(b".entry saxpy" in image for image in images):
            raise DriverError(Status.INVALID_PTX, "there is no saxpy in this code")
        return HostModule(self)

    def create_stream(self, flags: int = 0, priority: int = 0) -> int:
        return self._create()

    def destroy_stream(self, stream: int) -> None:
        self._destroy(stream)

    def stream_done(self, stream: int) -> bool:
        self._check(stream)
        return True

    def synchronize_stream(self, stream: int) -> None:
        self._check(stream)

    def pending(self, stream: int | None = None) -> Done[None]:
        self._check(stream or 0)
        return Done(None)

    def pending_event(self, event: int) -> Done[None]:
        self._check(event)
        return Done(None)

    def call(self, function: Callable[[int], None], stream: int = 0) -> None:
        raise DriverError(Status.NOT_SUPPORTED, "this driver calls nobody")

    def create_event(self, flags: int = 0) -> int:
        return self._create()

    def destroy_event(self, event: int) -> None:
        self._destroy(event)

    def record_event(self, event: int, stream: int = 0) -> None:
        self._check(event, stream)

    def wait_event(self, stream: int, event: int) -> None:
        self._check(event, stream)

    def event_done(self, event: int) -> bool:
        self._check(event)
        return True

    def synchronize_event(self, event: int) -> None:
        self._check(event)

    def elapsed(self, start: int, end: int) -> float:
        self._check(start, end)
        return 1.5

    def synchronize(self) -> None:
        self._check()

    def output(self) -> bytes:
        printed, self._printed = self._printed, b""
        return printed

    def close(self) -> None:
        self._memory.clear()

    def _create(self) -> int:
        self._check()
        handle = next(HANDLES)
        self._handles.add(handle)
        return handle

    def _destroy(self, handle: int) -> None:
        self._check(handle)
        self._handles.discard(handle)


class HostModule:
    def __init__(self, context: HostContext) -> None:
        self._context = context
        self._told = context.allocate(8)
        self.functions: Mapping[str, Function] = {"saxpy": Saxpy(context)}
        self.variables: Mapping[str, tuple[int, int]] = {"told": (self._told, 8)}

    def unload(self) -> None:
        self._context.free(self._told)


class Saxpy:
    """y[i] += a * x[i]. Of memory that is not there it makes the fault that a GPU makes; with n = 0 it prints."""

    name = "saxpy"
    parameters: Sequence[tuple[int, int]] = ((0, 4), (4, 4), (8, 8), (16, 8))

    def __init__(self, context: HostContext) -> None:
        self._context = context
        self.attributes: dict[int, int] = {0: 1024, 1: 0}

    def set_attribute(self, attribute: int, value: int) -> None:
        self.attributes[attribute] = value

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        shared_bytes: int = 0,
        stream: int = 0,
    ) -> None:
        self._context.synchronize_stream(stream)
        n, a, x, y = ARGUMENTS.unpack(arguments)
        if not n:
            self._context.show(b"nothing to add\n")
            return
        try:
            given, sums = (np.frombuffer(self._context.part(each, 4 * n), np.float32) for each in (x, y))
        except DriverError:
            self._context.fail(DriverError(Status.ILLEGAL_ADDRESS, f"{x:#x} or {y:#x} is no address"))
            return
        sums += np.float32(a) * given

    def active_blocks(self, block_threads: int, shared_bytes: int = 0) -> int:
        return 1024 // block_threads
