"""Model servers: their objects, and their status with the versions that their replicas serve."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.operator.api import API
from shoal.kubernetes.operator.caches import Caches
from shoal.kubernetes.operator.deployed.reconcile import DeployedReconciler
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import DEPLOYMENTS, SERVERS
from shoal.kubernetes.operator.serving.served import ServedModels
from shoal.kubernetes.operator.serving.status import server_status
from shoal.kubernetes.operator.views import Deployed, Deployment
from shoal.kubernetes.operator.wanted import WantedObject
from shoal.kubernetes.serving.render import render_server
from shoal.resources import ModelServer, ServerStatus, parse_server


class ServerReconciler(DeployedReconciler[ModelServer, ServerStatus]):
    """Looks after model servers."""

    kind = SERVERS
    what = "server"
    noun = "Server"

    def __init__(
        self,
        api: API,
        caches: Caches,
        recorder: Recorder,
        served: ServedModels,
        clock: Callable[[], float] = time.time,
        gpus: GPUNames = GPU_NAMES,
    ) -> None:
        super().__init__(api, caches, recorder, clock)
        self._served = served
        self._gpus = gpus

    def forget(self, stored: Deployed) -> None:
        super().forget(stored)
        self._served.forget(stored.metadata.uid)

    def _parse(self, manifest: Object) -> ModelServer:
        return parse_server(manifest, source="ModelServer")

    def _render(self, resource: ModelServer, stored: Deployed) -> Iterable[Object]:
        return render_server(resource, self._gpus)

    def _read_status(self, status: Object) -> ServerStatus:
        return ServerStatus.model_validate(status)

    def _status(
        self, resource: ModelServer, stored: Deployed, deployment: Deployment | None, problem: str, now: float
    ) -> ServerStatus:
        served = self._served.of(stored.metadata.uid)
        return server_status(resource, stored.metadata.generation, deployment, problem, now, served)

    def _told_ready(self, status: ServerStatus) -> str:
        return f"{status.ready_replicas} replicas serve at {status.url}"

    def _final(self, resource: ModelServer, each: WantedObject, deployment: Deployment | None) -> Object:
        """A Deployment keeps the number that an autoscaler gave it: not to apply the field would make it 1."""
        scaling = resource.spec.autoscaling
        if each.kind is not DEPLOYMENTS or scaling is None:
            return each.manifest
        replicas = max(deployment.spec.replicas if deployment else 0, scaling.min_replicas or 1)
        return {**each.manifest, "spec": {**each.manifest["spec"], "replicas": replicas}}
