"""The reflector against a scripted server, on a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shoal.kubernetes.operator.api import APIError, GoneError, NotFoundError, UnreachableError, WatchEvent
from shoal.kubernetes.operator.kinds import PODS
from shoal.kubernetes.operator.reflector import ABSENT_SECONDS, Reflector
from shoal.kubernetes.operator.store import Store
from shoal.kubernetes.operator.views import Pod
from tests.unit.kubernetes.operator.objects import pod

pytestmark = pytest.mark.looptime

Step = Exception | WatchEvent[Pod] | None
"""What a watch does next: fail, tell of something, or (None) be ended by the server."""


class ScriptedAPI:
    """Answers lists and watches in turn. A watch after the last one hangs, as one does in which nothing happens."""

    def __init__(self, lists: list[Any], watches: list[list[Step]]) -> None:
        self._lists, self._watches = lists, watches
        self.asked: list[str] = []

    async def list(self, kind: Any, namespace: str | None, selector: str, fields: str = "") -> Any:
        self.asked.append("list")
        answer = self._lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def watch(self, kind: Any, version: str, namespace: str | None, selector: str) -> AsyncIterator[Any]:
        self.asked.append(f"watch {version}")
        if not self._watches:
            await asyncio.sleep(1e6)
        for step in self._watches.pop(0):
            if step is None:
                return
            if isinstance(step, Exception):
                raise step
            yield step


@asynccontextmanager
async def reflecting(api: ScriptedAPI) -> AsyncIterator[tuple[Store[Pod], Reflector[Pod], list[str]]]:
    store: Store[Pod] = Store()
    gone: list[str] = []
    store.listen(lambda before, after: gone.append(before.metadata.name) if before and not after else None)
    reflector: Reflector[Pod] = Reflector(api, PODS, store)  # type: ignore[arg-type]
    running = asyncio.create_task(reflector.run())
    try:
        yield store, reflector, gone
    finally:
        running.cancel()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.05)


def event(type: str, version: int, name: str = "train-worker-0") -> WatchEvent[Pod]:
    return WatchEvent(type, pod(name=name, version=version))


async def test_it_lists_and_then_watches_from_there() -> None:
    api = ScriptedAPI([([pod(version=3)], "5")], [[event("MODIFIED", 6), event("ADDED", 7, "train-worker-1")]])
    async with reflecting(api) as (store, reflector, _):
        await until(lambda: len(store) == 2)
        assert reflector.synced.is_set()
        assert api.asked[:2] == ["list", "watch 5"]


async def test_a_watch_that_the_server_ends_goes_on_where_it_was() -> None:
    api = ScriptedAPI([([], "5")], [[event("ADDED", 6), event("BOOKMARK", 9), None]])
    async with reflecting(api):
        await until(lambda: len(api.asked) == 3)
    assert api.asked == ["list", "watch 5", "watch 9"]


async def test_a_version_that_is_too_old_means_to_list_again_and_to_see_what_is_gone() -> None:
    first = [pod(version=3), pod(name="train-worker-1", version=4)]
    gone = GoneError(410, "Expired", "too old resource version")
    api = ScriptedAPI([(first, "5"), ([pod(version=3)], "50")], [[gone]])
    async with reflecting(api) as (store, _, deleted):
        await until(lambda: "watch 50" in api.asked)
        assert deleted == ["train-worker-1"]
        assert [each.metadata.name for each in store.all()] == ["train-worker-0"]


async def test_a_connection_that_breaks_loses_nothing() -> None:
    api = ScriptedAPI(
        [UnreachableError("no route"), APIError(503, "ServiceUnavailable", ""), ([], "5")],
        [[event("ADDED", 6), UnreachableError("reset")], [event("MODIFIED", 8)]],
    )
    async with reflecting(api) as (store, _, _):
        await until(lambda: "watch 8" in api.asked)
        assert api.asked == ["list", "list", "list", "watch 5", "watch 6", "watch 8"]
        assert len(store) == 1


async def test_watches_that_end_at_once_are_not_opened_in_a_busy_loop() -> None:
    api = ScriptedAPI([([], "5")], [[None]] * 1000)
    async with reflecting(api):
        await asyncio.sleep(60)
    assert len(api.asked) < 20


async def test_a_kind_that_is_not_served_is_empty_until_it_is() -> None:
    api = ScriptedAPI([NotFoundError(404, "NotFound", ""), ([pod(version=3)], "5")], [])
    async with reflecting(api) as (store, reflector, _):
        await asyncio.wait_for(reflector.synced.wait(), 1)
        assert len(store) == 0
        await asyncio.sleep(ABSENT_SECONDS + 1)
        assert len(store) == 1
