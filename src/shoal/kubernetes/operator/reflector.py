"""Keeps a store like the server's objects of one kind: list, then watch, and list again where the watch was too late.

Listing again compares with what was known, so that deletions which nobody has watched are seen too. The list is a
consistent read, never "whatever the API server has at hand": an older state would look like pods that have vanished.
"""

from __future__ import annotations

import asyncio
import time
from typing import Generic, TypeVar

import structlog

from shoal.kubernetes.operator.api import API, APIError, GoneError, NotFoundError, UnreachableError
from shoal.kubernetes.operator.backoff import Backoff
from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.store import Store
from shoal.kubernetes.operator.views import Named

V = TypeVar("V", bound=Named)

ABSENT_SECONDS = 30.0
"""How often a kind is asked for that the server does not know (yet)."""

SHORT_SECONDS = 1.0
"""A watch that ends sooner without an event counts as failed, so that it is not opened again in a busy loop."""

log = structlog.get_logger(__name__)


class Reflector(Generic[V]):
    """Runs until it is cancelled. `synced` is set once the store holds a first complete list."""

    def __init__(
        self, api: API, kind: Kind[V], store: Store[V], namespace: str | None = None, selector: str = ""
    ) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self.lists = 0
        self._api = api
        self._store = store
        self._namespace = namespace
        self._selector = selector
        self._version = ""
        self._backoff = Backoff()

    async def run(self) -> None:
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except GoneError:
                log.info("the watch is too far behind, listing again", kind=self.kind.plural)
                self._version = ""
                await asyncio.sleep(self._backoff.next())
            except NotFoundError:
                await self._be_absent()
            except (APIError, UnreachableError) as fault:
                pause = self._backoff.next()
                log.warning("cannot read", kind=self.kind.plural, fault=str(fault), again_in=round(pause, 1))
                await asyncio.sleep(pause)

    async def _list(self) -> None:
        objects, version = await self._api.list(self.kind, self._namespace, self._selector)
        self.lists += 1
        self._store.replace(objects, version)
        self._version = version
        self.synced.set()

    async def _watch(self) -> None:
        began, told = time.monotonic(), False
        async for event in self._api.watch(self.kind, self._version, self._namespace, self._selector):
            self._store.watched(event.type, event.object)
            self._version = event.object.metadata.resource_version
            self._backoff.reset()
            told = True
        if not told and time.monotonic() - began < SHORT_SECONDS:
            await asyncio.sleep(self._backoff.next())

    async def _be_absent(self) -> None:
        """The kind is not served: there are no objects of it, and the operator does its work without."""
        if not self.synced.is_set():
            log.warning("the cluster has no such kind", kind=self.kind.plural, group=self.kind.api_version)
        self._store.replace((), "")
        self._version = ""
        self.synced.set()
        await asyncio.sleep(ABSENT_SECONDS)
