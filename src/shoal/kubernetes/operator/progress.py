"""How far a job has come, from what its pods print.

A pod has no file that the operator could read, but it has a log: `shoal.tf.report` prints there, where the pod's
environment asks for it. The leader speaks for those who train, the evaluator for itself; nobody else is asked. A log is
read rarely, a job that prints no progress is asked ever more rarely, and a last time when its leader has ended.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import structlog

from shoal.kubernetes.operator.api import API, APIError, UnreachableError
from shoal.kubernetes.operator.views import Pod
from shoal.resources import Role, TFJob
from shoal.tf import protocol
from shoal.training import Replica, ReplicaId, ReplicaProgress, ReplicaState
from shoal.training.duties import leader
from shoal.training.progress_lines import add_line, read_line

FIRST_SECONDS = 5.0
"""How soon after its start a replica is asked; the pause doubles from then on."""

SPEAKING_SECONDS = 30.0
SILENT_SECONDS = 300.0
"""The longest pauses, for replicas that have printed progress and for those that have not."""

PATIENCE_SECONDS = 2.0
"""How long a pass waits for a log: a node that has vanished must not hold up other jobs."""

LINES = 200

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Known:
    said: ReplicaProgress | None = None
    pause: float = FIRST_SECONDS
    due: float = 0.0
    ended: bool = False


class LogProgress:
    """Remembers what each run of a container has said, by job. All of it can be read again, so it may be lost."""

    def __init__(self, api: API) -> None:
        self._api = api
        self._known: dict[str, dict[tuple[str, int], _Known]] = {}

    async def add(
        self, job: TFJob, job_uid: str, seen: list[tuple[Pod, Replica]], now: float
    ) -> tuple[list[tuple[Pod, Replica]], float | None]:
        """The replicas with their progress, and when to look again, in seconds since the epoch."""
        before, known = self._known.get(job_uid, {}), {}
        result, wake_at = [], None
        for pod, replica in seen:
            if speaks(job, replica.id):
                key = (pod.metadata.uid, replica.in_place_restarts)
                said = known[key] = before.get(key) or _Known(due=(replica.started_at or now) + FIRST_SECONDS)
                readable = await self._look(job, pod, replica, said, now)
                # A log that cannot be read proves no stall: then the replica counts as one that reports no steps.
                replica = replace(replica, progress=said.said if readable else None)
                if replica.state is ReplicaState.RUNNING:
                    wake_at = min(said.due, wake_at or said.due)
            result.append((pod, replica))
        self._known[job_uid] = known
        return result, wake_at

    def forget(self, job_uid: str) -> None:
        self._known.pop(job_uid, None)

    async def _look(self, job: TFJob, pod: Pod, replica: Replica, known: _Known, now: float) -> bool:
        """Read the log where that is due; False where it had to be and could not."""
        last = replica.state is ReplicaState.SUCCEEDED and not known.ended
        stalls = _would_have_stalled(job, known, now)
        if not last and (replica.state is not ReplicaState.RUNNING or not (stalls or now >= known.due)):
            return True
        known.ended = last
        lines = await self._read(job, pod, replica)
        for line in lines or ():
            if said := read_line(line):
                known.said = add_line(known.said, said)
        longest = SPEAKING_SECONDS if known.said else SILENT_SECONDS
        # Training is over and the job waits for the evaluation alone: that is soon.
        known.pause = FIRST_SECONDS if job.status.training_end_time else min(2 * known.pause, longest)
        known.due = now + known.pause
        return lines is not None or not stalls

    async def _read(self, job: TFJob, pod: Pod, replica: Replica) -> list[str] | None:
        """The progress lines at the end of the log; None where it cannot be read."""
        about = pod.metadata
        container = job.replicas[replica.id.role].container["name"]
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                text = await self._api.log(about.namespace, about.name, container, LINES)
        except (APIError, UnreachableError, TimeoutError) as fault:
            log.debug("cannot read progress", pod=about.name, namespace=about.namespace, fault=str(fault))
            return None
        found = (line.partition(protocol.PROGRESS_PREFIX) for line in text.splitlines())
        return [said for _, prefix, said in found if prefix]


def _would_have_stalled(job: TFJob, known: _Known, now: float) -> bool:
    """Whether the last step that is known is so old that a stall would be found, so that it must be the last."""
    timeout = job.spec.run_policy.stall_timeout_seconds
    return timeout is not None and known.said is not None and known.said.time + timeout <= now


def speaks(job: TFJob, id: ReplicaId) -> bool:
    """Whether the replica's log is read for progress."""
    return id.role in job.replicas and (id == leader(job) or id.role is Role.EVALUATOR)
