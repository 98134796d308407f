"""A prefork parent as its supervisor sees it: start it, have it fork, hear when a child ends.

The other end of the socket, and the messages, are in `prefork_site/sitecustomize.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.local.ahead import Step
from shoal.local.guard import Guard
from shoal.local.orphans import MARKER
from shoal.local.prefork_site import sitecustomize
from shoal.local.process import Launch, LaunchError, Process
from shoal.local.spawn import SpawnLauncher
from shoal.tf.protocol import TF_CONFIG

SITE = Path(sitecustomize.__file__).parent
KILLED = 128 + 9


@dataclass(frozen=True, slots=True)
class ImportKey:
    """Everything that decides what a parent is like once it has imported. `command` ends with the script, `path` is
    the script's folder, `environment` holds what is read at import."""

    command: tuple[str, ...]
    cwd: Path
    path: Path
    steps: tuple[Step, ...]
    environment: tuple[tuple[str, str], ...]


class ParentLost(Exception):
    """There is no parent (any more). `was_ready` tells one that died from one that could never be forked from."""

    def __init__(self, was_ready: bool) -> None:
        super().__init__("the prefork parent has ended")
        self.was_ready = was_ready


class Parent:
    """A parent that is ready to be forked."""

    def __init__(
        self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command: int, guard: Guard
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._command = command
        self._guard = guard
        self._numbers = 0
        self._asked: dict[int, tuple[Launch, asyncio.Future[Process]]] = {}
        self._children: dict[int, Process] = {}
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, spawn: SpawnLauncher, key: ImportKey, env: Mapping[str, str], log: Path) -> Parent:
        """Start a parent and wait until it has imported. `env` is that of any replica with this key. Raises ParentLost
        where it cannot be had."""
        ours, theirs = socket.socketpair()
        with theirs:
            launch = Launch("prefork", key.command, _parent_environment(env, theirs.fileno()), key.cwd, log)
            try:
                process = await spawn.start(launch, pass_fds=[theirs.fileno()])
            except LaunchError as fault:
                ours.close()
                raise ParentLost(was_ready=False) from fault
        reader, writer = await asyncio.open_connection(sock=ours)
        _send(writer, {"steps": key.steps, "path": str(key.path)})
        answer = await _receive(reader)
        if answer is None or "refused" in answer:
            writer.close()
            await process.stop(0)
            raise ParentLost(was_ready=False)
        return cls(process, reader, writer, len(key.command), spawn.guard)

    async def fork(self, launch: Launch) -> Process:
        """Start a replica. Raises ParentLost if the parent has died, LaunchError if it cannot fork."""
        if self._listening.done():
            raise ParentLost(was_ready=True)
        self._numbers += 1
        started: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        self._asked[self._numbers] = (launch, started)
        order = {
            "fork": self._numbers,
            "args": launch.argv[self._command :],
            "env": {**launch.env, MARKER: self._guard.run_id},
            "cwd": str(launch.cwd),
            "log": str(launch.log),
        }
        _send(self._writer, order)
        return await started

    async def close(self) -> None:
        """Kill the children and end the parent."""
        await asyncio.gather(*(child.stop(0) for child in self._children.values()))
        self._writer.close()
        await self._process.stop(0)
        await self._listening

    async def _listen(self) -> None:
        while message := await _receive(self._reader):
            if "forked" in message:
                self._forked(*self._asked.pop(message["forked"]), message["pid"])
            elif "failed" in message:
                launch, started = self._asked.pop(message["failed"])
                if not started.done():
                    started.set_exception(LaunchError(f"{launch.name}: cannot start: {message['why']}"))
            else:
                self._children[message["ended"]].leader_ended(message["code"])
        for _, started in self._asked.values():
            if not started.done():
                started.set_exception(ParentLost(was_ready=True))
        for child in self._children.values():
            # The parent's death is theirs as well.
            child.leader_ended(KILLED)

    def _forked(self, launch: Launch, started: asyncio.Future[Process], pid: int) -> None:
        def reap() -> None:
            with contextlib.suppress(ConnectionError):
                _send(self._writer, {"reap": pid})
            self._guard.forget(pid)
            del self._children[pid]

        self._guard.watch(pid)
        process = Process(launch.name, pid, time.time(), reap)
        self._children[pid] = process
        if started.done():
            # Nobody waits for this replica any more.
            self._stray = asyncio.create_task(process.stop(0))
        else:
            started.set_result(process)


def _parent_environment(env: Mapping[str, str], control: int) -> dict[str, str]:
    """A replica's environment without what is said to that replica alone, and with the way in to the parent's code."""
    shared = {name: value for name, value in env.items() if name != TF_CONFIG and not name.startswith("SHOAL_")}
    path = os.pathsep.join([str(SITE), *filter(None, [env.get("PYTHONPATH")])])
    return {**shared, "PYTHONPATH": path, sitecustomize.CONTROL: str(control)}


def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    writer.write(struct.pack(">I", len(body)) + body)


async def _receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None where the parent has ended."""
    try:
        (length,) = struct.unpack(">I", await reader.readexactly(4))
        message: dict[str, Any] = json.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return message
