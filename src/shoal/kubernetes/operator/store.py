"""A cache of one kind of object that is never older than the operator's own writes.

The watch tells of a change some time after it was made. A pass in between that looked only at what the watch had told
would create a pod twice, or judge by a status that it has replaced itself: much-used controllers have had both faults.
So what the server answers to a write goes into the cache at once, and what the watch tells later of an older version
is ignored. Which of two versions is older can be told because resource versions are numbers that rise
(https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from shoal.kubernetes.operator.views import Named

V = TypeVar("V", bound=Named)


class ObjectKey(NamedTuple):
    """Where an object is among those of its kind."""

    namespace: str
    name: str


Listener = Callable[[V | None, V | None], None]
"""Told of (before, after); None where it was or is not there."""


class Store(Generic[V]):
    """Objects by namespace and name, and by the uid of the owner that looks after them."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, V] = {}
        self._owned: dict[str, dict[ObjectKey, V]] = {}
        self._listeners: list[Listener[V]] = []
        self._told = 0

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: ObjectKey) -> V | None:
        return self._objects.get(key)

    def all(self) -> list[V]:
        return list(self._objects.values())

    def owned_by(self, uid: str) -> list[V]:
        return list(self._owned.get(uid, {}).values())

    def count_owned_by(self, uid: str) -> int:
        return len(self._owned.get(uid, {}))

    def listen(self, listener: Listener[V]) -> None:
        """Tell `listener` of every change that somebody else has made."""
        self._listeners.append(listener)

    def replace(self, listed: Iterable[V], version: str) -> None:
        """Take over a list of all objects as of `version`; what is not in it has been deleted."""
        self._told = max(self._told, int(version or 0))
        missing = {key for key, object in self._objects.items() if _version(object) <= self._told}
        for object in listed:
            missing.discard(_key(object))
            self._put(object)
        for key in missing:
            self._remove(key)

    def watched(self, type: str, object: V) -> None:
        """Take over what a watch has told."""
        self._told = max(self._told, _version(object))
        if type == "DELETED":
            self._deleted(object)
        elif type != "BOOKMARK":
            self._put(object)

    def wrote(self, object: V) -> None:
        """Take over what the server has answered to a write of our own. Nobody is told: it is no news."""
        # What the watch has told up to includes this write, and perhaps the object's deletion.
        before = self._objects.get(_key(object))
        if _version(object) > self._told and (before is None or _version(object) > _version(before)):
            self._set(object)

    def _put(self, object: V) -> None:
        before = self._objects.get(_key(object))
        if before is None or _version(object) > _version(before):
            self._set(object)
            self._tell(before, object)

    def _deleted(self, object: V) -> None:
        before = self._objects.get(_key(object))
        if before is not None and before.metadata.uid != object.metadata.uid and _version(before) > _version(object):
            self._tell(object, before)  # its successor, created by us, is known already
        elif before is not None:
            self._remove(_key(object))

    def _set(self, object: V) -> None:
        _keep_deletion(self._forget(_key(object)), object)
        self._objects[_key(object)] = object
        if owner := object.metadata.controller:
            self._owned.setdefault(owner.uid, {})[_key(object)] = object

    def _remove(self, key: ObjectKey) -> None:
        before = self._forget(key)
        if before is not None:
            self._tell(before, None)

    def _forget(self, key: ObjectKey) -> V | None:
        before = self._objects.pop(key, None)
        if before is not None and (owner := before.metadata.controller):
            siblings = self._owned.get(owner.uid, {})
            siblings.pop(key, None)
            if not siblings:
                self._owned.pop(owner.uid, None)
        return before

    def _tell(self, before: V | None, after: V | None) -> None:
        for listener in self._listeners:
            listener(before, after)


def _keep_deletion(before: Named | None, after: Named) -> None:
    """Have `after` say when its deletion was asked for. A moment before the server removes an object that it had given
    time to end, it writes the time of the removal over that of the request, and a grace of 0."""
    if before is not None and before.metadata.uid == after.metadata.uid and before.metadata.deletion_timestamp:
        after.metadata.deletion_timestamp = before.metadata.deletion_timestamp
        after.metadata.deletion_grace_period_seconds = before.metadata.deletion_grace_period_seconds


def _key(object: Named) -> ObjectKey:
    return ObjectKey(object.metadata.namespace, object.metadata.name)


def _version(object: Named) -> int:
    return int(object.metadata.resource_version or 0)
