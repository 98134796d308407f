"""Replicas as processes: what is to be started, and what has been.

Each replica leads a session and process group of its own, so that all it starts can be signalled with it, and a
Ctrl-C at the terminal reaches the supervisor alone. As in a container, nothing of a replica outlives its first
process: when that ends, the rest of the group is killed.

A group is signalled only while its leader has not been reaped, for until then the kernel gives its id to no one else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shoal.local.orphans import group_members

DRAIN_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Launch:
    """One replica to start. `env` is the whole environment; output is appended to `log`."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: Path


class LaunchError(Exception):
    """A replica cannot be started as the manifest says. `hint` says what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Launcher(Protocol):
    """Starts replicas, in one way or another."""

    async def start(self, launch: Launch) -> Process:
        """Start a replica. Raises LaunchError where that is not possible. Replicas may be started concurrently."""

    async def close(self) -> None:
        """Kill whatever still runs, and end what the launcher itself needed."""


class Process:
    """A replica that was started: the leader of its own session and process group.

    `started_at` is in seconds since the epoch. `exit_code` is None while the replica runs, and 128 + N where signal N
    ended it.
    """

    def __init__(self, name: str, pid: int, started_at: float, reap: Callable[[], None]) -> None:
        self.name = name
        self.pid = pid
        self.started_at = started_at
        self.exit_code: int | None = None
        self._reap = reap
        self._ended = asyncio.Event()
        self._stopping = False
        self._draining: asyncio.Task[None] | None = None

    async def wait(self) -> int:
        """The exit code, once the replica has ended."""
        await self._ended.wait()
        assert self.exit_code is not None
        return self.exit_code

    async def stop(self, grace: float) -> int:
        """SIGTERM to the whole group, and SIGKILL to what is left of it after `grace` seconds. Answers the exit code.

        May be called again with a shorter grace.
        """
        if not self._ended.is_set():
            self._stopping = True
            self._signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), grace)
        if not self._ended.is_set():
            self._signal(signal.SIGKILL)
        return await self.wait()

    def leader_ended(self, exit_code: int) -> None:
        """The launcher's report that the leader has ended and waits to be reaped."""
        if self._draining:
            return
        if not self._stopping:
            self._signal(signal.SIGKILL)
        # Else the rest of the group has its grace too: `sh -c` dies of the first SIGTERM while the program that it
        # runs is still saving a checkpoint.
        self._draining = asyncio.create_task(self._drain(exit_code))

    async def _drain(self, exit_code: int) -> None:
        """Wait until the leader is the last of its group, so that a successor finds its port free."""
        while group_members(self.pid):
            await asyncio.sleep(DRAIN_POLL_SECONDS)
        self._reap()
        self.exit_code = exit_code
        self._ended.set()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
