"""When a replica last wrote to its log, for `stallTimeoutSeconds`.

Logs are read only where the timeout is set, and only when a stall would be found without: that is once per timeout
for a job that is well.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import structlog

from shoal.kubernetes.operator.api import API, APIError, UnreachableError
from shoal.kubernetes.operator.views import Pod
from shoal.resources import TFJob
from shoal.training import Replica, ReplicaState

log = structlog.get_logger(__name__)


class LogActivity:
    """Remembers the last lines' times, by job and pod."""

    def __init__(self, api: API) -> None:
        self._api = api
        self._known: dict[str, dict[str, float]] = {}

    async def add(self, job: TFJob, seen: list[tuple[Pod, Replica]], now: float) -> tuple[Replica, ...]:
        """The replicas, with `activity_at` where that matters."""
        timeout = job.spec.run_policy.stall_timeout_seconds
        if timeout is None or not seen:
            return tuple(replica for _, replica in seen)
        owner = seen[0][0].metadata.controller
        known = self._known.setdefault(owner.uid if owner else "", {})
        result = []
        for pod, replica in seen:
            if replica.state is ReplicaState.RUNNING:
                last = max(replica.started_at or now, known.get(pod.metadata.uid, 0.0))
                if last + timeout <= now:
                    last = max(last, await self._read(job, pod, replica, now))
                    known[pod.metadata.uid] = last
                replica = replace(replica, activity_at=last)
            result.append(replica)
        return tuple(result)

    def forget(self, job_uid: str) -> None:
        self._known.pop(job_uid, None)

    async def _read(self, job: TFJob, pod: Pod, replica: Replica, now: float) -> float:
        """The time of the last line. A log that cannot be read proves no stall, so it counts as written just now."""
        container = job.replicas[replica.id.role].container["name"]
        about = pod.metadata
        try:
            line = await self._api.log(about.namespace, about.name, container, lines=1)
        except (APIError, UnreachableError) as fault:
            log.warning("cannot read a log", pod=about.name, namespace=about.namespace, fault=str(fault))
            return now
        stamp = line.split(" ", 1)[0].strip()
        try:
            return datetime.fromisoformat(stamp).timestamp() if stamp else 0.0
        except ValueError:
            # A kubelet that has lost the log says so in the log's place.
            log.warning("a log says no time", pod=about.name, namespace=about.namespace, line=line[:200])
            return now
