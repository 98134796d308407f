"""What one client has: contexts, and in them memory, modules, streams and events. Each message is a method of its name,
and gives the answer's fields, or what is pending until there is an answer.

Handles are numbers of this client's tables. None is followed that is not in them, or that belongs to another context.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from shoal.cuda.driver import Context, Driver, DriverError, Function, Module, Pending, Status
from shoal.cuda.server.budget import Budget
from shoal.cuda.server.callbacks import Callbacks
from shoal.cuda.server.layout import pairs, pieces, text

KEPT_BYTES = 256 << 20
"""Of code that is kept to be loaded again by its hash."""

FIRST_STREAM = 0x100
"""Below are numbers with a meaning of their own: 0, 1 and 2 are default streams."""

Key = tuple[int, int]
T = TypeVar("T")


@dataclass(slots=True)
class _Held:
    """A context and what is in it. `sizes` is by address."""

    device: int
    context: Context
    sizes: dict[int, int] = field(default_factory=dict)
    modules: dict[int, tuple[Module, list[Function]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Stream:
    held: _Held
    number: int
    flags: int
    priority: int


class Session:
    """`row` is the client's in the lease's budget."""

    def __init__(self, driver: Driver, budget: Budget, row: int) -> None:
        self._driver, self._budget, self._row = driver, budget, row
        self._contexts: dict[int, _Held] = {}
        self._streams: dict[int, _Stream] = {}
        self._events: dict[int, tuple[_Held, int]] = {}
        self._code: dict[Key, list[bytes]] = {}
        self._numbers = count(FIRST_STREAM)
        self._callbacks = Callbacks()

    def output(self, context: int) -> bytes:
        """What kernels have printed."""
        held = self._contexts.get(context)
        return held.context.output() if held else b""

    # Contexts

    def open(self, _: int, device: int) -> tuple[int]:
        if device >= len(self._driver.devices):
            raise DriverError(Status.INVALID_DEVICE, f"there is no device {device}")
        number = next(self._numbers)
        self._contexts[number] = _Held(device, self._driver.devices[device].open())
        return (number,)

    def close(self, context: int | None = None) -> tuple[()]:
        """Of one, or of all at the client's end."""
        for number in list(self._contexts) if context is None else [context]:
            held = self._held(number)
            del self._contexts[number]
            self._streams = {id: each for id, each in self._streams.items() if each.held is not held}
            self._events = {id: each for id, each in self._events.items() if each[0] is not held}
            self._callbacks.forget(number)
            held.context.close()
            self._budget.give(self._row, held.device, sum(held.sizes.values()))
        return ()

    def synchronize(self, context: int) -> Pending[None]:
        return self._held(context).context.pending()

    # Memory

    def memory_info(self, context: int) -> tuple[int, int]:
        held = self._held(context)
        free, total = held.context.memory()
        limit = self._budget.limits[held.device]
        return min(free, self._budget.free(held.device)), min(total, limit)

    def allocate(self, context: int, size: int) -> tuple[int]:
        held = self._held(context)
        if not self._budget.take(self._row, held.device, size):
            limit = self._budget.limits[held.device]
            raise DriverError(Status.OUT_OF_MEMORY, f"{size} bytes more are more than the lease's {limit}")
        try:
            address = held.context.allocate(size)
        except BaseException:
            self._budget.give(self._row, held.device, size)
            raise
        held.sizes[address] = size
        return (address,)

    def free(self, context: int, address: int) -> None:
        held = self._held(context)
        held.context.free(address)
        self._budget.give(self._row, held.device, held.sizes.pop(address, 0))

    def address_range(self, context: int, address: int) -> tuple[int, int]:
        return self._held(context).context.find(address)

    def write(self, context: int, address: int, stream: int, data: memoryview) -> None:
        held = self._held(context)
        held.context.write(address, data, self._stream(held, stream))

    def write_and_wait(self, context: int, address: int, stream: int, data: memoryview) -> Pending[None]:
        held = self._held(context)
        held.context.write(address, data, self._stream(held, stream))
        return held.context.pending(self._stream(held, stream))

    def read(self, context: int, address: int, size: int, stream: int) -> Pending[bytes | memoryview]:
        held = self._held(context)
        return held.context.reading(address, size, self._stream(held, stream))

    def copy(self, context: int, target: int, source: int, size: int, stream: int) -> None:
        held = self._held(context)
        held.context.copy(target, source, size, self._stream(held, stream))

    def fill_8(self, context: int, address: int, value: int, times: int, stream: int) -> None:
        self._fill(context, address, struct.pack("<B", value & 0xFF), times, stream)

    def fill_16(self, context: int, address: int, value: int, times: int, stream: int) -> None:
        self._fill(context, address, struct.pack("<H", value & 0xFFFF), times, stream)

    def fill_32(self, context: int, address: int, value: int, times: int, stream: int) -> None:
        self._fill(context, address, struct.pack("<I", value), times, stream)

    # Code

    def load_known(self, context: int, first: int, second: int) -> bytes:
        """By the hash of what was loaded before; a zero where that is not kept."""
        found = self._code.get((first, second))
        return struct.pack("<I", 0) if found is None else self._load(context, found)

    def load(self, context: int, first: int, second: int, number: int, data: memoryview) -> bytes:
        code = pieces(data, number)
        answer = self._load(context, code)
        self._code[first, second] = code
        while sum(len(each) for kept in self._code.values() for each in kept) > KEPT_BYTES:
            del self._code[next(iter(self._code))]
        return answer

    def unload(self, context: int, module: int) -> None:
        held = self._held(context)
        loaded, _ = held.modules.pop(module, (None, None))
        if loaded is None:
            raise DriverError(Status.INVALID_HANDLE, f"there is no module {module}")
        loaded.unload()

    def variable(self, context: int, module: int, name: memoryview) -> tuple[int, int]:
        held = self._held(context)
        if module not in held.modules:
            raise DriverError(Status.INVALID_HANDLE, f"there is no module {module}")
        wanted = bytes(name).decode(errors="replace")
        try:
            return held.modules[module][0].variables[wanted]
        except KeyError:
            raise DriverError(Status.NOT_FOUND, f"there is no variable {wanted}") from None

    def set_attribute(self, context: int, function: int, attribute: int, value: int) -> tuple[()]:
        self._function(self._held(context), function).set_attribute(attribute, value)
        return ()

    def launch(
        self,
        context: int,
        function: int,
        gx: int,
        gy: int,
        gz: int,
        bx: int,
        by: int,
        bz: int,
        shared: int,
        stream: int,
        arguments: memoryview,
    ) -> None:
        held = self._held(context)
        kernel = self._function(held, function)
        kernel.launch((gx, gy, gz), (bx, by, bz), bytes(arguments), shared, self._stream(held, stream))

    def active_blocks(self, context: int, function: int, threads: int, shared: int) -> tuple[int]:
        return (self._function(self._held(context), function).active_blocks(threads, shared),)

    # Streams and events

    def create_stream(self, context: int, flags: int, priority: int) -> tuple[int]:
        held = self._held(context)
        made = _Stream(held, held.context.create_stream(flags, priority), flags, priority)
        return (self._add(self._streams, made),)

    def destroy_stream(self, context: int, stream: int) -> None:
        self._held(context)
        held = self._own_stream(stream).held
        held.context.destroy_stream(self._streams.pop(stream).number)

    def stream_flags(self, context: int, stream: int) -> tuple[int]:
        self._held(context)
        return (self._own_stream(stream).flags if stream else 0,)

    def stream_priority(self, context: int, stream: int) -> tuple[int]:
        self._held(context)
        return (self._own_stream(stream).priority if stream else 0,)

    def query_stream(self, context: int, stream: int) -> tuple[()]:
        held = self._held(context)
        if not held.context.stream_done(self._stream(held, stream)):
            raise DriverError(Status.NOT_READY, "the stream has work to do")
        return ()

    def synchronize_stream(self, context: int, stream: int) -> Pending[None]:
        held = self._held(context)
        return held.context.pending(self._stream(held, stream))

    def create_event(self, context: int, flags: int) -> tuple[int]:
        held = self._held(context)
        return (self._add(self._events, (held, held.context.create_event(flags))),)

    def destroy_event(self, context: int, event: int) -> None:
        held, number = self._event(context, event)
        del self._events[event]
        held.context.destroy_event(number)

    def record_event(self, context: int, event: int, stream: int) -> None:
        held, number = self._event(context, event)
        held.context.record_event(number, self._stream(held, stream))

    def wait_event(self, context: int, stream: int, event: int, _flags: int) -> None:
        held, number = self._event(context, event)
        waiting = self._held(context)
        if waiting is held:
            held.context.wait_event(self._stream(held, stream), number)
        else:
            held.context.synchronize_event(number)  # what one context's stream waits for in another, is waited for here

    def query_event(self, context: int, event: int) -> tuple[()]:
        held, number = self._event(context, event)
        if not held.context.event_done(number):
            raise DriverError(Status.NOT_READY, "the event has not come")
        return ()

    def synchronize_event(self, context: int, event: int) -> Pending[None]:
        held, number = self._event(context, event)
        return held.context.pending_event(number)

    def elapsed(self, context: int, start: int, end: int) -> tuple[float]:
        held, first = self._event(context, start)
        other, second = self._event(context, end)
        if held is not other:
            raise DriverError(Status.INVALID_HANDLE, "the events are of different contexts")
        return (held.context.elapsed(first, second),)

    # Functions of the client that streams call

    def call(self, context: int, number: int, stream: int) -> None:
        held = self._held(context)
        held.context.call(self._callbacks.of(context, number), self._stream(held, stream))

    def next_call(self, _: int) -> Pending[bytes]:
        return self._callbacks

    def called(self, _: int, number: int) -> tuple[()]:
        self._callbacks.returned(number)
        return ()

    # Handles

    def _held(self, context: int) -> _Held:
        found = self._contexts.get(context)
        if found is None:
            raise DriverError(Status.INVALID_CONTEXT, f"there is no context {context}")
        return found

    def _own_stream(self, stream: int) -> _Stream:
        found = self._streams.get(stream)
        if found is None:
            raise DriverError(Status.INVALID_HANDLE, f"there is no stream {stream}")
        return found

    def _stream(self, held: _Held, stream: int) -> int:
        """The driver's number of a stream of this context."""
        if not stream:
            return 0
        found = self._own_stream(stream)
        if found.held is not held:
            raise DriverError(Status.INVALID_HANDLE, f"stream {stream} is another context's")
        return found.number

    def _event(self, context: int, event: int) -> tuple[_Held, int]:
        """An event may be asked about while another context is current."""
        self._held(context)
        if event not in self._events:
            raise DriverError(Status.INVALID_HANDLE, f"there is no event {event}")
        return self._events[event]

    def _function(self, held: _Held, function: int) -> Function:
        _, functions = held.modules.get(function >> 32, (None, []))
        index = function & 0xFFFFFFFF
        if index >= len(functions):
            raise DriverError(Status.INVALID_HANDLE, f"there is no function {function:#x}")
        return functions[index]

    def _fill(self, context: int, address: int, pattern: bytes, times: int, stream: int) -> None:
        held = self._held(context)
        held.context.fill(address, pattern, times, self._stream(held, stream))

    def _load(self, context: int, code: Sequence[bytes]) -> bytes:
        held = self._held(context)
        module = held.context.load(code)
        functions = list(module.functions.values())
        number = next(self._numbers)
        held.modules[number] = module, functions
        parts = [struct.pack("<III", 1, number, len(functions))]
        for index, each in enumerate(functions):
            parts += [struct.pack("<Q", number << 32 | index), text(each.name)]
            parts += [pairs(list(each.parameters)), pairs(list(each.attributes.items()))]
        return b"".join(parts)

    def _add(self, table: dict[int, T], made: T) -> int:
        number = next(self._numbers)
        table[number] = made
        return number
