"""The GPUs that a job's replicas have from the pool, where a broker is configured (SHOAL_BROKER) and they ask for some.

All are asked for as one gang before any of them starts; what is added later, or asked for again because its lease was
lost, is a gang of its own. A process beside the supervisor borrows each: `shoal.gpu.borrower`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.local.process import LaunchError
from shoal.resources import TFJob
from shoal.resources.quantity import parse_quantity
from shoal.training import ReplicaId, replica_ids

BORROWER = sys.executable, "-m", "shoal.gpu.borrower"
LIMITS = "shoal.dev/gpu", "bitfusion.io/gpu"
RELEASE_SECONDS = 10.0
LINE_BYTES = 1 << 20
"""Of a line that the borrower says: of a large gang it is long."""

Environment = dict[str, str]


def wanted(job: TFJob, id: ReplicaId) -> dict[str, Any] | None:
    """The replica's request, as the broker takes it; None for one without GPUs of the pool."""
    spec = job.replicas[id.role]
    if spec.gpu:
        return {"gpus": spec.gpu.count, "models": spec.gpu.models or []}
    limits = spec.container.get("resources", {}).get("limits", {})
    gpus = sum(int(parse_quantity(limits[name])) for name in LIMITS if name in limits)
    return {"gpus": gpus} if gpus else None


@dataclass
class _Gang:
    """Replicas whose GPUs one process borrows together."""

    given: dict[ReplicaId, asyncio.Future[Environment]]
    process: Process | None = None

    def end(self, task: asyncio.Task[None]) -> None:
        """Have the lease released."""
        if self.process and self.process.stdin:
            self.process.stdin.close()
        else:
            task.cancel()


class Loan:
    """`on_change` is called when there is another reason to wait, `on_loss` with those whose GPUs are gone."""

    def __init__(self, on_change: Callable[[], None], on_loss: Callable[[list[ReplicaId], str], None]) -> None:
        self.waiting = ""
        self._on_change, self._on_loss = on_change, on_loss
        self._given: dict[ReplicaId, asyncio.Future[Environment]] = {}
        self._gangs: dict[asyncio.Task[None], _Gang] = {}
        self._configured = bool(os.environ.get("SHOAL_BROKER"))

    async def environment(self, job: TFJob, id: ReplicaId) -> Environment:
        """What the replica needs to use its GPUs, once they are there. Raises LaunchError where they never will be."""
        if not self._configured or wanted(job, id) is None:
            return {}
        if id not in self._given:
            missing = [each for each in replica_ids(job) if each not in self._given]
            requests = {each: asked for each in missing if (asked := wanted(job, each))}
            loop = asyncio.get_running_loop()
            gang = _Gang({each: loop.create_future() for each in requests})
            self._given |= gang.given
            self._gangs[asyncio.create_task(self._borrow(gang, list(requests.values())))] = gang
        return await self._given[id]

    def forgo(self, id: ReplicaId) -> None:
        """The replica is not to start any more: whoever waits for its GPUs is told so."""
        if id in self._given and not self._given[id].done():
            _refuse(self._given.pop(id), "stopped before it had its GPUs")
        for task, gang in self._gangs.items():
            if not any(self._given.get(each) is future for each, future in gang.given.items()):
                gang.end(task)  # else it would hold what a successor waits for

    async def release(self) -> None:
        """Give back everything."""
        self._given = {}
        for task, gang in self._gangs.items():
            gang.end(task)
        if self._gangs:
            await asyncio.wait(list(self._gangs), timeout=RELEASE_SECONDS)

    async def _borrow(self, gang: _Gang, requests: list[dict[str, Any]]) -> None:
        """From asking to the end of the lease."""
        task = asyncio.current_task()
        assert task
        reason = "the process that borrows them has ended"
        try:
            process = gang.process = await asyncio.create_subprocess_exec(
                *BORROWER, stdin=PIPE, stdout=PIPE, start_new_session=True, limit=LINE_BYTES
            )
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(requests).encode() + b"\n")
            async for line in process.stdout:
                match json.loads(line):
                    case {"waiting": told}:
                        self.waiting = told
                    case {"granted": environments}:
                        self.waiting = ""
                        for future, environment in zip(gang.given.values(), environments, strict=True):
                            if not future.done():
                                future.set_result(environment)
                    case {"ended": told}:
                        reason = told
                self._on_change()
            await process.wait()
        finally:
            del self._gangs[task]
        self._lost(gang.given, reason)

    def _lost(self, given: dict[ReplicaId, asyncio.Future[Environment]], reason: str) -> None:
        """Tell those that have not given up theirs meanwhile."""
        self.waiting = ""
        had = []
        for id, future in given.items():
            if self._given.get(id) is future:
                del self._given[id]
                if future.done():
                    had.append(id)
                else:
                    _refuse(future, f"no GPUs: {reason}")
        self._on_loss(had, reason)


def _refuse(future: asyncio.Future[Environment], reason: str) -> None:
    future.set_exception(LaunchError(reason))
    future.exception()  # where nobody waits for it, that is no fault
