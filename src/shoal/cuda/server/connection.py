"""One client's connection: its messages in their order, each taken apart, done, and answered where it waits.

What is pending is waited for by a thread beside, and answered when it has come: the client's other threads go on.

A posted message that fails leaves its fault, and the next message of the same context that waits is answered with it
and not done: so the program learns of it as CUDA tells of such faults, by a later call.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import IOBase
from queue import SimpleQueue
from typing import Any

from shoal.cuda.api.answers import Mode
from shoal.cuda.api.messages import HEADER, PROTOCOL, Message, messages
from shoal.cuda.driver import Device, Driver, DriverError, Pending, Status
from shoal.cuda.server.budget import Budget
from shoal.cuda.server.layout import pairs, text
from shoal.cuda.server.session import Session

USE_SECONDS = 1.0
MOST_WAITING = 1024
"""Threads of the client whose calls wait; those of more wait for one another."""

READ_BUFFER = 1 << 20
LARGE = 1 << 14
"""Bytes that are not copied once more to be with others."""
MOST_KEPT = 17 << 20
"""Of memory for the next message; a piece of a copy has 16 MiB."""

DATA_BYTES = 1 << 30
"""The most that may follow the fields of a message."""

PRINTING = frozenset({"synchronize", "synchronize_stream", "synchronize_event", "read", "write_and_wait", "close"})
"""Messages whose answers bring what kernels have printed."""

APART = frozenset({"next_call", "called"})
"""Messages of the thread of the client that calls its functions."""

HIDDEN = {19: 0, 41: 1, 83: 0, 86: 0, 88: 0, 89: 0, 91: 0, 92: 0, 93: 0, 94: 0, 95: 0, 96: 0, 100: 0, 101: 0, 102: 0,
          103: 0, 107: 0, 110: 0, 112: 0, 115: 0, 116: 0, 119: 0, 120: 0, 121: 0, 122: 0, 123: 0, 124: 0, 125: 0,
          127: 0, 128: 0, 129: 0, 132: 0, 141: 0, 142: 0, 143: 0, 144: 0, 145: 0, 146: 0}  # fmt: skip
"""Attributes of a device, by their number in `CUdevice_attribute`, that are told as they are over the wire: no mapped,
managed or pageable memory, no graphs' and streams' waiting for memory, no cooperative launches, clusters, virtual
memory, pools or sharing between processes."""


@dataclass(frozen=True, slots=True)
class _Entry:
    message: Message
    layout: struct.Struct
    gives: struct.Struct | None
    do: Callable[..., Any]


class Connection:
    """Of a client that has shown the token. `used` is called when it was used, at most once a second."""

    def __init__(
        self, client: socket.socket, driver: Driver, budget: Budget, row: int, used: Callable[[], None]
    ) -> None:
        self._client, self._driver, self._budget, self._used = client, driver, budget, used
        self._session = Session(driver, budget, row)
        self._faults: dict[int, DriverError] = {}
        self._used_at = 0.0
        self._room = bytearray()
        self._others: SimpleQueue[tuple[_Entry, int, int, bytes]] | None = None
        self._sending = threading.Lock()
        self._waiters = ThreadPoolExecutor(MOST_WAITING, "waiter")
        self._entries = {number: self._entry(message) for number, message in messages().items()}

    def serve(self) -> None:
        """Until the client goes. What is malformed ends the connection: there is no telling what follows."""
        self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reply(0, Status.SUCCESS, b"", describe(self._driver, self._budget))
        threading.Thread(target=_end_with, args=(self._client,), daemon=True).start()
        with self._client.makefile("rb", buffering=READ_BUFFER) as stream:
            while len(header := stream.read(HEADER.size)) == HEADER.size:
                size, number, sequence, context = HEADER.unpack(header)
                entry = self._entries.get(number)
                if entry is None or not self._fits(entry, size):
                    break
                body = self._large(stream, size) if LARGE <= size <= MOST_KEPT else stream.read(size)
                if len(body) < size:
                    break
                self._take(entry, sequence, context, body)
        self._session.close()

    def _large(self, stream: IOBase, size: int) -> memoryview:
        """A body in memory that is used for the next one, too: new memory costs as much as the copy."""
        if len(self._room) < size:
            self._room = bytearray(size)
        body, had = memoryview(self._room)[:size], 0
        while had < size and (got := stream.readinto(body[had:])):  # type: ignore[attr-defined]
            had += got
        return body[:had]

    def _take(self, entry: _Entry, sequence: int, context: int, body: bytes | memoryview) -> None:
        name = entry.message.name
        if self._others is None or name in APART:
            self._do(entry, sequence, context, body)
        else:
            self._others.put((entry, sequence, context, bytes(body)))
        if name == "call" and self._others is None:
            self._others = SimpleQueue()
            threading.Thread(target=self._do_others, args=(self._others,), daemon=True).start()

    def _do_others(self, queue: SimpleQueue[tuple[_Entry, int, int, bytes]]) -> None:
        """Of a client whose functions are called: a message may wait for one of these (as `free` does), and that it has
        returned is a message, too."""
        try:
            while True:
                self._do(*queue.get())
        except OSError:
            pass  # the client went; this process ends
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def _entry(self, message: Message) -> _Entry:
        gives = None if message.gives == "..." else struct.Struct("<" + message.gives)
        return _Entry(message, message.layout, gives, getattr(self._session, message.name))

    def _fits(self, entry: _Entry, size: int) -> bool:
        rest = size - entry.layout.size
        return 0 <= rest <= DATA_BYTES if entry.message.data else rest == 0

    def _do(self, entry: _Entry, sequence: int, context: int, body: bytes | memoryview) -> None:
        fields = entry.layout.unpack_from(body)
        if entry.message.data:
            fields = *fields, memoryview(body)[entry.layout.size :]
        name = entry.message.name
        try:
            if entry.message.mode is Mode.POSTED:
                entry.do(context, *fields)
                return
            if context in self._faults and name != "close":
                raise self._faults.pop(context)
            given = entry.do(context, *fields)
        except DriverError as fault:
            if entry.message.mode is Mode.POSTED:
                self._faults.setdefault(context, fault)
                return
            self._send(entry, sequence, context, fault.status, str(fault).encode())
            return
        if entry.message.waits and not given.done():
            self._waiters.submit(self._wait, entry, sequence, context, given)
        else:
            self._answer(entry, sequence, context, given)

    def _wait(self, entry: _Entry, sequence: int, context: int, pending: Pending[Any]) -> None:
        try:
            self._answer(entry, sequence, context, pending)
        except OSError:
            pass  # the client went; this process ends
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # nobody would ever answer that call

    def _answer(self, entry: _Entry, sequence: int, context: int, given: Any) -> None:
        try:
            found = given.wait() if entry.message.waits else given
        except DriverError as fault:
            self._send(entry, sequence, context, fault.status, str(fault).encode())
            return
        answer = found if entry.gives is None else entry.gives.pack(*(found or ()))
        self._send(entry, sequence, context, Status.SUCCESS, answer)

    def _send(self, entry: _Entry, sequence: int, context: int, status: int, answer: bytes | memoryview) -> None:
        printed = self._session.output(context) if entry.message.name in PRINTING else b""
        with self._sending:
            self._reply(sequence, status, printed, answer)
        self._tell()

    def _reply(self, sequence: int, status: int, printed: bytes, answer: bytes | memoryview) -> None:
        head = HEADER.pack(len(printed) + len(answer), status, sequence, len(printed)) + printed
        if len(answer) < LARGE:
            self._client.sendall(head + answer)
        elif (sent := self._client.sendmsg([head, answer])) < len(head):
            self._client.sendall(head[sent:])
            self._client.sendall(answer)
        else:
            self._client.sendall(memoryview(answer)[sent - len(head) :])

    def _tell(self) -> None:
        now = time.monotonic()
        if now >= self._used_at + USE_SECONDS:
            self._used_at = now
            self._used()


def describe(driver: Driver, budget: Budget) -> bytes:
    """What a client is told of the devices when it connects, once for all."""
    parts = [struct.pack("<III", PROTOCOL, driver.version, len(driver.devices))]
    for device, limit in zip(driver.devices, budget.limits, strict=True):
        attributes = attributes_told(device)
        parts += [text(device.name), text(device.pci_bus_id), device.uuid, struct.pack("<Q", min(limit, device.memory))]
        parts += [pairs(list(attributes.items()))]
    return b"".join(parts)


def attributes_told(device: Device) -> dict[int, int]:
    return {**device.attributes, **HIDDEN}


def _end_with(client: socket.socket) -> None:
    """End this process when the client's end is gone, whatever a kernel is busy with; memory goes with the process."""
    poll = select.poll()
    poll.register(client, select.POLLRDHUP)
    poll.poll()
    os._exit(0)
