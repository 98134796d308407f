"""The API over HTTP. lightkube sets up TLS and tokens for the cluster of a kubeconfig.

Its own client is not used beyond that: it cannot delete with a precondition, drops what a deletion answers, and its
watch has no bookmarks and no time limit (lightkube 1.0).
"""

from __future__ import annotations

import asyncio
import builtins
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar

import httpx2
import msgspec
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig

from shoal.kubernetes.operator.api import (
    FIELD_MANAGER,
    WRITES_AT_ONCE,
    AlreadyExistsError,
    APIError,
    ConflictError,
    GoneError,
    NotFoundError,
    NotLeaderError,
    Object,
    UnreachableError,
    WatchEvent,
)
from shoal.kubernetes.operator.kinds import PODS, Kind
from shoal.kubernetes.operator.transport import Transport
from shoal.kubernetes.operator.views import Named, Owned, View

V = TypeVar("V", bound=Named)

WRITE_SECONDS = 8.0
"""How long a write may take. Together with the time for which a lease is trusted it is shorter than the lease."""

READ_SECONDS = 30.0
LIST_PAGE = 500
WATCH_SECONDS = (240, 480)
"""A watch is ended by the server after a time between these, so that not all come back at once."""

SILENCE_SECONDS = 150.0
"""A watch in which nothing arrives for so long is taken for dead: bookmarks come about once a minute."""

BUSY_TRIES = 6
LONGEST_BUSY_SECONDS = 5.0

CONNECTIONS = 2 * WRITES_AT_ONCE
"""Watches and reads have as many as writes."""

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class _Page(View, Generic[V]):
    metadata: _PageMetadata
    items: list[V]


class _PageMetadata(View):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _RawEvent(View):
    type: str
    object: msgspec.Raw


class _Resource(View):
    name: str
    kind: str
    namespaced: bool


class _Resources(View):
    resources: list[_Resource]


class _Status(View):
    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""


class Client:
    """Implements `API`. `may_write` is asked before every write; `wrote` is told of each that was sent."""

    def __init__(
        self,
        config: SingleConfig,
        may_write: Callable[[], bool] = lambda: True,
        wrote: Callable[[str, str], None] = lambda verb, plural: None,
        transport: httpx2.AsyncBaseTransport | None = None,
        manager: str = FIELD_MANAGER,
    ) -> None:
        timeout = httpx2.Timeout(READ_SECONDS, connect=5.0, pool=READ_SECONDS)
        parameters = ConnectionParams(timeout=timeout).httpx_params(config)
        parameters["transport"] = transport or Transport(parameters["verify"], CONNECTIONS)
        self._http = httpx2.AsyncClient(**parameters)
        self._may_write = may_write
        self._wrote = wrote
        self._manager = manager
        self._writes = asyncio.Semaphore(WRITES_AT_ONCE)

    async def close(self) -> None:
        await self._http.aclose()

    async def list(
        self, kind: Kind[V], namespace: str | None = None, selector: str = "", fields: str = ""
    ) -> tuple[list[V], str]:
        items: list[V] = []
        params = {"limit": str(LIST_PAGE)}
        if selector:
            params["labelSelector"] = selector
        if fields:
            params["fieldSelector"] = fields
        while True:
            body = await self._send("GET", kind.path(namespace), params)
            page = msgspec.json.decode(body, type=_Page[kind.view])  # type: ignore[name-defined]
            items += page.items
            if not page.metadata.continue_:
                return items, page.metadata.resource_version
            params["continue"] = page.metadata.continue_

    async def watch(
        self, kind: Kind[V], version: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[WatchEvent[V]]:
        seconds = random.randint(*WATCH_SECONDS)
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        if selector:
            params["labelSelector"] = selector
        timeout = httpx2.Timeout(READ_SECONDS, read=SILENCE_SECONDS)
        decode = msgspec.json.Decoder(kind.view).decode
        try:
            async with self._http.stream("GET", kind.path(namespace), params=params, timeout=timeout) as response:
                if response.is_error:
                    raise _error(response.status_code, await response.aread())
                async for line in _lines(response):
                    event = msgspec.json.decode(line, type=_RawEvent)
                    if event.type == "ERROR":
                        raise _error(0, bytes(event.object))
                    yield WatchEvent(event.type, decode(event.object))
        except httpx2.ReadTimeout:
            return
        except httpx2.HTTPError as fault:
            raise UnreachableError(f"watching {kind.plural}: {fault!r}") from fault

    async def get(self, kind: Kind[V], namespace: str | None, name: str) -> V:
        return _decode(kind, await self._send("GET", kind.path(namespace, name)))

    async def create(self, kind: Kind[V], object: Object, dry_run: bool = False) -> V:
        """With `dry_run` the server says what it would, and does nothing."""
        path = kind.path(object["metadata"].get("namespace"))
        params = {"dryRun": "All"} if dry_run else None
        return _decode(kind, await self._write("create", "POST", kind, path, object, params))

    async def apply(self, kind: Kind[V], object: Object, manager: str = "", dry_run: bool = False) -> V:
        """`manager` is booked as the writer, instead of the client's own."""
        path = kind.path(object["metadata"].get("namespace"), object["metadata"]["name"])
        params = {"force": "true", "fieldManager": manager or self._manager} | ({"dryRun": "All"} if dry_run else {})
        return _decode(kind, await self._write("apply", "PATCH", kind, path, object, params, APPLY))

    async def patch(
        self,
        kind: Kind[V],
        namespace: str | None,
        name: str,
        patch: Object,
        subresource: str = "",
        strategic: bool = False,
    ) -> V:
        path = kind.path(namespace, name, subresource)
        content = STRATEGIC if strategic else MERGE
        return _decode(kind, await self._write("patch", "PATCH", kind, path, patch, content=content))

    async def delete(
        self,
        kind: Kind[V],
        namespace: str | None,
        name: str,
        uid: str = "",
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> V | None:
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        body = await self._write("delete", "DELETE", kind, kind.path(namespace, name), options)
        return None if msgspec.json.decode(body, type=_Status).kind == "Status" else _decode(kind, body)

    async def log(self, namespace: str, pod: str, container: str, lines: int) -> str:
        params = {"container": container, "tailLines": str(lines), "timestamps": "true"}
        return (await self._send("GET", PODS.path(namespace, pod, "log"), params)).decode(errors="replace")

    async def log_stream(
        self, namespace: str, pod: str, params: dict[str, str], silence_seconds: float
    ) -> AsyncIterator[builtins.list[bytes]]:
        """A container's log as it comes, some lines at a time; `params` are those of the API's `log`. Ends where the
        server ends it, or nothing came for so long."""
        timeout = httpx2.Timeout(READ_SECONDS, read=silence_seconds)
        path = PODS.path(namespace, pod, "log")
        try:
            async with self._http.stream("GET", path, params=params, timeout=timeout) as response:
                if response.is_error:
                    raise _error(response.status_code, await response.aread())
                rest = b""
                async for chunk in response.aiter_bytes():
                    *whole, rest = (rest + chunk).split(b"\n")
                    if whole:
                        yield whole
                if rest:
                    yield [rest]
        except httpx2.ReadTimeout:
            return
        except httpx2.HTTPError as fault:
            raise UnreachableError(f"the log of {pod}: {fault!r}") from fault

    async def kinds(self, api_version: str) -> builtins.list[Kind[Owned]]:
        """The kinds of objects that the server has of a group and version; none where it does not know the group."""
        root = "/apis/" if "/" in api_version else "/api/"
        try:
            body = await self._send("GET", f"{root}{api_version}")
        except NotFoundError:
            return []
        served = msgspec.json.decode(body, type=_Resources).resources
        return [
            Kind(api_version, each.kind, each.name, Owned, each.namespaced) for each in served if "/" not in each.name
        ]

    async def _write(
        self,
        verb: str,
        method: str,
        kind: Kind[Any],
        path: str,
        body: Object,
        params: dict[str, str] | None = None,
        content: str = "application/json",
    ) -> bytes:
        params = {"fieldManager": self._manager, **(params or {})} if verb != "delete" else {}
        async with self._writes:  # outside of what a write may take: waiting here is no fault of the server's
            return await self._send(method, path, params, body, content, (verb, kind.plural))

    async def _send(
        self,
        method: str,
        path: str,
        params: dict[str, str] | None = None,
        body: Object | None = None,
        content: str = "",
        write: tuple[str, str] | None = None,
    ) -> bytes:
        """One request. A server that is too busy says so before it does anything, so that much is tried again."""
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": content} if content else None
        timeout = WRITE_SECONDS if write else READ_SECONDS
        for tries_left in reversed(range(BUSY_TRIES)):
            if write and not self._may_write():
                raise NotLeaderError(f"{method} {path}: the lease is not held")
            if write:
                self._wrote(*write)
            try:
                async with asyncio.timeout(timeout):
                    response = await self._http.request(
                        method, path, params=params, content=data, headers=headers, timeout=timeout
                    )
            except (httpx2.HTTPError, TimeoutError) as fault:
                raise UnreachableError(f"{method} {path}: {fault!r}") from fault
            if response.status_code == 429 and tries_left:
                await asyncio.sleep(_pause(response.headers.get("Retry-After", "")))
                continue
            if response.is_error:
                raise _error(response.status_code, response.content)
            return response.content
        raise AssertionError("unreachable")


def _pause(told: str) -> float:
    seconds = float(told) if told.isdigit() else 1.0
    return min(seconds, LONGEST_BUSY_SECONDS) * random.uniform(0.5, 1.0)


def _decode(kind: Kind[V], body: bytes) -> V:
    return msgspec.json.decode(body, type=kind.view)


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in response.aiter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line


def _error(code: int, body: bytes) -> APIError:
    try:
        status = msgspec.json.decode(body, type=_Status)
    except msgspec.DecodeError:
        status = _Status(message=body[:200].decode(errors="replace"))
    code = status.code or code
    match code, status.reason:
        case (404, _):
            kind: type[APIError] = NotFoundError
        case (409, "AlreadyExists"):
            kind = AlreadyExistsError
        case (409, _):
            kind = ConflictError
        case (410, _):
            kind = GoneError
        case _:
            kind = APIError
    return kind(code, status.reason, status.message)
