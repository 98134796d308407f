"""One pass over a resource that is one Deployment: its objects are brought about, then the status says how they are.

What runs is the Deployment's business, and nothing is lost between two passes, so the status comes last: it tells what
was done, and what could not be.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ValidationError

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.operator.api import API
from shoal.kubernetes.operator.caches import Caches, DeployedKey
from shoal.kubernetes.operator.deployed.objects import DeployedObjects, WantedResource
from shoal.kubernetes.operator.deployed.status import READY, refused
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.merge_patch import merge_patch
from shoal.kubernetes.operator.store import ObjectKey
from shoal.kubernetes.operator.views import Deployed, Deployment
from shoal.kubernetes.operator.wanted import WantedObject, adopted, manifest_of
from shoal.resources import (
    AppPhase,
    AppStatus,
    ManifestError,
    ModelServer,
    ServerPhase,
    ServerStatus,
    TensorBoard,
    Workbench,
)

AGAIN_SECONDS = 30.0
"""How soon what could not be done is tried again: a missing kind may be installed, a name may become free."""

R = TypeVar("R", ModelServer, TensorBoard, Workbench)
S = TypeVar("S", ServerStatus, AppStatus)


class DeployedReconciler(ABC, Generic[R, S]):
    """Looks after the resources of one kind. It keeps nothing between passes that could not be lost."""

    kind: ClassVar[Kind[Any]]
    what: ClassVar[str]
    """What users call one, within a sentence."""
    noun: ClassVar[str]
    """What begins the reasons of its events."""

    def __init__(self, api: API, caches: Caches, recorder: Recorder, clock: Callable[[], float] = time.time) -> None:
        self._api = api
        self._caches = caches
        self._recorder = recorder
        self._clock = clock
        self._objects = DeployedObjects(api, caches, self.what)
        self._known: dict[str, WantedResource[R]] = {}

    @abstractmethod
    def _parse(self, manifest: Object) -> R:
        """Raises ManifestError where the rules refuse it."""

    @abstractmethod
    def _render(self, resource: R, stored: Deployed) -> Iterable[Object]: ...

    @abstractmethod
    def _read_status(self, status: Object) -> S:
        """Raises ValidationError where another operator has left one that cannot be read."""

    @abstractmethod
    def _status(self, resource: R, stored: Deployed, deployment: Deployment | None, problem: str, now: float) -> S:
        """The next status, given the one in `resource`. `problem` is what kept the operator from doing all that is
        asked."""

    @abstractmethod
    def _told_ready(self, status: S) -> str:
        """The message of the event of one that has become ready."""

    async def _prepare(self, resource: R, stored: Deployed) -> str:
        """What must be there before the objects. Answers what cannot be done, and why."""
        return ""

    def _final(self, resource: R, each: WantedObject, deployment: Deployment | None) -> Object:
        """The manifest to apply in the end, where it depends on what is there."""
        return each.manifest

    async def reconcile(self, key: DeployedKey) -> float | None:
        """One pass. Answers when to look again without any event, in seconds since the epoch.

        Raises ConflictError, UnreachableError or NotLeaderError where it wants to be repeated at once.
        """
        place = ObjectKey(key.namespace, key.name)
        stored = self._caches.deployed[self.kind].get(place)
        if stored is None or stored.metadata.deletion_timestamp is not None:
            return None
        before, generation, now = self._before(stored), stored.metadata.generation, self._clock()
        try:
            wanted = self._wanted(stored)
        except ManifestError as faults:
            told = "; ".join(f"{fault.path}: {fault.problem}" for fault in faults.faults)
            await self._write_status(stored, before, refused(before, generation, told, now))
            return None
        resource: R = wanted.resource.model_copy(update={"status": before})

        def final(each: WantedObject) -> Object:
            return self._final(resource, each, self._caches.deployments.get(place))

        problems = [await self._prepare(resource, stored), await self._objects.bring_about(wanted, final)]
        problem = "; ".join(filter(None, problems))
        deployment = self._caches.deployments.get(place)
        await self._write_status(stored, before, self._status(resource, stored, deployment, problem, now))
        return now + AGAIN_SECONDS if problem else None

    def forget(self, stored: Deployed) -> None:
        """The resource has been deleted. Its objects are the garbage collector's."""
        self._known.pop(stored.metadata.uid, None)

    def _wanted(self, stored: Deployed) -> WantedResource[R]:
        uid, generation = stored.metadata.uid, stored.metadata.generation
        known = self._known.get(uid)
        if known is not None and known.generation == generation:
            return known
        resource = self._parse(manifest_of(stored))
        wanted = WantedResource(uid, generation, resource, adopted(resource, uid, self._render(resource, stored)))
        if known is not None:
            wanted.applied = known.applied
        self._known[uid] = wanted
        return wanted

    def _before(self, stored: Deployed) -> S:
        """The status as stored. One that cannot be read counts as none."""
        try:
            return self._read_status(stored.status)
        except ValidationError:
            return self._read_status({})

    async def _write_status(self, stored: Deployed, before: S, status: S) -> None:
        """ConflictError where somebody has changed the resource meanwhile."""
        patch = merge_patch(stored.status, status.dump()) if status != before else {}
        if not patch:
            return
        about = stored.metadata
        body = {"metadata": {"resourceVersion": about.resource_version}, "status": patch}
        after = await self._api.patch(self.kind, about.namespace, about.name, body, subresource="status")
        self._caches.deployed[self.kind].wrote(after)
        self._tell(after, before, status)

    def _tell(self, stored: Deployed, before: S, after: S) -> None:
        known, now = (
            next((each for each in status.conditions if each.type == READY), None) for status in (before, after)
        )
        if now is None or (known and (known.status, known.reason) == (now.status, now.reason)):
            return
        if after.phase.value == ServerPhase.FAILED:
            self._recorder.warning(stored, now.reason, now.message)
        elif now.status == "True":
            self._recorder.normal(stored, f"{self.noun}Ready", self._told_ready(after))
        else:
            word = "Stopped" if after.phase.value == AppPhase.STOPPED else "Updating"
            self._recorder.normal(stored, f"{self.noun}{word}", now.message)
