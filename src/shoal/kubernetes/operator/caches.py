"""The stores that a pass reads, and which job or other resource each object belongs to."""

from __future__ import annotations

from typing import Any, NamedTuple

from shoal.kubernetes.operator.kinds import (
    AUTOSCALERS,
    DEPLOYED,
    DISRUPTION_BUDGETS,
    HTTP_ROUTES,
    INGRESSES,
    JOBS,
    SERVERS,
    Kind,
)
from shoal.kubernetes.operator.store import ObjectKey, Store
from shoal.kubernetes.operator.views import Deployed, Deployment, Job, Named, Owned, Pod, Server


class JobKey(NamedTuple):
    """Which job: all that a worker is told."""

    api_version: str
    namespace: str
    name: str


class DeployedKey(NamedTuple):
    """Which model server, TensorBoard or workbench: `kind` tells."""

    kind: str
    namespace: str
    name: str


Key = JobKey | DeployedKey


class Caches:
    """Everything that the operator watches."""

    def __init__(self) -> None:
        self.jobs: dict[str, Store[Job]] = {api: Store() for api in JOBS}
        self.pods: Store[Pod] = Store()
        self.services: Store[Owned] = Store()
        self.config_maps: Store[Owned] = Store()
        self.deployed: dict[Kind[Any], Store[Any]] = {kind: Store() for kind in DEPLOYED}
        self.deployments: Store[Deployment] = Store()
        self.beside_deployments: dict[Kind[Owned], Store[Owned]] = {
            kind: Store() for kind in (AUTOSCALERS, DISRUPTION_BUDGETS, INGRESSES, HTTP_ROUTES)
        }

    @property
    def servers(self) -> Store[Server]:
        return self.deployed[SERVERS]

    def job(self, key: JobKey) -> Job | None:
        return self.jobs[key.api_version].get(ObjectKey(key.namespace, key.name))

    def all_jobs(self) -> list[Job]:
        return [job for store in self.jobs.values() for job in store.all()]


def key_of(owner: Job | Deployed) -> Key:
    about = owner.metadata
    if isinstance(owner, Deployed):
        return DeployedKey(owner.kind, about.namespace, about.name)
    return JobKey(owner.api_version, about.namespace, about.name)


def owner_key(object: Named) -> Key | None:
    """The job or other resource that the object belongs to."""
    owner, namespace = object.metadata.controller, object.metadata.namespace
    if owner is None:
        return None
    if any((owner.kind, owner.api_version) == (kind.name, kind.api_version) for kind in DEPLOYED):
        return DeployedKey(owner.kind, namespace, owner.name)
    if owner.kind != "TFJob" or owner.api_version not in JOBS:
        return None
    return JobKey(owner.api_version, namespace, owner.name)
