"""What the operator asks of the Kubernetes API: a protocol of its own, so that the client behind it is one file.

Every method answers with what the server has stored, because the caches take note of it at once: the operator reads
its own writes, however late the watch may be.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.views import Named

V = TypeVar("V", bound=Named)

Object = dict[str, Any]

FIELD_MANAGER = "shoal"
"""Under this name the server books which fields the operator has set."""


WRITES_AT_ONCE = 64
"""Of all passes together: with 12 a job of 200 replicas took twice as long to create (benchmarks/operator_scale). The
API server takes a few hundred of everybody's at once, and has those of one user wait in a queue of their own."""


class APIError(Exception):
    """The API server refused a request. `code` is the HTTP status, `reason` the server's CamelCase word."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message or reason or f"HTTP status {code}")
        self.code = code
        self.reason = reason


class NotFoundError(APIError):
    """There is no such object, or no such kind."""


class ConflictError(APIError):
    """The object has changed since it was read, or is another one of the same name."""


class AlreadyExistsError(APIError):
    """An object of that name is there."""


class GoneError(APIError):
    """The version to watch from is too old: list again."""


class UnreachableError(Exception):
    """No answer, or none in time. What was asked for may have been done or not."""


class NotLeaderError(Exception):
    """The lease is not ours (any more), so nothing may be written."""


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[V]):
    """ADDED, MODIFIED, DELETED, or BOOKMARK, of whose object only the version counts."""

    type: str
    object: V


class API(Protocol):
    """The Kubernetes API, as much of it as the operator needs.

    All methods raise APIError where the server says no and UnreachableError where it says nothing; those that write
    raise NotLeaderError where the operator must not.
    """

    async def list(
        self, kind: Kind[V], namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> tuple[list[V], str]:
        """All objects that a consistent read finds, and the version to watch from."""
        ...

    def watch(
        self, kind: Kind[V], version: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[WatchEvent[V]]:
        """Changes after `version`, until the server ends the watch or falls silent. GoneError: list again."""
        ...

    async def get(self, kind: Kind[V], namespace: str | None, name: str) -> V: ...

    async def create(self, kind: Kind[V], object: Object) -> V: ...

    async def apply(self, kind: Kind[V], object: Object) -> V:
        """Server-side apply: create the object, or set these fields of it, and take back those once set."""
        ...

    async def patch(
        self,
        kind: Kind[V],
        namespace: str | None,
        name: str,
        patch: Object,
        subresource: str = "",
        strategic: bool = False,
    ) -> V:
        """Merge patch. A `metadata.resourceVersion` in it must be the current one, else ConflictError. A strategic one
        merges lists by their keys: conditions by type."""
        ...

    async def delete(
        self,
        kind: Kind[V],
        namespace: str | None,
        name: str,
        uid: str = "",
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> V | None:
        """Delete the object, if `uid` is given only this very one (ConflictError otherwise). Answers what is left of
        it: a pod stays until its containers have ended."""
        ...

    async def log(self, namespace: str, pod: str, container: str, lines: int) -> str:
        """The last lines of a container's log, each behind the time at which it was written."""
        ...
