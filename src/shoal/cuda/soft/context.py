"""A client's context on a software GPU: memory, streams and modules, and the kernels that run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import count
from threading import Lock

from shoal.cuda.driver import DriverError, Module, Pending, Status
from shoal.cuda.soft.compile.compiled import compile_ptx
from shoal.cuda.soft.compile.control import ASSERT, PRINT
from shoal.cuda.soft.compile.layout import Block, Launch, Thread
from shoal.cuda.soft.images import texts
from shoal.cuda.soft.memory import Memory, fill
from shoal.cuda.soft.module import SoftModule
from shoal.cuda.soft.printf import Output, formatted
from shoal.cuda.soft.run import CALL, Request, Running
from shoal.cuda.soft.streams import Streams, Work

FORMAT_ARGUMENTS = 4096
"""Bytes that the arguments of one printf may have."""


class SoftContext:
    """Its methods are called by one thread, but for `close` and what is pending."""

    def __init__(self, total: int, capability: int, seconds: float | None) -> None:
        self._memory, self._streams, self._output = Memory(total), Streams(), Output()
        self._capability, self._seconds = capability, seconds
        self._numbers = count(1)
        self._running: set[Running] = set()
        self._lock = Lock()  # of `_running` and `_closed`
        self._closed = False
        self._call = CALL(self._called)

    # Memory

    def memory(self) -> tuple[int, int]:
        self._streams.check()
        return self._memory.total - self._memory.used, self._memory.total

    def allocate(self, size: int) -> int:
        self._streams.check()
        return self._memory.allocate(size)

    def free(self, address: int) -> None:
        """Waits for everything: what runs may use the memory."""
        self._streams.synchronize()
        self._memory.free(address)

    def find(self, address: int) -> tuple[int, int]:
        self._streams.check()
        return self._memory.find(address)

    def write(self, address: int, data: bytes | memoryview, stream: int = 0) -> None:
        self._streams.check()
        view = memoryview(data).cast("B")
        part = self._memory.part(address, len(view))
        if self._streams.ready(stream):
            part[:] = view
            return
        kept = bytes(view)

        def act() -> None:
            part[:] = kept

        self._streams.submit(stream, act)

    def read(self, address: int, size: int, stream: int = 0) -> bytes:
        return bytes(self.reading(address, size, stream).wait())

    def reading(self, address: int, size: int, stream: int = 0) -> Pending[bytes | memoryview]:
        self._streams.check()
        return _Reading(self._streams, self._memory.part(address, size), stream)

    def copy(self, target: int, source: int, size: int, stream: int = 0) -> None:
        self._streams.check()
        into, part = self._memory.part(target, size), self._memory.part(source, size)

        def act() -> None:
            into[:] = part

        self._streams.submit(stream, act, soon=True)

    def fill(self, address: int, pattern: bytes, count: int, stream: int = 0) -> None:
        self._streams.check()
        if len(pattern) not in (1, 2, 4) or address % len(pattern):
            raise DriverError(Status.INVALID_VALUE, f"{len(pattern)} bytes cannot be set over and over at {address:#x}")
        part = self._memory.part(address, len(pattern) * count)
        self._streams.submit(stream, lambda: fill(part, pattern), soon=True)

    # Code

    def load(self, images: Sequence[bytes]) -> Module:
        self._streams.check()
        program = compile_ptx(texts(images, self._capability))
        return SoftModule(program, self._memory, self._capability, self._launch, self._streams.synchronize)

    def _launch(self, request: Request, stream: int) -> None:
        self._streams.check()
        running = Running(request, self._memory, next(self._numbers), self._call, self._seconds)
        self._streams.submit(stream, lambda: self._run(running))

    def _run(self, running: Running) -> None:
        with self._lock:
            if self._closed:
                return
            self._running.add(running)
        try:
            running.run()
        finally:
            with self._lock:
                self._running.discard(running)

    # Streams and events

    def create_stream(self, flags: int = 0, priority: int = 0) -> int:
        return self._streams.create(flags)

    def destroy_stream(self, stream: int) -> None:
        self._streams.destroy(stream)

    def stream_done(self, stream: int) -> bool:
        return self._streams.done(stream)

    def synchronize_stream(self, stream: int) -> None:
        self._streams.synchronize(stream)

    def create_event(self, flags: int = 0) -> int:
        return self._streams.create_event(flags)

    def destroy_event(self, event: int) -> None:
        self._streams.destroy_event(event)

    def record_event(self, event: int, stream: int = 0) -> None:
        self._streams.record(event, stream)

    def wait_event(self, stream: int, event: int) -> None:
        self._streams.wait_event(stream, event)

    def event_done(self, event: int) -> bool:
        return self._streams.event_done(event)

    def synchronize_event(self, event: int) -> None:
        self._streams.pending_event(event).wait()

    def pending_event(self, event: int) -> Pending[None]:
        return self._streams.pending_event(event)

    def elapsed(self, start: int, end: int) -> float:
        return self._streams.elapsed(start, end)

    def synchronize(self) -> None:
        self._streams.synchronize()

    def pending(self, stream: int | None = None) -> Pending[None]:
        return self._streams.pending(stream)

    def call(self, function: Callable[[int], None], stream: int = 0) -> None:
        self._streams.submit(stream, lambda: function(self._streams.fault_status()), always=True)

    # What kernels print, and the end

    def output(self) -> bytes:
        return self._output.take()

    def close(self) -> None:
        """What runs is ended: nobody is left who could see what it does."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._streams.end()  # first: that a kernel was ended is no fault that anybody should hear of
            for each in self._running:
                each.stop()
        if self._streams.close():
            self._memory.close()

    def _called(self, what: int, launch: int, block: int, thread: int, *given: int) -> int:
        """From generated code, on any host thread. Nothing may be raised there."""
        at = _Called(self._memory, launch, block, thread)
        try:
            if what == PRINT:
                format_ = at.text(given[0])
                if format_ is None:
                    return -1
                printed, taken = formatted(format_, lambda offset, size: at.number(given[1] + offset, size), at.text)
                self._output.add(printed)
                return taken
            if what == ASSERT:
                self._output.add(at.assertion(*given[:4]))
        except Exception as fault:
            self._output.add(f"printf of a kernel: {fault}\n".encode())
        return -1


class _Reading:
    """Bytes that are copied when the stream has come to it."""

    def __init__(self, streams: Streams, part: memoryview, stream: int) -> None:
        self._streams, self._part = streams, part
        self._found: bytes | memoryview = part
        self._work: Work | None = None if streams.ready(stream) else streams.submit(stream, self._copy)

    def done(self) -> bool:
        return self._work is None or self._work.done

    def wait(self) -> bytes | memoryview:
        if self._work is not None:
            self._streams.wait(self._work)
        return self._found

    def _copy(self) -> None:
        self._found = bytes(self._part)


class _Called:
    """A thread of a kernel that calls the host, and the memory that it may show."""

    def __init__(self, memory: Memory, launch: int, block: int, thread: int) -> None:
        self._memory = memory
        self._launch, self._block = Launch.from_address(launch), Block.from_address(block)
        self._thread = Thread.from_address(thread)

    def number(self, address: int, size: int) -> int:
        return int.from_bytes(self._bytes(address, size), "little")

    def text(self, address: int) -> bytes | None:
        for start, size in self._windows():
            if 0 <= address - start < size:
                found = ctypes.string_at(address, size - (address - start))
                return found.partition(b"\0")[0] if b"\0" in found else None
        return self._memory.text(address)

    def assertion(self, message: int, file: int, line: int, function: int) -> bytes:
        """What CUDA prints of an assertion that failed."""
        said, where, of = ((self.text(each) or b"?").decode(errors="replace") for each in (message, file, function))
        block, thread = (",".join(map(str, each.index)) for each in (self._block, self._thread))
        line &= 0xFFFFFFFF
        return f"{where}:{line}: {of}: block: [{block}], thread: [{thread}] Assertion `{said}` failed.\n".encode()

    def _windows(self) -> tuple[tuple[int, int], ...]:
        return (self._thread.local, self._launch.local_bytes), (self._block.shared, self._launch.shared_bytes)

    def _bytes(self, address: int, size: int) -> bytes:
        for start, whole in self._windows():
            if 0 <= address - start <= whole - size:
                return ctypes.string_at(address, size)
        return bytes(self._memory.part(address, size))
