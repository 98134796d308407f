"""Pods are asked which versions they serve, over real connections; what they tell reaches the status."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import msgspec
import pytest
from aiohttp import web

from shoal.kubernetes.operator.caches import Caches, DeployedKey
from shoal.kubernetes.operator.serving import served
from shoal.kubernetes.operator.serving.served import Served, ServedModels
from shoal.kubernetes.operator.views import Deployment, Server
from shoal.resources.served_models import in_short
from tests.unit.kubernetes.operator.memory_api import MemoryAPI

HOSTS = ("127.0.0.2", "127.0.0.3")
KEY = DeployedKey("ModelServer", "default", "digits")


class Pods:
    """Two pods of a server, each a web server at an address of its own; what each says is in `versions`, and one that
    is in `silent` says nothing; one in `strange` is no model server."""

    def __init__(self) -> None:
        self.versions = {host: {"1": "AVAILABLE"} for host in HOSTS}
        self.silent: set[str] = set()
        self.strange: set[str] = set()
        self.asked: list[str] = []
        self.port = 0

    async def answer(self, request: web.Request) -> web.Response:
        host = request.host.partition(":")[0]
        self.asked.append(f"{host}{request.path}")
        if host in self.silent:
            await asyncio.sleep(60)
        if host in self.strange:
            return web.Response(status=404)
        if request.path != "/v1/models/digits":
            return web.json_response({"error": "not found"}, status=404)
        told = [{"version": number, "state": state} for number, state in self.versions[host].items()]
        return web.json_response({"model_version_status": told})


def pod(host: str, ready: str = "True") -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready}]
    about = {"name": f"digits-{host}", "namespace": "default", "uid": host, "resourceVersion": "1"}
    return {"metadata": about, "status": {"podIP": host, "conditions": conditions}}


def server(generation: int = 1, models: tuple[str, ...] = ("digits",), uid: str = "u") -> Server:
    about = {
        "name": "digits",
        "namespace": "default",
        "uid": uid,
        "generation": generation,
        "resourceVersion": str(generation),
    }
    return msgspec.convert({"metadata": about, "spec": {"models": [{"name": name} for name in models]}}, Server)


class World:
    def __init__(self, pods: Pods) -> None:
        self.pods = pods
        self.api = MemoryAPI()
        self.caches = Caches()
        self.news: list[DeployedKey] = []
        self.versions = count(1)
        self.reader = ServedModels(self.api, self.caches, self.news.append, pods.port, pause=0.01)
        for host in HOSTS:
            self.api.objects["pods", "default", host] = pod(host)
        self.caches.servers.replace([server()], "1")
        self.replicas(ready=2)

    def replicas(self, ready: int) -> None:
        """As the Deployment tells."""
        version = str(next(self.versions))
        about = {"name": "digits", "namespace": "default", "uid": "d", "resourceVersion": version}
        told = {"metadata": about, "spec": {}, "status": {"readyReplicas": ready}}
        self.caches.deployments.replace([msgspec.convert(told, Deployment)], version)

    async def until(self, condition: Callable[[Served | None], bool]) -> Served | None:
        async with asyncio.timeout(20):
            while not condition(self.reader.of("u")):
                await asyncio.sleep(0.01)
        return self.reader.of("u")


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    pods = Pods()
    application = web.Application()
    application.router.add_get("/{any:.*}", pods.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    with (
        socket.create_server((HOSTS[0], 0)) as first,
        socket.create_server((HOSTS[1], first.getsockname()[1])) as second,
    ):
        for each in (first, second):
            await web.SockSite(runner, each).start()
        pods.port = first.getsockname()[1]
        made = World(pods)
        asking = asyncio.create_task(made.reader.run())
        try:
            yield made
        finally:
            asking.cancel()
            await asyncio.wait([asking])
            await runner.cleanup()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "CHANGING_SECONDS", 0.02)
    monkeypatch.setattr(served, "PATIENCE_SECONDS", 0.3)


async def test_all_ready_pods_are_counted() -> None:
    async with world() as there:
        there.pods.versions[HOSTS[1]] = {"1": "AVAILABLE", "2": "LOADING"}
        there.api.objects["pods", "default", "starting"] = pod("127.0.0.4", ready="False")
        found = await there.until(lambda found: found is not None)
        assert found is not None
        assert [(each.version, each.state, each.replicas) for each in found.models[0].versions] == [
            (2, "LOADING", 1),
            (1, "AVAILABLE", 2),
        ]
        assert found.silent == 0
        assert there.news == [KEY]
        # Something is on its way, so it is asked again soon.
        there.pods.versions[HOSTS[1]] = {"2": "AVAILABLE"}
        await there.until(lambda found: found is not None and in_short(found.models) == "digits:2,1")
        assert there.news == [KEY, KEY]


async def test_a_pod_that_is_silent_is_told_as_such_and_holds_up_nobody() -> None:
    async with world() as there:
        there.pods.silent = {HOSTS[0]}
        found = await there.until(lambda found: found is not None)
        assert found is not None
        assert (found.silent, [each.replicas for each in found.models[0].versions]) == (1, [1])
        there.pods.silent = set(HOSTS)
        found = await there.until(lambda found: found is not None and found.silent == 2)
        assert found == Served([], 2)


async def test_an_answer_that_is_no_model_servers_counts_as_silence() -> None:
    async with world() as there:
        there.pods.strange = set(HOSTS)
        assert await there.until(lambda found: found is not None) == Served([], 2)


async def test_a_server_that_rests_is_left_alone_until_its_spec_changes() -> None:
    async with world() as there:
        await there.until(lambda found: found is not None)
        asked = len(there.pods.asked)
        await asyncio.sleep(0.2)
        assert len(there.pods.asked) == asked == 2
        there.caches.servers.replace([server(2, ("digits", "other"))], "2")
        found = await there.until(lambda found: found is not None and len(found.models) == 2)
        assert found is not None
        # The second one is not there yet: a server reads its list of models every some seconds.
        assert in_short(found.models) == "digits:1 other:-"


async def test_a_server_without_a_ready_replica_is_not_asked_and_what_was_heard_is_forgotten() -> None:
    async with world() as there:
        await there.until(lambda found: found is not None)
        there.replicas(ready=0)
        await there.until(lambda found: found is None)
        asked = len(there.pods.asked)
        there.pods.versions = {host: {"2": "AVAILABLE"} for host in HOSTS}
        await asyncio.sleep(0.2)
        assert (len(there.pods.asked), there.reader.of("u")) == (asked, None)
        there.replicas(ready=1)
        found = await there.until(lambda found: found is not None)
        assert found is not None
        assert in_short(found.models) == "digits:2"


async def test_a_server_that_was_deleted_meanwhile_is_forgotten() -> None:
    async with world() as there:
        there.pods.silent = set(HOSTS)
        async with asyncio.timeout(20):
            while len(there.pods.asked) < 2:
                await asyncio.sleep(0.01)
        there.caches.servers.replace([], "2")
        there.reader.forget("u")
        await asyncio.sleep(0.5)
        assert there.reader.of("u") is None
        assert there.news == []


async def test_pods_that_cannot_be_listed_are_tried_again() -> None:
    async with world() as there:
        listing = there.api.list
        faults = iter([True, True, False])

        async def unreachable(*words: Any, **more: Any) -> Any:
            if next(faults, False):
                raise served.UnreachableError("no answer")
            return await listing(*words, **more)

        there.api.list = unreachable  # type: ignore[method-assign]
        assert await there.until(lambda found: found is not None)
