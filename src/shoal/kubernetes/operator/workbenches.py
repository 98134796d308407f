"""Workbenches: their tokens, their objects, and their end when nobody works at them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import WORKBENCH
from shoal.kubernetes.operator.api import API, AlreadyExistsError, APIError
from shoal.kubernetes.operator.caches import Caches, DeployedKey
from shoal.kubernetes.operator.deployed.app_status import app_status
from shoal.kubernetes.operator.deployed.apps import AppReconciler
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import PODS, SECRETS, WORKBENCHES
from shoal.kubernetes.operator.replica_pods import owner_reference
from shoal.kubernetes.operator.store import ObjectKey
from shoal.kubernetes.operator.views import Deployed, Deployment, Pod
from shoal.kubernetes.workbench import secret_name, token_secret, workbench_objects
from shoal.resources import AppStatus, Workbench, parse_workbench
from shoal.resources.workbench import WORKBENCH_CONTAINER

RECENT_SECONDS = 300.0
"""An end that is older is no reason to stop what runs since: the operator was away, and somebody may work again."""

ENDED = "JupyterLab has ended: nobody was active for as long as idleTimeoutSeconds says, or somebody shut it down"
ON_PURPOSE = "spec.stopped is true"


class WorkbenchReconciler(AppReconciler[Workbench]):
    """Looks after workbenches. One whose JupyterLab ends without a fault is stopped, where a Deployment alone would
    start it again."""

    kind = WORKBENCHES
    what = "workbench"
    noun = "Workbench"

    def __init__(self, api: API, caches: Caches, recorder: Recorder, clock: Callable[[], float] = time.time) -> None:
        super().__init__(api, caches, recorder, clock)
        self._ended: set[str] = set()
        """Those that were stopped here because they had ended: only to say so."""

    async def reconcile(self, key: DeployedKey) -> float | None:
        stored = self._caches.deployed[self.kind].get(ObjectKey(key.namespace, key.name))
        if stored is not None and stored.metadata.deletion_timestamp is None and not stored.spec.get("stopped"):
            await self._stop_if_ended(stored)
        return await super().reconcile(key)

    def _parse(self, manifest: Object) -> Workbench:
        return parse_workbench(manifest, source="Workbench")

    def _render(self, resource: Workbench, stored: Deployed) -> Iterable[Object]:
        return workbench_objects(resource, secret_name(resource.name, stored.metadata.uid))

    async def _prepare(self, resource: Workbench, stored: Deployed) -> str:
        """The Secret with the token, which must be there before a pod can start. It is never read, so that whether it
        is there is asked by making it, and only while there is no pod that has it."""
        deployment = self._caches.deployments.get(ObjectKey(stored.metadata.namespace, stored.metadata.name))
        if resource.spec.stopped or (deployment is not None and deployment.status.ready_replicas):
            return ""
        name = secret_name(resource.name, stored.metadata.uid)
        secret = token_secret(resource, name)
        secret["metadata"]["ownerReferences"] = [owner_reference(resource, stored.metadata.uid)]
        try:
            await self._api.create(SECRETS, secret)
        except AlreadyExistsError:
            return ""
        except APIError as fault:
            return f"Secret {name}: {fault}"
        return ""

    def _status(
        self, resource: Workbench, stored: Deployed, deployment: Deployment | None, problem: str, now: float
    ) -> AppStatus:
        why = ""
        if resource.spec.stopped:
            ended = stored.metadata.uid in self._ended or resource.status.message == ENDED
            why = ENDED if ended else ON_PURPOSE
        return app_status(resource, stored.metadata.generation, deployment, problem, now, why)

    async def _stop_if_ended(self, stored: Deployed) -> None:
        about = stored.metadata
        pods, _ = await self._api.list(PODS, about.namespace, f"{WORKBENCH}={about.name}")
        if not any(_has_ended(pod, self._clock()) for pod in pods):
            self._ended.discard(about.uid)
            return
        body = {"metadata": {"resourceVersion": about.resource_version}, "spec": {"stopped": True}}
        self._caches.deployed[self.kind].wrote(await self._api.patch(self.kind, about.namespace, about.name, body))
        self._ended.add(about.uid)


def _has_ended(pod: Pod, now: float) -> bool:
    """Whether JupyterLab has left of its own accord. In a pod that is being deleted, evicted, or ended with its node,
    it was told to."""
    if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
        return False
    for status in pod.status.container_statuses:
        end = status.state.terminated or status.last_state.terminated
        if status.name == WORKBENCH_CONTAINER and end is not None and end.finished_at is not None:
            return (end.exit_code, end.signal) == (0, 0) and now - end.finished_at.timestamp() < RECENT_SECONDS
    return False
