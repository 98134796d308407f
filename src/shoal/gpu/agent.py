"""The agent of a GPU host: it tells the broker what the host has and holds, and runs a server for each lease.

What it holds is on disk before a server starts. When the broker is away it goes on, and asks again; when it is killed
its servers die with it, and its successor starts them anew for the leases on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import random
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
from pydantic import TypeAdapter, ValidationError

from shoal.gpu.plugin.devices import Device, Source, SourceError
from shoal.pool.holdings import Action, Holdings, Start, Stop
from shoal.pool.inventory import GPU
from shoal.pool.lease import Grant
from shoal.pool.report import Answer, Report
from shoal.pool.request import WHOLE

SERVER = sys.executable, "-m", "shoal.cuda.server"
"""What serves a lease."""

WAIT_SECONDS = 10
"""How long the broker may keep a report unanswered while there is nothing to do."""

RETRY_SECONDS = 0.5, 5.0
"""The first pause after a report that nobody answered, and the longest."""

ANSWER_SECONDS = 30.0
END_SECONDS = 5.0
"""From SIGTERM to SIGKILL."""

_KEPT = TypeAdapter(tuple[Grant, ...])
_REPORT = TypeAdapter(Report)
_ANSWER = TypeAdapter(Answer)

log = logging.getLogger(__name__)


class StateError(Exception):
    """The folder with what the agent holds cannot be used."""


class Kept:
    """What is held, on disk, in a folder that one agent at a time may use."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / "leases.json"
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(f"{folder}: another agent holds it") from None

    def read(self) -> tuple[Grant, ...]:
        """Raises StateError for a file that cannot be read: to hold nothing is not what it says."""
        try:
            return _KEPT.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return ()
        except ValidationError as fault:
            raise StateError(f"{self._path}: {fault.errors()[0]['msg']}; remove it to end all leases") from fault

    def write(self, grants: tuple[Grant, ...]) -> None:
        """As a whole, and on the disk itself when this returns."""
        fresh = self._path.with_name(".leases.json")
        with fresh.open("wb") as file:
            file.write(_KEPT.dump_json(grants))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


class Agent:
    """Of the host `name`, whose servers listen at `address`. `client` is connected to the broker, with a token.

    Raises SourceError where the GPUs of `source` cannot be asked to begin with. Their health is asked for every
    `check_seconds`."""

    def __init__(
        self,
        name: str,
        address: str,
        source: Source,
        kept: Kept,
        client: httpx2.AsyncClient,
        check_seconds: float = 5.0,
    ) -> None:
        self._address, self._client, self._kept = address, client, kept
        self._source, self._check_seconds = source, check_seconds
        self._devices = source.devices()
        self._holdings = Holdings(name, _gpus(self._devices), time.monotonic(), kept=kept.read())
        self._written = self._holdings.grants
        self._servers: dict[str, asyncio.subprocess.Process] = {}
        self._stopping: set[str] = set()
        self._used_at: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Serve until cancelled; servers are ended then, and their leases stay on disk."""
        self._act([Start(grant) for grant in self._holdings.grants])
        try:
            await asyncio.gather(self._talk(), self._look_after())
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _talk(self) -> None:
        pause = RETRY_SECONDS[0]
        while True:
            self._act(self._holdings.pass_time(time.monotonic()))
            try:
                await self._report()
                pause = RETRY_SECONDS[0]
            except (httpx2.HTTPError, ValidationError) as fault:
                log.warning("no answer from the broker: %s: %s", type(fault).__name__, fault)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(2 * pause, RETRY_SECONDS[1])

    async def _look_after(self) -> None:
        """Tell the broker of GPUs that fail or recover. Where they cannot be asked, none is healthy."""
        while True:
            await asyncio.sleep(self._check_seconds)
            try:
                found = await asyncio.to_thread(self._source.devices)
            except SourceError as fault:
                log.error("the GPUs do not answer: %s", fault)
                found = [replace(each, healthy=False) for each in self._devices]
            for was, now in zip(self._devices, found, strict=True):
                if was.healthy != now.healthy:
                    log.warning("%s is %s", now.id, "healthy again" if now.healthy else "not healthy")
                    self._news.set()
            self._devices, self._holdings.gpus = found, _gpus(found)

    async def _report(self) -> None:
        """One report and its answer; given up for another as soon as there is news."""
        self._news.clear()
        for lease, at in self._used_at.items():
            self._holdings.idle(lease, time.monotonic() - at)
        said = self._holdings.report()
        asking = asyncio.create_task(
            self._client.post(
                f"/v1/hosts/{said.host}/report",
                params={"wait": str(WAIT_SECONDS)},
                content=_REPORT.dump_json(said),
                timeout=ANSWER_SECONDS,
            )
        )
        news = asyncio.create_task(self._news.wait())
        try:
            await asyncio.wait((asking, news), return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return
            response = asking.result().raise_for_status()
            self._act(self._holdings.heed(_ANSWER.validate_json(response.content), time.monotonic()))
            for lease in self._holdings.refused:
                log.error("the broker wants %s held on shares that are held; it is not", lease)
        finally:
            for task in (asking, news):
                task.cancel()
            await asyncio.gather(asking, news, return_exceptions=True)

    def _act(self, actions: list[Action]) -> None:
        self._write()
        for action in actions:
            match action:
                case Start(grant):
                    log.info("%s of tenant %s is held", grant.lease, grant.tenant)
                    task = asyncio.create_task(self._serve(grant))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                case Stop(lease, reason):
                    log.info("%s ends: %s", lease, reason)
                    self._stopping.add(lease)
                    if lease in self._servers and self._servers[lease].returncode is None:
                        self._servers[lease].terminate()

    def _write(self) -> None:
        if self._holdings.grants != self._written:
            self._kept.write(self._holdings.grants)
            self._written = self._holdings.grants

    async def _serve(self, grant: Grant) -> None:
        """The life of a lease's server. Only its own end lets the lease go: where the agent ends, the lease stays."""
        try:
            server = await asyncio.create_subprocess_exec(*SERVER, stdin=PIPE, stdout=PIPE)
            self._servers[grant.lease] = server
            try:
                await self._follow(server, grant)
            finally:
                await _end(server)
            log.info("the server of %s has ended with %s", grant.lease, server.returncode)
        except (OSError, ValueError) as fault:
            log.error("the server of %s: %s", grant.lease, fault)
        self._servers.pop(grant.lease, None)
        self._used_at.pop(grant.lease, None)
        self._stopping.discard(grant.lease)
        self._holdings.gone(grant.lease)
        self._write()
        self._news.set()

    async def _follow(self, server: asyncio.subprocess.Process, grant: Grant) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        if grant.lease in self._stopping:
            return
        told = {"host": self._address, "token_hash": grant.token_hash, "gpus": self._lent(grant)}
        server.stdin.write(json.dumps(told).encode() + b"\n")
        async for line in server.stdout:
            said = json.loads(line)
            if "refused" in said:
                log.warning("%s: %s was refused: %s", grant.lease, said["client"], said["refused"])
                continue
            self._used_at[grant.lease] = time.monotonic()
            if "address" in said:
                self._holdings.answers(grant.lease, said["address"])
                self._news.set()

    def _lent(self, grant: Grant) -> list[dict[str, Any]]:
        """The GPUs of a lease on this host, with as much of their memory as it may use."""
        shares = [share for share in grant.shares if share.host == self._holdings.host]
        return [
            {"id": gpu.id, "model": gpu.model, "memory_mib": gpu.memory_mib * share.milli // WHOLE}
            for share in shares
            for gpu in [self._devices[share.gpu]]
        ]


def _gpus(devices: Sequence[Device]) -> tuple[GPU, ...]:
    return tuple(GPU(each.model, each.memory_mib, each.healthy) for each in devices)


async def _end(server: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        server.terminate()
        try:
            await asyncio.wait_for(server.wait(), END_SECONDS)
        except TimeoutError:
            server.kill()
            await server.wait()
