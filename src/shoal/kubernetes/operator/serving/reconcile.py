"""One pass over one model server: its objects are brought about, then the status says how they are.

What serves is the Deployment's business, and nothing is lost between two passes, so the status comes last: it tells
what was done, and what could not be.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pydantic import ValidationError

from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.operator.api import API
from shoal.kubernetes.operator.caches import Caches, ServerKey
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import SERVERS
from shoal.kubernetes.operator.merge_patch import merge_patch
from shoal.kubernetes.operator.serving.objects import ServerObjects, WantedServer
from shoal.kubernetes.operator.serving.served import ServedModels
from shoal.kubernetes.operator.serving.status import READY, refused, server_status
from shoal.kubernetes.operator.store import ObjectKey
from shoal.kubernetes.operator.views import Server
from shoal.kubernetes.operator.wanted import adopted, manifest_of
from shoal.kubernetes.serving.render import render_server
from shoal.resources import ManifestError, ServerPhase, ServerStatus, parse_server

AGAIN_SECONDS = 30.0
"""How soon what could not be done is tried again: a missing kind may be installed, a name may become free."""


class ServerReconciler:
    """Looks after model servers. It keeps nothing between passes that could not be lost."""

    def __init__(
        self,
        api: API,
        caches: Caches,
        recorder: Recorder,
        served: ServedModels,
        clock: Callable[[], float] = time.time,
        gpus: GPUNames = GPU_NAMES,
    ) -> None:
        self._api = api
        self._caches = caches
        self._recorder = recorder
        self._clock = clock
        self._gpus = gpus
        self._objects = ServerObjects(api, caches)
        self._served = served
        self._known: dict[str, WantedServer] = {}

    async def reconcile(self, key: ServerKey) -> float | None:
        """One pass. Answers when to look again without any event, in seconds since the epoch.

        Raises ConflictError, UnreachableError or NotLeaderError where it wants to be repeated at once.
        """
        stored = self._caches.servers.get(ObjectKey(*key))
        if stored is None or stored.metadata.deletion_timestamp is not None:
            return None
        before, generation, now = _read_status(stored), stored.metadata.generation, self._clock()
        try:
            wanted = self._wanted(stored)
        except ManifestError as faults:
            told = "; ".join(f"{fault.path}: {fault.problem}" for fault in faults.faults)
            await self._write_status(stored, before, refused(before, generation, told, now))
            return None
        problem = await self._objects.bring_about(wanted)
        server = wanted.server.model_copy(update={"status": before})
        deployment = self._caches.deployments.get(ObjectKey(*key))
        served = self._served.of(stored.metadata.uid)
        status = server_status(server, generation, deployment, problem, now, served)
        await self._write_status(stored, before, status)
        return now + AGAIN_SECONDS if problem else None

    def forget(self, server: Server) -> None:
        """The server has been deleted. Its objects are the garbage collector's."""
        self._known.pop(server.metadata.uid, None)
        self._served.forget(server.metadata.uid)

    def _wanted(self, stored: Server) -> WantedServer:
        uid, generation = stored.metadata.uid, stored.metadata.generation
        known = self._known.get(uid)
        if known is not None and known.generation == generation:
            return known
        server = parse_server(manifest_of(stored), source="ModelServer")
        wanted = WantedServer(uid, generation, server, adopted(server, uid, render_server(server, self._gpus)))
        if known is not None:
            wanted.applied = known.applied
        self._known[uid] = wanted
        return wanted

    async def _write_status(self, stored: Server, before: ServerStatus, status: ServerStatus) -> None:
        """ConflictError where somebody has changed the server meanwhile."""
        patch = merge_patch(stored.status, status.dump()) if status != before else {}
        if not patch:
            return
        about = stored.metadata
        body = {"metadata": {"resourceVersion": about.resource_version}, "status": patch}
        after = await self._api.patch(SERVERS, about.namespace, about.name, body, subresource="status")
        self._caches.servers.wrote(after)
        self._tell(after, before, status)

    def _tell(self, stored: Server, before: ServerStatus, after: ServerStatus) -> None:
        known, now = (
            next((each for each in status.conditions if each.type == READY), None) for status in (before, after)
        )
        if now is None or (known and (known.status, known.reason) == (now.status, now.reason)):
            return
        if after.phase is ServerPhase.FAILED:
            self._recorder.warning(stored, now.reason, now.message)
        elif after.phase is ServerPhase.READY:
            self._recorder.normal(stored, "ServerReady", f"{after.ready_replicas} replicas serve at {after.url}")
        else:
            self._recorder.normal(stored, "ServerUpdating", now.message)


def _read_status(stored: Server) -> ServerStatus:
    """As stored. One that another operator has left, and that cannot be read, counts as none."""
    try:
        return ServerStatus.model_validate(stored.status)
    except ValidationError:
        return ServerStatus()
