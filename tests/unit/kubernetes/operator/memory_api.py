"""A Kubernetes API in memory, only as much of it as passes over jobs ask for. What the real one does is tested on the
real one, in tests/cluster/api."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
from itertools import count
from typing import Any

import msgspec

from shoal.kubernetes.operator.api import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    Object,
    UnreachableError,
    WatchEvent,
)
from shoal.kubernetes.operator.kinds import Kind

Place = tuple[str, str, str]


class MemoryAPI:
    """`writes` lists what was done, as "create pods train-worker-0". Write number `lost` is answered to nobody: it was
    done where `done` says so, else not."""

    def __init__(self, lost: int | None = None, done: bool = True) -> None:
        self.objects: dict[Place, Object] = {}
        self.writes: list[str] = []
        self._lost, self._done = lost, done
        self._versions = count(1)

    async def list(self, kind: Kind[Any], namespace: str | None = None, selector: str = "", fields: str = "") -> Any:
        found = [_view(kind, object) for (plural, _, _), object in self.objects.items() if plural == kind.plural]
        return found, str(next(self._versions))

    async def watch(
        self, kind: Kind[Any], version: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[WatchEvent[Any]]:
        raise NotImplementedError
        yield

    async def get(self, kind: Kind[Any], namespace: str | None, name: str) -> Any:
        return _view(kind, self._find(kind, namespace, name))

    async def create(self, kind: Kind[Any], object: Object) -> Any:
        about = object["metadata"]
        if kind.plural == "events":
            return _view(kind, object)
        with self._written("create", kind, about["name"]):
            if _place(kind, about.get("namespace"), about["name"]) in self.objects:
                raise AlreadyExistsError(409, "AlreadyExists", about["name"])
            return self._store(kind, object)

    async def apply(self, kind: Kind[Any], object: Object) -> Any:
        with self._written("apply", kind, object["metadata"]["name"]):
            return self._store(kind, object)

    async def patch(
        self, kind: Kind[Any], namespace: str | None, name: str, patch: Object, subresource: str = ""
    ) -> Any:
        with self._written("patch", kind, name):
            object = self._find(kind, namespace, name)
            wanted = patch.get("metadata", {}).get("resourceVersion")
            if wanted is not None and wanted != object["metadata"]["resourceVersion"]:
                raise ConflictError(409, "Conflict", "the object has been modified")
            if subresource == "scale":
                about = {**object["metadata"], "generation": object["metadata"]["generation"] + 1}
                scaled = {"tfReplicaSpecs": {"Worker": {"replicas": patch["spec"]["replicas"]}}}
                return self._store(kind, {**object, "metadata": about, "spec": merged(object["spec"], scaled)})
            return self._store(kind, merged(object, {key: part for key, part in patch.items() if key != "metadata"}))

    async def delete(
        self,
        kind: Kind[Any],
        namespace: str | None,
        name: str,
        uid: str = "",
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Any:
        with self._written("delete", kind, name):
            object = self._find(kind, namespace, name)
            if uid and uid != object["metadata"]["uid"]:
                raise ConflictError(409, "Conflict", "another object")
            del self.objects[_place(kind, namespace, name)]
            return None

    async def log(self, namespace: str, pod: str, container: str, lines: int) -> str:
        raise NotFoundError(404, "NotFound", "no log")

    def put(self, kind: Kind[Any], object: Any) -> None:
        """As if somebody else had written it."""
        self._store(kind, msgspec.to_builtins(object))

    def names(self, kind: Kind[Any]) -> set[str]:
        return {name for plural, _, name in self.objects if plural == kind.plural}

    def _written(self, verb: str, kind: Kind[Any], name: str) -> Any:
        return _Write(self, f"{verb} {kind.plural} {name}")

    def lose(self) -> bool:
        """Whether the write that was noted last is the lost one."""
        return self._lost == len(self.writes) - 1

    @property
    def lost_is_done(self) -> bool:
        return self._done

    def _find(self, kind: Kind[Any], namespace: str | None, name: str) -> Object:
        place = _place(kind, namespace, name)
        if place not in self.objects:
            raise NotFoundError(404, "NotFound", name)
        return self.objects[place]

    def _store(self, kind: Kind[Any], object: Object) -> Any:
        version = next(self._versions)
        stored = deepcopy(object)
        stored["metadata"] = {"uid": f"uid-{version}", **stored["metadata"], "resourceVersion": str(version)}
        self.objects[_place(kind, stored["metadata"].get("namespace"), stored["metadata"]["name"])] = stored
        return _view(kind, stored)


class _Write:
    def __init__(self, api: MemoryAPI, what: str) -> None:
        self._api, self._what = api, what

    def __enter__(self) -> None:
        self._api.writes.append(self._what)
        if self._api.lose() and not self._api.lost_is_done:
            raise UnreachableError(self._what)

    def __exit__(self, kind: object, what: object, at: object) -> None:
        if kind is None and self._api.lose():
            raise UnreachableError(self._what)


def _place(kind: Kind[Any], namespace: str | None, name: str) -> Place:
    return kind.plural, namespace or "", name


def _view(kind: Kind[Any], object: Object) -> Any:
    return msgspec.convert(deepcopy(object), kind.view)


def merged(object: Any, patch: Any) -> Any:
    """What a server makes of a merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(object) if isinstance(object, dict) else {}
    for key, part in patch.items():
        if part is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), part)
    return result


def steps(writes: list[str]) -> Iterator[str]:
    """Writes without the names of objects: "create pods"."""
    return (" ".join(write.split()[:2]) for write in writes)
