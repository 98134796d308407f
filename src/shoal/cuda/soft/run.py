"""One launch: its blocks, one after another, on as many host threads as the host has processors.

The thread of the launch's stream takes blocks itself and asks the pool of threads to help: so every stream goes on
whatever the others do. Generated code runs without Python's lock.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import prod

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.soft.compile.compiled import ALIGN, Fault, Kernel, run_address
from shoal.cuda.soft.compile.layout import Block, Launch
from shoal.cuda.soft.faults import told
from shoal.cuda.soft.memory import Memory

MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = ((1 << 31) - 1, 65535, 65535)
KEPT_BYTES = 16 << 20
"""Of a host thread's memory for blocks, kept from one launch to the next."""

MOST_PROCESSORS = 64

Call = Callable[..., int]
CALL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_uint64] * 5
)
"""The host's function that kernels call; see `compiled`."""

Size = tuple[int, int, int]


def processors() -> int:
    """Host threads that run blocks at a time."""
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSORS)


@dataclass(frozen=True, slots=True)
class Request:
    """What is launched: `image` is the address of the module's variables. Raises for what CUDA refuses at once."""

    kernel: Kernel
    grid: Size
    block: Size
    arguments: bytes
    shared_bytes: int
    most_shared: int
    image: int

    def __post_init__(self) -> None:
        name = self.kernel.name
        for what, given, largest in (("grid", self.grid, MAX_GRID), ("block", self.block, MAX_BLOCK)):
            if not all(1 <= each <= most for each, most in zip(given, largest, strict=True)):
                raise _refused(f"kernel {name}: a {what} of {_sizes(given)}; from 1 to {_sizes(largest)} are possible")
        threads = prod(self.block)
        if threads > min(MAX_THREADS, self.kernel.max_threads):
            most = min(MAX_THREADS, self.kernel.max_threads)
            raise _refused(f"kernel {name}: {threads} threads a block; it may have {most}")
        if self.kernel.block not in (None, self.block):
            wanted = _sizes(self.kernel.block or self.block)
            raise _refused(f"kernel {name}: a block of {_sizes(self.block)}; it was compiled for {wanted}")
        if not 0 <= self.shared_bytes <= self.most_shared:
            raise _refused(
                f"kernel {name}: {self.shared_bytes} bytes of dynamic shared memory; it may have {self.most_shared} "
                "(cuFuncSetAttribute asks for more)"
            )
        if len(self.arguments) < self.kernel.parameter_bytes:
            raise _refused(
                f"kernel {name}: {len(self.arguments)} bytes of arguments, not {self.kernel.parameter_bytes}"
            )


class Running:
    """A launch while it runs."""

    def __init__(self, request: Request, memory: Memory, number: int, call: object, seconds: float | None) -> None:
        """`call` is a function of CALL; `seconds` is how long it may run."""
        self._seconds, self._late = seconds, False
        self._kernel = request.kernel  # and so its machine code, whoever drops the module while it runs
        self._arguments = _aligned(request.arguments[: request.kernel.parameter_bytes])
        self._call = call
        self._helpers: list[Future[None]] = []
        kernel, blocks = request.kernel, prod(request.grid)
        self.launch = Launch(
            code=kernel.code,
            blocks=blocks,
            grid=request.grid,
            block=request.block,
            threads=prod(request.block),
            stride=kernel.record_bytes,
            base=memory.base,
            granules=memory.granules,
            map=memory.map,
            image=request.image,
            parameters=_start(self._arguments),
            parameter_bytes=kernel.parameter_bytes,
            shared_bytes=kernel.shared_bytes + request.shared_bytes,
            local_bytes=kernel.local_bytes,
            dynamic_bytes=request.shared_bytes,
            number=number,
            processors=processors(),
            call=ctypes.cast(call, ctypes.c_void_p).value,  # type: ignore[arg-type]
        )
        self._workers = min(blocks, processors())

    def run(self) -> None:
        """Until it has ended; raises its fault."""
        timer = threading.Timer(self._seconds, self._end_late) if self._seconds else None
        if timer:
            timer.daemon = True
            timer.start()
        self._helpers = [_pool().submit(self._work, number) for number in range(1, self._workers)]
        try:
            self._work(0)
        finally:
            for each in self._helpers:
                if not each.cancel():
                    each.result()
            if timer:
                timer.cancel()
        if self._late:
            text = f"kernel {self._kernel.name} ran longer than {self._seconds:g} s, and was ended"
            raise DriverError(Status.LAUNCH_TIMEOUT, text)
        if fault := Fault.of(self.launch):
            raise told(self._kernel.name, fault)

    def stop(self) -> None:
        """End it soon: threads look when they loop, and a block is the last that its host thread takes."""
        self.launch.stop = 1

    def _end_late(self) -> None:
        self._late = True
        self.stop()

    def _work(self, number: int) -> None:
        launch = self.launch
        sizes = launch.threads * launch.stride, launch.shared_bytes, launch.threads * launch.local_bytes
        starts, at = [], _own.start(sum(_rounded(size) for size in sizes))
        for size in sizes:
            starts.append(at)
            at += _rounded(size)
        own = Block(*starts)
        own.worker = number
        _run_function()(ctypes.addressof(launch), ctypes.addressof(own))


class _Own(threading.local):
    """The memory in which a host thread runs blocks."""

    memory: mmap.mmap | None = None

    def start(self, size: int) -> int:
        """The address of so many bytes."""
        if self.memory is None or not size <= len(self.memory) <= max(size, KEPT_BYTES):
            self.memory = mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return ctypes.addressof(ctypes.c_char.from_buffer(self.memory))


_own = _Own()


@cache
def _pool() -> ThreadPoolExecutor:
    """One for the process, made when the first kernel runs: threads do not outlive a fork."""
    return ThreadPoolExecutor(processors(), thread_name_prefix="blocks")


@cache
def _run_function() -> Call:
    made: Call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(run_address())
    return made


def _rounded(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def _aligned(data: bytes) -> ctypes.Array[ctypes.c_char]:
    """A copy with room to begin at a multiple of ALIGN; `_start` says where."""
    room = ctypes.create_string_buffer(len(data) + ALIGN)
    ctypes.memmove(_start(room), data, len(data))
    return room


def _start(room: ctypes.Array[ctypes.c_char]) -> int:
    return _rounded(ctypes.addressof(room))


def _sizes(size: Size) -> str:
    return "x".join(map(str, size))


def _refused(message: str) -> DriverError:
    return DriverError(Status.INVALID_VALUE, message)
