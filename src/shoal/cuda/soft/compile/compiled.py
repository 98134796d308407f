"""PTX modules to kernels that can run: what the runtime takes from the compiler.

How a host thread runs a launch:

* Global memory is one range of this process's own addresses, from `Launch.base`, of `Launch.granules` times `GRANULE`
  bytes. `Launch.map` is an array of granules + 1 numbers of 16 bits: how many bytes from the granule's start may be
  touched (512 within an allocation, fewer in its last granule, 0 elsewhere; the last number is always 0). Generated
  code reads the map without a lock, so a free that is asked for while a kernel runs must wait for it.
* A module's variables are a copy of `Program.image.data` in an allocation of global memory at `Launch.image`, which is
  aligned to `ALIGN`. To each 64 bits at `image.addresses` that allocation's address is added first.
* `Launch.parameters` is a copy of the arguments, aligned to `ALIGN`, with `parameter_bytes` of the kernel.
  `shared_bytes` is the kernel's own plus what the launch asks for; `local_bytes` and `stride` (`record_bytes`) are the
  kernel's. `blocks` is the product of `grid`, and `threads` that of `block`.
* Each host thread has a `Block` of its own, with `threads` (`Launch.threads` records of `record_bytes`), `shared`
  (`shared_bytes`) and `local` (`Launch.threads` times `local_bytes`), each aligned to `ALIGN`. Nothing needs to be zero
  but the `Block` itself; `worker` is a number of its own below the launch's `processors`.
* It calls `run_address()` as `int32 (Launch*, Block*)`, which takes blocks from `Launch.next` until none is left or
  `Launch.stop` is set. When all host threads have returned, `Launch.failed` says whether a thread of the kernel
  faulted, and the fields after it which and why (`Fault.of`). Setting `Launch.stop` from outside ends the launch soon,
  with `Reason.STOPPED` if a block was not done.
* `Launch.call` is a function of the host, `int32 (int32 what, Launch*, Block*, Thread*, uint64 × 5)`: for `PRINT`, the
  addresses of the format and of the packed arguments; for `ASSERT`, those of the message and the file, the line, and
  those of the function's name and the size of a character. These are generic addresses: the host's own, unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shoal.cuda.soft.compile.jit import Machine, run_address
from shoal.cuda.soft.compile.kernel import build
from shoal.cuda.soft.compile.layout import Launch, Reason
from shoal.cuda.soft.ptx.flat import flatten
from shoal.cuda.soft.ptx.link import Image, image, link
from shoal.cuda.soft.ptx.parser import parse

__all__ = ["ALIGN", "Fault", "Kernel", "Program", "compile_ptx", "run_address"]

ALIGN = 128
"""Of shared, local and parameter memory, of records, and of a module's variables."""

LOCAL_ALIGN = 32
MAX_THREADS = 1024


@dataclass(frozen=True)
class Kernel:
    """Sizes are bytes. `parameters` holds offset and size of each. `shared_bytes` is what the kernel has without the
    launch's own, which lies after it. `block` is the only size that a launch may have, where the kernel says one."""

    name: str
    parameters: Sequence[tuple[int, int]]
    parameter_bytes: int
    shared_bytes: int
    local_bytes: int
    record_bytes: int
    max_threads: int
    block: tuple[int, int, int] | None
    text: str = field(repr=False)

    @cached_property
    def machine(self) -> Machine:
        return Machine(self.text)

    @property
    def code(self) -> int:
        """For `Launch.code`. The first use takes the time to make machine code."""
        return self.machine.address("kernel")


@dataclass(frozen=True, slots=True)
class Program:
    kernels: Mapping[str, Kernel]
    image: Image


def compile_ptx(texts: Sequence[str]) -> Program:
    """Kernels and variables of modules that are linked with one another. What is wrong or not supported in any of them
    is a `PtxError`, raised here and not at a launch."""
    module = link([parse(text) for text in texts])
    variables = image(module)
    kernels = {}
    for function in module.functions.values():
        if not function.kernel or function.body is None:
            continue
        flat = flatten(module, function, variables.places)
        code = build(flat)
        required = _three(flat.directives.get("reqntid"))
        threads = MAX_THREADS
        for size in (flat.directives.get("maxntid"), required):
            if size is not None:
                threads = min(threads, _product(size))
        kernels[flat.name] = Kernel(
            name=flat.name,
            parameters=tuple(flat.parameters),
            parameter_bytes=flat.parameter_bytes,
            shared_bytes=flat.shared_bytes,
            local_bytes=-(-flat.local_bytes // LOCAL_ALIGN) * LOCAL_ALIGN,
            record_bytes=code.record_bytes,
            max_threads=threads,
            block=required,
            text=code.text,
        )
    return Program(kernels, variables)


def _three(sizes: tuple[int, ...] | None) -> tuple[int, int, int] | None:
    if not sizes:
        return None
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a launch ended early: the access's address and size, where there is one, and the line of the PTX."""

    reason: Reason
    address: int
    size: int
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    @property
    def misaligned(self) -> bool:
        """An access to an address that is no multiple of its size is a fault of its own, wherever it points."""
        return self.reason in (Reason.LOAD, Reason.STORE, Reason.ATOMIC) and self.address % self.size != 0

    @classmethod
    def of(cls, launch: Launch) -> Fault | None:
        if not launch.failed:
            return None
        code = int(launch.fault_code)
        return cls(
            Reason(code & 0xFF),
            int(launch.fault_address),
            code >> 8 & 0xFFFFFF,
            code >> 32,
            (launch.fault_block[0], launch.fault_block[1], launch.fault_block[2]),
            (launch.fault_thread[0], launch.fault_thread[1], launch.fault_thread[2]),
        )
