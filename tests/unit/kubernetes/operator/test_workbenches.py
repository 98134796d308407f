"""Passes over a workbench. What it shares with TensorBoards and model servers is tested with them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shoal.kubernetes.operator.api import Object
from shoal.kubernetes.operator.caches import Caches, DeployedKey
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import DEPLOYMENTS, PODS, SECRETS, SERVICES, Kind
from shoal.kubernetes.operator.workbenches import WorkbenchReconciler
from tests.unit.kubernetes.operator.memory_api import MemoryAPI
from tests.unit.resources.test_workbench import SMALL

PLACE = ("default", "desk")
KEY = DeployedKey("Workbench", *PLACE)
UID = "0123456789"
NOW = 1_767_225_610.0


class KeepingAPI(MemoryAPI):
    """Counts what a patch does to a spec as another generation, and keeps the status of what is applied again."""

    async def patch(
        self, kind: Kind[Any], namespace: str | None, name: str, patch: Object, subresource: str = ""
    ) -> Any:
        if "spec" in patch:
            self._find(kind, namespace, name)["metadata"]["generation"] += 1
        return await super().patch(kind, namespace, name, patch, subresource)

    async def apply(self, kind: Kind[Any], object: Object) -> Any:
        about = object["metadata"]
        known = self.objects.get((kind.plural, about["namespace"], about["name"]), {})
        return await super().apply(kind, {**object, **{key: known[key] for key in ("status",) if key in known}})


class World:
    """An operator on an API in memory, and a workbench in it."""

    def __init__(self, **spec: Any) -> None:
        self.api = KeepingAPI()
        about = {"name": "desk", "namespace": "default", "uid": UID, "generation": 1}
        self.api.objects["workbenches", *PLACE] = {
            **SMALL,
            "metadata": {**about, "resourceVersion": str(next(self.api._versions))},
            "spec": {**SMALL["spec"], **spec},
        }
        self.caches = Caches()
        self.restart_operator()

    def restart_operator(self) -> None:
        self.reconciler = WorkbenchReconciler(self.api, self.caches, Recorder(self.api, "test"), lambda: NOW)

    def edit(self, **spec: Any) -> None:
        stored = self.api.objects["workbenches", *PLACE]
        stored["spec"] |= spec
        stored["metadata"]["generation"] += 1
        stored["metadata"]["resourceVersion"] = str(next(self.api._versions))

    async def written(self) -> list[str]:
        """What a pass writes."""
        stores: dict[Kind[Any], Any] = {
            SERVICES: self.caches.services,
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

    def pod(self, code: int, seconds_ago: float = 5, phase: str = "Running", **about: Any) -> None:
        finished = datetime.fromtimestamp(NOW - seconds_ago, UTC).isoformat()
        ended = {"terminated": {"exitCode": code, "finishedAt": finished}}
        statuses = [{"name": "beside", "lastState": {}}, {"name": "jupyterlab", "restartCount": 1, "lastState": ended}]
        metadata = {"name": "desk-1", "namespace": "default", **about}
        self.api.put(PODS, {"metadata": metadata, "status": {"phase": phase, "containerStatuses": statuses}})

    async def at_work(self) -> World:
        await self.written()
        self.deployment(replicas=1, updatedReplicas=1, readyReplicas=1)
        await self.written()
        assert self.status["phase"] == "Ready"
        return self

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.api.objects["workbenches", *PLACE]["status"])

    @property
    def stopped(self) -> bool:
        return bool(self.api.objects["workbenches", *PLACE]["spec"].get("stopped"))


async def test_it_gets_its_token_first_and_once() -> None:
    world = World()
    assert await world.written() == [
        "create secrets",
        "apply serviceaccounts",
        "apply roles",
        "apply rolebindings",
        "apply deployments",
        "apply services",
        "patch workbenches",
    ]
    (name,) = world.api.names(SECRETS)
    assert name == "desk-token-01234567"
    secret = world.api.objects["secrets", "default", name]
    assert secret["metadata"]["ownerReferences"][0]["uid"] == UID
    assert "annotations" not in secret["metadata"]
    token = secret["stringData"]
    assert await world.written() == ["create secrets"]
    assert world.api.objects["secrets", "default", name]["stringData"] == token
    (volume,) = [each for each in pod_volumes(world) if "secret" in each]
    assert volume["secret"]["secretName"] == name
    world.deployment(replicas=1, updatedReplicas=1, readyReplicas=1)
    assert await world.written() == ["patch workbenches"]
    assert await world.written() == []


def pod_volumes(world: World) -> list[dict[str, Any]]:
    spec = world.api.objects["deployments", *PLACE]["spec"]["template"]["spec"]
    return list(spec["volumes"])


async def test_an_account_of_somebody_else_gets_no_rights() -> None:
    world = World()
    about = {"name": "desk", "namespace": "default", "uid": "other"}
    world.api.objects["serviceaccounts", *PLACE] = {"metadata": about}
    await world.written()
    assert "apply serviceaccounts desk" not in world.api.writes
    assert world.status["message"].startswith("ServiceAccount desk: is there already, and not the workbench's;")


async def test_one_whose_jupyterlab_has_ended_is_stopped_and_says_so() -> None:
    world = await World().at_work()
    world.pod(0)
    assert await world.written() == ["patch workbenches", "apply deployments", "patch workbenches"]
    assert world.stopped
    assert world.api.objects["deployments", *PLACE]["spec"]["replicas"] == 0
    del world.api.objects["pods", "default", "desk-1"]
    world.deployment(replicas=0)
    await world.written()
    assert (world.status["phase"], world.status["conditions"][0]["reason"]) == ("Stopped", "Stopped")
    assert world.status["message"].startswith("JupyterLab has ended: nobody was active")
    world.restart_operator()
    await world.written()
    assert world.status["message"].startswith("JupyterLab has ended: nobody was active")
    world.edit(stopped=False)
    await world.written()
    assert (world.status["phase"], world.stopped) == ("Pending", False)
    world.edit(stopped=True)
    await world.written()
    assert (world.status["phase"], world.status["message"]) == ("Stopped", "spec.stopped is true")


@pytest.mark.parametrize(
    ("code", "seconds_ago", "phase", "about"),
    [
        (1, 5, "Running", {}),
        (0, 3600, "Running", {}),
        (0, 5, "Failed", {}),
        (0, 5, "Running", {"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    ],
    ids=["crashed", "long ago", "evicted", "deleted"],
)
async def test_any_other_end_is_for_the_deployment(code: int, seconds_ago: float, phase: str, about: Any) -> None:
    world = await World().at_work()
    world.pod(code, seconds_ago, phase, **about)
    assert await world.written() == []
    assert not world.stopped


async def test_while_it_ends_it_is_not_stopped_yet() -> None:
    world = await World().at_work()
    world.edit(stopped=True)
    await world.written()
    assert (world.status["phase"], world.status["message"]) == ("Updating", "it is being stopped")
