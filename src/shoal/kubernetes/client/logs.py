"""The logs of a job's pods as one stream of lines.

A log is read with the time of each line, which is not shown: where a stream ends before its pod does (a kubelet that
restarts, a connection that breaks, a container that is restarted in place), it is taken up again behind the last line.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field

from shoal.kubernetes.client.connection import PATIENCE_SECONDS
from shoal.kubernetes.client.snapshots import alive, container_names, pods_of, replicas
from shoal.kubernetes.operator.api import APIError, NotFoundError, UnreachableError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import JOBS
from shoal.kubernetes.operator.views import Job, Pod
from shoal.resources.tfjob import CONTAINER_NAME
from shoal.runs import Lines, LogChoice, RunError
from shoal.tf.protocol import PROGRESS_PREFIX
from shoal.training import Replica, ReplicaId, ReplicaState

LOOK_SECONDS = 1.0
"""How often new pods are looked for, and how soon a stream that ended is taken up again."""

SILENCE_SECONDS = 300.0
"""A stream in which nothing arrives for so long is taken up anew: the connection may be dead."""

LAST_SECONDS = 5.0
"""How long streams may take to end once the job has ended. Replicas that `cleanPodPolicy: None` spares go on."""

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


@dataclass(slots=True)
class _Source:
    """One pod's log."""

    replica: ReplicaId
    pod: Pod
    container: str
    state: Replica
    mark: Mark = field(default_factory=Mark)

    @property
    def ended(self) -> bool:
        return self.state.state in (ReplicaState.SUCCEEDED, ReplicaState.FAILED)


class JobLogs:
    """Reads what the replicas of one job wrote."""

    def __init__(self, client: Client, job: Job, choice: LogChoice) -> None:
        self._client = client
        self._job = job
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
            while (told := await self._queue.get()) is not None:
                yield told
            await watching
        finally:
            watching.cancel()
            await asyncio.wait((watching,))

    # --- which logs

    async def _sources(self) -> list[_Source]:
        containers = container_names(self._job)
        return [
            _Source(id, pod, containers.get(id.role.value, CONTAINER_NAME), seen)
            for id, pod, seen in replicas(self._job, await pods_of(self._client, self._job))
            if not self._choice.replicas or str(id) in self._choice.replicas
        ]

    def _check(self, found: list[_Source]) -> None:
        if self._choice.replicas and not found:
            raise RunError(
                f"{self._job.metadata.name} has no log of {', '.join(self._choice.replicas)}",
                "a log is there as long as its pod; `shoal describe` shows which are",
            )
        if found and self._choice.attempt is not None and not any(self._runs(source) for source in found):
            kept = ", ".join(f"{each.replica} {_attempt(each)}" for each in found[:5])
            raise RunError(
                f"there is no log of attempt {self._choice.attempt}",
                f"a cluster keeps the last ones alone, of these attempts: {kept}",
            )

    def _runs(self, source: _Source) -> list[bool]:
        """Which runs of the container are wanted, the earlier first: True is the run before the last, which a kubelet
        keeps the log of."""
        earlier = source.state.in_place_restarts > 0
        if self._choice.everything:
            return [True, False] if earlier else [False]
        wanted = self._choice.attempt
        if wanted is None or wanted == _attempt(source):
            return [False]
        return [True] if earlier and wanted == _attempt(source) - 1 else []

    # --- following

    async def _watch(self) -> None:
        """Follow every pod from its start, until the job has ended and all is told."""
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
        """Take note of how the job and its pods stand, and follow those that are new."""
        try:
            job = await self._current()
            found = {source.pod.metadata.uid: source for source in await self._sources()}
        except UnreachableError:
            if time.monotonic() - self._answered > PATIENCE_SECONDS:
                raise
            return
        self._answered = time.monotonic()
        self._over = job is None or not alive(job)
        for uid, source in found.items():
            if uid in self._there:
                self._there[uid].state = source.state
            else:
                self._there[uid] = source
                streams[uid] = asyncio.create_task(self._follow(source))
        for uid in self._there.keys() - found.keys():
            del self._there[uid]

    async def _current(self) -> Job | None:
        """The job as it is now; None where it is gone, or another has its name."""
        about = self._job.metadata
        try:
            job = await self._client.get(JOBS[self._job.api_version], about.namespace, about.name)
        except NotFoundError:
            return None
        return job if job.metadata.uid == about.uid else None

    async def _follow(self, source: _Source) -> None:
        uid = source.pod.metadata.uid
        while uid in self._there:
            last = source.ended or self._over
            try:
                async for lines in self._read(source, follow=not last):
                    await self._queue.put(lines)
            except UnreachableError:
                last = False
            if last:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _read(self, source: _Source, follow: bool, previous: bool = False) -> AsyncGenerator[Lines, None]:
        params = {"container": source.container, "timestamps": "true"}
        if follow:
            params["follow"] = "true"
        if previous:
            params["previous"] = "true"
        mark = Mark() if previous else source.mark
        if mark.since:
            params["sinceTime"] = mark.since
        elif self._choice.tail is not None:
            params["tailLines"] = str(self._choice.tail)
        about = source.pod.metadata
        try:
            async for lines in self._client.log_stream(about.namespace, about.name, params, SILENCE_SECONDS):
                if fresh := mark.new(lines):
                    yield Lines(str(source.replica), fresh)
        except APIError as fault:
            # 400: the container has not started; 404: the pod is gone, or has just been replaced.
            if fault.code not in (400, 404):
                raise


def _attempt(source: _Source) -> int:
    """Which attempt wrote the log, counted from 1."""
    return source.state.attempt + source.state.in_place_restarts + 1
