"""The stores that a pass reads, and which job each object belongs to."""

from __future__ import annotations

from typing import NamedTuple

from shoal.kubernetes.operator.kinds import JOBS
from shoal.kubernetes.operator.store import ObjectKey, Store
from shoal.kubernetes.operator.views import Job, Named, Owned, Pod


class JobKey(NamedTuple):
    """Which job: all that a worker is told."""

    api_version: str
    namespace: str
    name: str


class Caches:
    """Everything that the operator watches."""

    def __init__(self) -> None:
        self.jobs: dict[str, Store[Job]] = {api: Store() for api in JOBS}
        self.pods: Store[Pod] = Store()
        self.services: Store[Owned] = Store()
        self.config_maps: Store[Owned] = Store()

    def job(self, key: JobKey) -> Job | None:
        return self.jobs[key.api_version].get(ObjectKey(key.namespace, key.name))

    def all_jobs(self) -> list[Job]:
        return [job for store in self.jobs.values() for job in store.all()]


def key_of(job: Job) -> JobKey:
    return JobKey(job.api_version, job.metadata.namespace, job.metadata.name)


def owner_key(object: Named) -> JobKey | None:
    """The job that the object belongs to."""
    owner = object.metadata.controller
    if owner is None or owner.kind != "TFJob" or owner.api_version not in JOBS:
        return None
    return JobKey(owner.api_version, object.metadata.namespace, owner.name)
