"""A TCP proxy before the API server, which can cut all connections, or keep them and let nothing through."""

from __future__ import annotations

import asyncio
import contextlib
from enum import Enum

CHUNK = 1 << 16


class Mode(Enum):
    PASS = "pass"
    CUT = "cut"
    SILENT = "silent"
    """What is open stays open and tells nothing any more; new connections pass."""


class Proxy:
    """Forwards to `host`:`port`; use it in an `async with`."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._mode = Mode.PASS
        self._open: set[asyncio.Task[None]] = set()
        self._silenced: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.set(Mode.CUT)

    def set(self, mode: Mode) -> None:
        self._mode = mode
        if mode is Mode.CUT:
            for each in self._open:
                each.cancel()
        if mode is Mode.SILENT:
            self._silenced |= self._open

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if self._mode is Mode.CUT:
                return
            with contextlib.suppress(OSError):
                to_reader, to_writer = await asyncio.open_connection(*self._target)
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(self._pump(reader, to_writer, task))
                        both.create_task(self._pump(to_reader, writer, task))
                finally:
                    to_writer.close()
        except (asyncio.CancelledError, ExceptionGroup):
            pass
        finally:
            writer.close()
            self._open.discard(task)
            self._silenced.discard(task)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, task: asyncio.Task[None]) -> None:
        while chunk := await source.read(CHUNK):
            if task not in self._silenced:
                sink.write(chunk)
                await sink.drain()
        raise ConnectionError("one side has closed")
