"""Brings about what a job needs beside its pods, and takes away what it no longer needs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import partial

from shoal.kubernetes.gang import pod_group
from shoal.kubernetes.labels import COMPONENT
from shoal.kubernetes.operator.api import API, AlreadyExistsError, NotFoundError
from shoal.kubernetes.operator.caches import Caches
from shoal.kubernetes.operator.kinds import CONFIG_MAPS, COSCHEDULING_GROUPS, SERVICES, VOLCANO_GROUPS, Kind
from shoal.kubernetes.operator.owned_objects import DIGEST
from shoal.kubernetes.operator.store import ObjectKey, Store
from shoal.kubernetes.operator.views import Owned
from shoal.kubernetes.operator.wanted import Wanted, WantedObject

Call = Callable[[], Coroutine[None, None, None]]

_GROUPS = (VOLCANO_GROUPS, COSCHEDULING_GROUPS)


class Supply:
    """Services and ConfigMaps are watched. The others are few, and applied once by each operator process."""

    def __init__(self, api: API, caches: Caches) -> None:
        self._api = api
        self._watched: dict[Kind[Owned], Store[Owned]] = {
            SERVICES: caches.services,
            CONFIG_MAPS: caches.config_maps,
        }

    def missing(self, wanted: Wanted, objects: list[WantedObject]) -> Iterator[Call]:
        """What is to be applied so that `objects` are there as they should be."""
        for each in objects:
            if self._applied(wanted, each) != each.digest:
                yield partial(self._apply, wanted, each)

    def needless(self, wanted: Wanted) -> Iterator[Call]:
        """What is to be deleted when no replica needs an address any more."""
        for kind, store in self._watched.items():
            for object in store.owned_by(wanted.uid):
                about = object.metadata
                if about.deletion_timestamp is None and COMPONENT not in about.labels:
                    yield partial(self._delete, kind, ObjectKey(about.namespace, about.name), about.uid)
        if not wanted.group_removed and pod_group(wanted.job) is not None:
            yield partial(self._remove_group, wanted)

    def _applied(self, wanted: Wanted, each: WantedObject) -> str | None:
        if each.kind not in self._watched:
            return wanted.applied.get((each.kind, each.key))
        found = self._own(wanted, each)
        return found.metadata.annotations.get(DIGEST) if found else None

    def _own(self, wanted: Wanted, each: WantedObject) -> Owned | None:
        """The object as the cache knows it, if it is there and the job's."""
        found = self._watched[each.kind].get(each.key)
        owner = found.metadata.controller if found else None
        return found if owner and owner.uid == wanted.uid else None

    async def _apply(self, wanted: Wanted, each: WantedObject) -> None:
        made = await (
            self._create(wanted, each) if each.kind is SERVICES else self._api.apply(each.kind, each.manifest)
        )
        wanted.writes += 1
        wanted.applied[each.kind, each.key] = each.digest
        wanted.group_removed = False
        store = self._watched.get(each.kind)
        if store is not None:
            store.wrote(made)

    async def _create(self, wanted: Wanted, each: WantedObject) -> Owned:
        """A Service for each replica is half of all that is written for a job, and creating costs the server less than
        applying. But what was created an apply cannot take back: a Service that differs is deleted first."""
        if (old := self._own(wanted, each)) is not None:
            await self._delete(each.kind, each.key, old.metadata.uid)
        try:
            return await self._api.create(each.kind, each.manifest)
        except AlreadyExistsError:
            return await self._api.apply(each.kind, each.manifest)

    async def _remove_group(self, wanted: Wanted) -> None:
        for each in wanted.before_pods:
            if each.kind in _GROUPS:
                wanted.applied.pop((each.kind, each.key), None)
                await self._delete(each.kind, each.key, "")
        wanted.group_removed = True

    async def _delete(self, kind: Kind[Owned], key: ObjectKey, uid: str) -> None:
        try:
            await self._api.delete(kind, key.namespace, key.name, uid=uid)
        except NotFoundError:
            return
