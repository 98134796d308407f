"""The logs of the pods of a job or a model server as one stream of lines.

A log is read with the time of each line, which is not shown: where a stream ends before its pod does (a kubelet that
restarts, a connection that breaks, a container that is restarted in place), it is taken up again behind the last line.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from shoal.kubernetes.client.connection import PATIENCE_SECONDS
from shoal.kubernetes.operator.api import APIError, UnreachableError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.views import Pod
from shoal.runs import Lines, LogChoice, RunError
from shoal.tf.protocol import PROGRESS_PREFIX

LOOK_SECONDS = 1.0
"""How often new pods are looked for, and how soon a stream that ended is taken up again."""

SILENCE_SECONDS = 300.0
"""A stream in which nothing arrives for so long is taken up anew: the connection may be dead."""

LAST_SECONDS = 5.0
"""How long streams may take to end once their owner has. Replicas that `cleanPodPolicy: None` spares go on."""

PROGRESS = PROGRESS_PREFIX.encode()
"""Lines that begin so are meant for the operator; on one machine they are no part of the log."""

_TIME = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z ")


@dataclass(slots=True)
class Mark:
    """Up to where a log was told."""

    time: bytes = b""
    untimed: bytes = b""

    def new(self, lines: Iterable[bytes]) -> list[str]:
        """The lines that were not told before, without their times. A kubelet that has lost a log says so in a line
        without one, and says it again each time it is asked."""
        fresh = []
        for line in lines:
            if found := _TIME.match(line):
                if line[: found.end()] <= self.time:
                    continue
                self.time, line = line[: found.end()], line[found.end() :]
            elif line == self.untimed:
                continue
            else:
                self.untimed = line
            if not line.startswith(PROGRESS):
                fresh.append(line.decode(errors="replace"))
        return fresh

    @property
    def since(self) -> str:
        """The whole second of the last line, as the API takes it; empty before the first."""
        found = _TIME.match(self.time)
        return f"{found[1].decode()}Z" if found else ""


class Writer(NamedTuple):
    """A pod that writes a log, as it is now. `attempt` is counted from 1; `restarted` where the kubelet has run the
    container before."""

    replica: str
    pod: Pod
    container: str
    attempt: int
    restarted: bool
    ended: bool


class Owner(Protocol):
    """Whose pods these are. Both methods raise what the API raises."""

    @property
    def name(self) -> str: ...

    async def writers(self) -> list[Writer]:
        """Its pods that are there, by the replicas' names."""
        ...

    async def over(self) -> bool:
        """Whether it has ended, or is gone."""
        ...


@dataclass(slots=True)
class _Source:
    """One pod's log."""

    writer: Writer
    mark: Mark = field(default_factory=Mark)


class PodLogs:
    """Reads what the pods of one owner wrote."""

    def __init__(self, client: Client, owner: Owner, choice: LogChoice) -> None:
        self._client = client
        self._owner = owner
        self._choice = choice
        # No limit is needed: the loop, and so whoever fills the queue, runs only while the command waits for lines.
        self._queue: asyncio.Queue[Lines | None] = asyncio.Queue()
        self._there: dict[str, _Source] = {}
        self._over = False
        self._answered = time.monotonic()

    async def lines(self) -> AsyncGenerator[Lines, None]:
        """Replica after replica, or with `follow` as they come. Raises RunError where nothing was chosen."""
        found = await self._sources()
        if not self._choice.follow:
            self._check(found)
            for source in found:
                for previous in self._runs(source):
                    async for lines in self._read(source, follow=False, previous=previous):
                        yield lines
            return
        watching = asyncio.create_task(self._watch())
        try:
            while (told := await self._next()) is not None:
                yield told
            await watching
        finally:
            watching.cancel()
            await asyncio.wait((watching,))

    async def _next(self) -> Lines | None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._queue.get()
        except TimeoutError:
            return Lines("", [])

    # --- which logs

    async def _sources(self) -> list[_Source]:
        wanted = self._choice.replicas
        return [_Source(each) for each in await self._owner.writers() if not wanted or each.replica in wanted]

    def _check(self, found: list[_Source]) -> None:
        if self._choice.replicas and not found:
            raise RunError(
                f"{self._owner.name} has no log of {', '.join(self._choice.replicas)}",
                "a log is there as long as its pod; `shoal describe` shows which are",
            )
        if found and self._choice.attempt is not None and not any(self._runs(source) for source in found):
            kept = ", ".join(f"{each.writer.replica} {each.writer.attempt}" for each in found[:5])
            raise RunError(
                f"there is no log of attempt {self._choice.attempt}",
                f"a cluster keeps the last ones alone, of these attempts: {kept}",
            )

    def _runs(self, source: _Source) -> list[bool]:
        """Which runs of the container are wanted, the earlier first: True is the run before the last, which a kubelet
        keeps the log of."""
        earlier, last = source.writer.restarted, source.writer.attempt
        if self._choice.everything:
            return [True, False] if earlier else [False]
        wanted = self._choice.attempt
        if wanted is None or wanted == last:
            return [False]
        return [True] if earlier and wanted == last - 1 else []

    # --- following

    async def _watch(self) -> None:
        """Follow every pod from its start, until the owner has ended and all is told."""
        streams: dict[str, asyncio.Task[None]] = {}
        try:
            while not self._over:
                await self._look(streams)
                for each in streams.values():
                    if each.done():
                        each.result()  # a log that may not be read ends the command
                if not self._over:
                    await asyncio.sleep(LOOK_SECONDS)
            if streams:
                await asyncio.wait(streams.values(), timeout=LAST_SECONDS)
        finally:
            for each in streams.values():
                each.cancel()
            if streams:
                await asyncio.wait(streams.values())
            self._queue.put_nowait(None)

    async def _look(self, streams: dict[str, asyncio.Task[None]]) -> None:
        """Take note of how the owner and its pods stand, and follow those that are new."""
        try:
            over = await self._owner.over()
            found = {source.writer.pod.metadata.uid: source for source in await self._sources()}
        except UnreachableError:
            if time.monotonic() - self._answered > PATIENCE_SECONDS:
                raise
            return
        self._answered = time.monotonic()
        self._over = over
        for uid, source in found.items():
            if uid in self._there:
                self._there[uid].writer = source.writer
            else:
                self._there[uid] = source
                streams[uid] = asyncio.create_task(self._follow(source))
        for uid in self._there.keys() - found.keys():
            del self._there[uid]

    async def _follow(self, source: _Source) -> None:
        uid = source.writer.pod.metadata.uid
        while uid in self._there:
            last = source.writer.ended or self._over
            try:
                async for lines in self._read(source, follow=not last):
                    await self._queue.put(lines)
            except UnreachableError:
                last = False
            if last:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _read(self, source: _Source, follow: bool, previous: bool = False) -> AsyncGenerator[Lines, None]:
        params = {"container": source.writer.container, "timestamps": "true"}
        if follow:
            params["follow"] = "true"
        if previous:
            params["previous"] = "true"
        mark = Mark() if previous else source.mark
        if mark.since:
            params["sinceTime"] = mark.since
        elif self._choice.tail is not None:
            params["tailLines"] = str(self._choice.tail)
        about = source.writer.pod.metadata
        try:
            async for lines in self._client.log_stream(about.namespace, about.name, params, SILENCE_SECONDS):
                if fresh := mark.new(lines):
                    yield Lines(source.writer.replica, fresh)
        except APIError as fault:
            # 400: the container has not started; 404: the pod is gone, or has just been replaced.
            if fault.code not in (400, 404):
                raise
