"""The stores that a pass reads, and which job or server each object belongs to."""

from __future__ import annotations

from typing import NamedTuple

from shoal.kubernetes.operator.kinds import (
    AUTOSCALERS,
    DISRUPTION_BUDGETS,
    HTTP_ROUTES,
    INGRESSES,
    JOBS,
    SERVERS,
    Kind,
)
from shoal.kubernetes.operator.store import ObjectKey, Store
from shoal.kubernetes.operator.views import Deployment, Job, Named, Owned, Pod, Server


class JobKey(NamedTuple):
    """Which job: all that a worker is told."""

    api_version: str
    namespace: str
    name: str


class ServerKey(NamedTuple):
    """Which model server."""

    namespace: str
    name: str


Key = JobKey | ServerKey


class Caches:
    """Everything that the operator watches."""

    def __init__(self) -> None:
        self.jobs: dict[str, Store[Job]] = {api: Store() for api in JOBS}
        self.pods: Store[Pod] = Store()
        self.services: Store[Owned] = Store()
        self.config_maps: Store[Owned] = Store()
        self.servers: Store[Server] = Store()
        self.deployments: Store[Deployment] = Store()
        self.beside_servers: dict[Kind[Owned], Store[Owned]] = {
            kind: Store() for kind in (AUTOSCALERS, DISRUPTION_BUDGETS, INGRESSES, HTTP_ROUTES)
        }

    def job(self, key: JobKey) -> Job | None:
        return self.jobs[key.api_version].get(ObjectKey(key.namespace, key.name))

    def all_jobs(self) -> list[Job]:
        return [job for store in self.jobs.values() for job in store.all()]


def key_of(owner: Job | Server) -> Key:
    about = owner.metadata
    if isinstance(owner, Server):
        return ServerKey(about.namespace, about.name)
    return JobKey(owner.api_version, about.namespace, about.name)


def owner_key(object: Named) -> Key | None:
    """The job or server that the object belongs to."""
    owner, namespace = object.metadata.controller, object.metadata.namespace
    if owner is None:
        return None
    if (owner.kind, owner.api_version) == (SERVERS.name, SERVERS.api_version):
        return ServerKey(namespace, owner.name)
    if owner.kind != "TFJob" or owner.api_version not in JOBS:
        return None
    return JobKey(owner.api_version, namespace, owner.name)
