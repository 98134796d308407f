"""Brings about the objects of a resource, and takes away what its spec no longer asks for.

Most are watched, and so few that each is compared on every pass. Claims are applied once by each operator process, and
stay as long as the resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.operator.api import API, APIError, ConflictError, NotFoundError
from shoal.kubernetes.operator.caches import Caches
from shoal.kubernetes.operator.kinds import CONFIG_MAPS, DEPLOYMENTS, SERVICES, Kind
from shoal.kubernetes.operator.owned_objects import DIGEST
from shoal.kubernetes.operator.store import ObjectKey, Store
from shoal.kubernetes.operator.wanted import WantedObject
from shoal.resources import Known

R = TypeVar("R", bound=Known)

Final = Callable[[WantedObject], Object]


class TakenError(Exception):
    """An object of that name is there, and is somebody else's."""


@dataclass(slots=True)
class WantedResource(Generic[R]):
    """One version of a resource. `applied` is this operator's own memory, and may be lost at any time."""

    uid: str
    generation: int
    resource: R
    objects: list[WantedObject]
    applied: dict[tuple[Kind[Any], ObjectKey], str] = field(default_factory=dict)


class DeployedObjects:
    """`what` is what users call the owners. All methods raise what the API raises."""

    def __init__(self, api: API, caches: Caches, what: str) -> None:
        self._api = api
        self._what = what
        self._watched: dict[Kind[Any], Store[Any]] = {
            SERVICES: caches.services,
            CONFIG_MAPS: caches.config_maps,
            DEPLOYMENTS: caches.deployments,
            **caches.beside_deployments,
        }

    async def bring_about(self, wanted: WantedResource[Any], final: Final | None = None) -> str:
        """Delete what is needless, then apply what is missing or differs. Answers what cannot be done, and why; the
        rest is done all the same. `final` gives the manifest that is applied in the end, where it depends on what is
        there."""
        problems = []
        for kind, found in list(self._needless(wanted)):
            about = found.metadata
            try:
                self._forget(kind, await self._api.delete(kind, about.namespace, about.name, uid=about.uid))
            except NotFoundError:
                continue
        for each in wanted.objects:
            if self._applied(wanted, each) == each.digest:
                continue
            try:
                await self._apply(wanted, each, final)
            except ConflictError:
                raise
            except (APIError, TakenError) as fault:
                problems.append(_told(each, fault))
        return "; ".join(problems)

    def _needless(self, wanted: WantedResource[Any]) -> Iterator[tuple[Kind[Any], Any]]:
        names = {(each.kind, each.key) for each in wanted.objects}
        for kind, store in self._watched.items():
            for found in store.owned_by(wanted.uid):
                key = ObjectKey(found.metadata.namespace, found.metadata.name)
                if (kind, key) not in names and found.metadata.deletion_timestamp is None:
                    yield kind, found

    def _forget(self, kind: Kind[Any], left: Any) -> None:
        if left is not None:
            self._watched[kind].wrote(left)

    def _applied(self, wanted: WantedResource[Any], each: WantedObject) -> str | None:
        store = self._watched.get(each.kind)
        if store is None:
            return wanted.applied.get((each.kind, each.key))
        found = store.get(each.key)
        return _digest(found) if found is not None and _owner(found) == wanted.uid else None

    async def _apply(self, wanted: WantedResource[Any], each: WantedObject, final: Final | None) -> None:
        await self._refuse_strangers(wanted, each)
        made = await self._api.apply(each.kind, each.manifest if final is None else final(each))
        wanted.applied[each.kind, each.key] = each.digest
        store = self._watched.get(each.kind)
        if store is not None:
            store.wrote(made)

    async def _refuse_strangers(self, wanted: WantedResource[Any], each: WantedObject) -> None:
        """An apply would take over, and later delete, what somebody else has made under the same name."""
        if not each.kind.namespaced or (each.kind, each.key) in wanted.applied:
            return
        store = self._watched.get(each.kind)
        found = store.get(each.key) if store is not None else None
        if found is None:
            try:
                found = await self._api.get(each.kind, each.key.namespace, each.key.name)
            except NotFoundError:
                return
        if _owner(found) != wanted.uid:
            raise TakenError(f"is there already, and not the {self._what}'s; rename the {self._what}, or delete it")


def _owner(found: Any) -> str:
    owner = found.metadata.controller
    return owner.uid if owner else ""


def _digest(found: Any) -> str | None:
    digest: str | None = found.metadata.annotations.get(DIGEST)
    return digest


def _told(each: WantedObject, fault: APIError | TakenError) -> str:
    if isinstance(fault, NotFoundError):
        return f"the cluster has no kind {each.kind.name} of {each.kind.api_version}"
    return f"{each.kind.name} {each.key.name}: {fault}"
