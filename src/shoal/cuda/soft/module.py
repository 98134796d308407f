"""Loaded code: a program's variables in global memory, and its kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence

from shoal.cuda.driver import DriverError, Function, Status
from shoal.cuda.soft import shared
from shoal.cuda.soft.compile.compiled import Kernel, Program
from shoal.cuda.soft.compile.layout import Thread
from shoal.cuda.soft.memory import Memory
from shoal.cuda.soft.run import MAX_THREADS, Request

THREADS, STATIC, CONSTANT, LOCAL, REGISTERS, PTX_VERSION, BINARY_VERSION, CACHE, DYNAMIC, CARVEOUT = range(10)
"""Numbers of `CUfunction_attribute`."""

Launch = Callable[[Request, int], None]
"""Launches on a stream."""


class SoftModule:
    def __init__(self, program: Program, memory: Memory, capability: int, launch: Launch, settle: Callable[[], None]):
        """`settle` waits for everything that runs."""
        self._memory, self._settle = memory, settle
        image = program.image
        kernels = {name: SoftFunction(each, self, capability, launch) for name, each in program.kernels.items()}
        self.image = memory.allocate(len(image.data)) if image.data else 0
        self.loaded = True
        if image.data:
            part = memory.part(self.image, len(image.data))
            part[:] = image.data
            for at in image.addresses:
                value = int.from_bytes(part[at : at + 8], "little") + self.image
                part[at : at + 8] = value.to_bytes(8, "little")
        self.functions: Mapping[str, Function] = kernels
        self.variables: Mapping[str, tuple[int, int]] = {
            name: (self.image + at, size) for name, (at, size) in image.places.items()
        }

    def unload(self) -> None:
        self._settle()
        if self.loaded and self.image:
            self._memory.free(self.image)
        self.loaded = False


class SoftFunction:
    def __init__(self, kernel: Kernel, module: SoftModule, capability: int, launch: Launch) -> None:
        self._kernel, self._module, self._launch = kernel, module, launch
        self.name = kernel.name
        self.parameters: Sequence[tuple[int, int]] = kernel.parameters
        registers = (kernel.record_bytes - ctypes.sizeof(Thread)) // 4  # that a thread keeps while it waits
        self._attributes = {
            THREADS: min(MAX_THREADS, kernel.max_threads),
            STATIC: kernel.shared_bytes,
            CONSTANT: 0,
            LOCAL: kernel.local_bytes,
            REGISTERS: min(max(registers, 1), 255),
            PTX_VERSION: capability,
            BINARY_VERSION: capability,
            CACHE: 0,
            DYNAMIC: shared.usual(kernel.name, kernel.shared_bytes),
            CARVEOUT: -1,
        }
        self.attributes: Mapping[int, int] = self._attributes

    def set_attribute(self, attribute: int, value: int) -> None:
        if attribute == DYNAMIC:
            value = shared.asked(self.name, self._kernel.shared_bytes, value)
        elif attribute != CARVEOUT or not -1 <= value <= 100:
            raise DriverError(Status.INVALID_VALUE, f"attribute {attribute} of a function cannot be set to {value}")
        self._attributes[attribute] = value

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        shared_bytes: int = 0,
        stream: int = 0,
    ) -> None:
        if not self._module.loaded:
            raise DriverError(Status.INVALID_HANDLE, f"the module of kernel {self.name} was unloaded")
        most = self._attributes[DYNAMIC]
        request = Request(self._kernel, grid, block, arguments, shared_bytes, most, self._module.image)
        self._launch(request, stream)

    def active_blocks(self, block_threads: int, shared_bytes: int = 0) -> int:
        if block_threads < 1 or shared_bytes < 0:
            raise DriverError(Status.INVALID_VALUE, f"a block of {block_threads} threads")
        fits = block_threads <= self._attributes[THREADS] and shared_bytes <= self._attributes[DYNAMIC]
        return int(fits)
