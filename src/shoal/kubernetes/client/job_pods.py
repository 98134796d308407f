"""The pods of a TFJob as those that write its logs."""

from __future__ import annotations

from shoal.kubernetes.client.logs import Writer
from shoal.kubernetes.client.snapshots import alive, container_names, pods_of, replicas
from shoal.kubernetes.operator.api import NotFoundError
from shoal.kubernetes.operator.client import Client
from shoal.kubernetes.operator.kinds import JOBS
from shoal.kubernetes.operator.views import Job
from shoal.resources.tfjob import CONTAINER_NAME
from shoal.training import ReplicaState


class JobPods:
    """Implements `shoal.kubernetes.client.logs.Owner`."""

    def __init__(self, client: Client, job: Job) -> None:
        self._client = client
        self._job = job

    @property
    def name(self) -> str:
        return self._job.metadata.name

    async def writers(self) -> list[Writer]:
        containers = container_names(self._job)
        return [
            Writer(
                str(id),
                pod,
                containers.get(id.role.value, CONTAINER_NAME),
                seen.attempt + seen.in_place_restarts + 1,
                seen.in_place_restarts > 0,
                seen.state in (ReplicaState.SUCCEEDED, ReplicaState.FAILED),
            )
            for id, pod, seen in replicas(self._job, await pods_of(self._client, self._job))
        ]

    async def over(self) -> bool:
        about = self._job.metadata
        try:
            job = await self._client.get(JOBS[self._job.api_version], about.namespace, about.name)
        except NotFoundError:
            return True
        return job.metadata.uid != about.uid or not alive(job)
