"""Passes over a TensorBoard. What it shares with model servers is tested with them."""

from __future__ import annotations

from typing import Any

import msgspec

from shoal.kubernetes.operator.caches import Caches, DeployedKey, owner_key
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import CONFIG_MAPS, DEPLOYMENTS, INGRESSES, SERVICES, Kind
from shoal.kubernetes.operator.tensorboards import TensorBoardReconciler
from shoal.kubernetes.operator.views import Owned
from tests.unit.kubernetes.operator.memory_api import MemoryAPI
from tests.unit.resources.test_tensorboard import SMALL

PLACE = ("default", "curves")
KEY = DeployedKey("TensorBoard", *PLACE)


class World:
    """An operator on an API in memory, and a TensorBoard in it."""

    def __init__(self, **spec: Any) -> None:
        self.api = MemoryAPI()
        self.now = 1_767_225_610.0
        self.generation = 0
        self.edit(**spec)
        self.caches = Caches()
        self.reconciler = TensorBoardReconciler(self.api, self.caches, Recorder(self.api, "test"), lambda: self.now)

    def edit(self, **spec: Any) -> None:
        self.generation += 1
        stored = self.api.objects.get(("tensorboards", *PLACE), {})
        about = {"name": "curves", "namespace": "default", "uid": "u", "generation": self.generation}
        self.api.objects["tensorboards", *PLACE] = {
            **SMALL,
            "metadata": {**about, "resourceVersion": str(next(self.api._versions))},
            "spec": {**SMALL["spec"], **spec},
            "status": stored.get("status", {}),
        }

    async def written(self) -> list[str]:
        """What a pass writes."""
        stores: dict[Kind[Any], Any] = {
            SERVICES: self.caches.services,
            CONFIG_MAPS: self.caches.config_maps,
            DEPLOYMENTS: self.caches.deployments,
            **self.caches.deployed,
            **self.caches.beside_deployments,
        }
        for kind, store in stores.items():
            store.replace(*await self.api.list(kind))
        before = len(self.api.writes)
        await self.reconciler.reconcile(KEY)
        return [" ".join(write.split()[:2]) for write in self.api.writes[before:]]

    def deployment(self, **status: Any) -> None:
        self.api.put(DEPLOYMENTS, {**self.api.objects["deployments", *PLACE], "status": status})

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.api.objects["tensorboards", *PLACE]["status"])


async def test_it_gets_its_objects_and_a_second_pass_writes_nothing() -> None:
    world = World()
    assert await world.written() == ["apply deployments", "apply services", "patch tensorboards"]
    assert await world.written() == []
    owner = world.api.objects["deployments", *PLACE]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("TensorBoard", "u", True)
    assert (world.status["phase"], world.status["url"]) == ("Pending", "http://curves.default.svc/")


async def test_it_is_ready_when_its_replica_is() -> None:
    world = World()
    await world.written()
    world.deployment(replicas=1, updatedReplicas=1, readyReplicas=1)
    assert await world.written() == ["patch tensorboards"]
    (condition,) = world.status["conditions"]
    assert (world.status["phase"], condition["type"], condition["status"]) == ("Ready", "Ready", "True")
    assert world.status["readyReplicas"] == 1


async def test_an_ingress_comes_and_goes_with_the_spec() -> None:
    world = World(ingress={"host": "boards.example.com"})
    await world.written()
    assert world.api.names(INGRESSES) == {"curves"}
    assert world.status["url"] == "http://boards.example.com/default/curves/"
    world.edit()
    assert await world.written() == ["delete ingresses", "apply deployments", "patch tensorboards"]
    assert world.status["observedGeneration"] == 2


async def test_a_manifest_that_the_rules_refuse_is_told_and_what_runs_runs_on() -> None:
    world = World()
    await world.written()
    world.edit(logDirs={"a": "/elsewhere"})
    assert await world.written() == ["patch tensorboards"]
    assert (world.status["phase"], world.status["conditions"][0]["reason"]) == ("Failed", "InvalidSpec")
    assert world.status["message"] == "spec.logDirs.a: nothing is mounted at /elsewhere"
    assert world.api.names(DEPLOYMENTS) == {"curves"}


async def test_what_is_somebody_elses_is_left_alone() -> None:
    world = World()
    about = {"name": "curves", "namespace": "default", "uid": "other"}
    world.api.objects["services", *PLACE] = {"metadata": about, "spec": {}}
    await world.written()
    assert "apply services curves" not in world.api.writes
    told = "Service curves: is there already, and not the TensorBoard's; rename the TensorBoard, or delete it"
    assert (world.status["phase"], world.status["message"]) == ("Failed", told)


def test_news_of_what_it_owns_are_news_of_it() -> None:
    owner = {"apiVersion": "shoal.dev/v1", "kind": "TensorBoard", "name": "curves", "uid": "u", "controller": True}
    owned = {"metadata": {"name": "curves", "namespace": "default", "ownerReferences": [owner]}}
    assert owner_key(msgspec.convert(owned, Owned)) == KEY
