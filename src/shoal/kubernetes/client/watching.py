"""Watching jobs to their end. The job is read often, its pods only when it has changed: the operator writes the status
whenever a pod's news matter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from shoal.kubernetes.client.connection import PATIENCE_SECONDS
from shoal.kubernetes.client.run import REMOVED, ClusterRun
from shoal.kubernetes.client.snapshots import look, pods_of
from shoal.kubernetes.operator.api import UnreachableError
from shoal.kubernetes.operator.client import Client
from shoal.resources import JobStatus
from shoal.runs import Look, Show, Snapshot

LOOK_SECONDS = 0.5
PODS_SECONDS = 5.0
"""How old what is shown of pods may be while the job does not change."""

UNNOTICED_SECONDS = 10.0
"""After so long without any status a job seems to have no operator."""

UNNOTICED = "nobody has looked at it yet: does `shoal operator` run in this cluster?"


class Watching:
    """Jobs that are watched, and how each was last seen."""

    def __init__(self, client: Client, runs: Sequence[ClusterRun], show: Show) -> None:
        self._client = client
        self._runs = runs
        self._show = show
        self._seen = {run.name: Look(Snapshot(JobStatus()), JobStatus().phase.value, alive=True) for run in runs}

    def looks(self) -> list[Look]:
        return [self._seen[run.name] for run in self._runs]

    async def until_ended(self) -> None:
        """Raises UnreachableError where the cluster does not answer for long."""
        await asyncio.gather(*map(self._watch, self._runs))

    async def _watch(self, run: ClusterRun) -> None:
        version = ""
        began = answered = time.monotonic()
        pods_due = 0.0
        was_alive = False
        while True:
            try:
                job = await run.current()
                if job is None:
                    before = self._seen[run.name]
                    self._seen[run.name] = Look(before.snapshot, REMOVED)
                    return
                now = answered = time.monotonic()
                if job.metadata.resource_version != version or now >= pods_due:
                    seen = look(job, await pods_of(self._client, job))
                    version, pods_due = job.metadata.resource_version, now + PODS_SECONDS
                    if not job.status and now - began >= UNNOTICED_SECONDS:
                        seen.snapshot.status.message = UNNOTICED
                    self._seen[run.name] = seen
                    self._show(run.name, seen.snapshot)
                    was_alive = was_alive or seen.alive
                    # A job that was created suspended waits for its turn in a queue; one that becomes so was stopped.
                    if not seen.alive and (was_alive or seen.snapshot.status.phase.final):
                        return
            except UnreachableError:
                if time.monotonic() - answered > PATIENCE_SECONDS:
                    raise
            await asyncio.sleep(LOOK_SECONDS)
