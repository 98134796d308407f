"""Passes over a model server: what is applied and what is deleted, and what its status says of its Deployment."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shoal.kubernetes.operator.api import APIError, ConflictError, NotFoundError
from shoal.kubernetes.operator.caches import Caches, DeployedKey
from shoal.kubernetes.operator.deployed.status import judge
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import CONFIG_MAPS, DEPLOYMENTS, HTTP_ROUTES, INGRESSES, SERVERS, SERVICES, Kind
from shoal.kubernetes.operator.serving.reconcile import ServerReconciler
from shoal.kubernetes.operator.serving.served import Served, ServedModels
from shoal.kubernetes.operator.store import ObjectKey
from shoal.kubernetes.operator.views import Deployment, Server
from shoal.resources import ServerPhase
from shoal.resources.model_server import VersionStatus
from shoal.resources.served_models import model_status
from tests.unit.kubernetes.operator.memory_api import MemoryAPI

KEY = ObjectKey("default", "digits")
STRANGER = {"metadata": {"name": "digits", "namespace": "default"}, "spec": {}}


class RefusingAPI(MemoryAPI):
    """Says no to writes of some kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.refuse: dict[str, APIError] = {}

    async def apply(self, kind: Kind[Any], object: dict[str, Any]) -> Any:
        if fault := self.refuse.get(kind.plural):
            raise fault
        return await super().apply(kind, object)


class World:
    """An operator on an API in memory, and a server in it."""

    def __init__(self, **spec: Any) -> None:
        self.api = RefusingAPI()
        self.now = 1_767_225_610.0
        self.edit(**spec)
        self.restart()

    def edit(self, **spec: Any) -> None:
        """As if the user had applied another spec."""
        stored = self.api.objects.get(("modelservers", *KEY), {"metadata": {"generation": 0, "uid": "u"}})
        models = [{"name": "digits", "basePath": "s3://bucket/digits"}]
        about = {"name": "digits", "namespace": "default", "uid": "u"}
        about["generation"] = stored["metadata"]["generation"] + 1
        self.api.objects["modelservers", *KEY] = {
            "apiVersion": "shoal.dev/v1",
            "kind": "ModelServer",
            "metadata": {**about, "resourceVersion": str(next(self.api._versions))},
            "spec": {"models": models, **spec},
            "status": stored.get("status", {}),
        }

    def restart(self) -> None:
        self.caches = Caches()
        self.served = ServedModels(self.api, self.caches, lambda key: None)
        recorder = Recorder(self.api, "test")
        self.reconciler = ServerReconciler(self.api, self.caches, recorder, self.served, clock=lambda: self.now)

    async def step(self) -> float | None:
        stores: dict[Kind[Any], Any] = {
            SERVERS: self.caches.servers,
            SERVICES: self.caches.services,
            CONFIG_MAPS: self.caches.config_maps,
            DEPLOYMENTS: self.caches.deployments,
            **self.caches.beside_deployments,
        }
        for kind, store in stores.items():
            store.replace(*await self.api.list(kind))
        return await self.reconciler.reconcile(DeployedKey("ModelServer", *KEY))

    async def written(self) -> list[str]:
        """What a pass writes, without the names, which are all the server's."""
        before = len(self.api.writes)
        await self.step()
        return [" ".join(write.split()[:2]) for write in self.api.writes[before:]]

    def deployment(self, **status: Any) -> None:
        stored = self.api.objects["deployments", *KEY]
        self.api.put(DEPLOYMENTS, {**stored, "status": status})

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.api.objects["modelservers", *KEY]["status"])

    def condition(self, type: str) -> dict[str, Any]:
        return next(each for each in self.status["conditions"] if each["type"] == type)


OWN = ["apply configmaps", "apply deployments", "apply services", "apply poddisruptionbudgets"]


async def test_a_server_gets_its_objects_and_a_second_pass_writes_nothing() -> None:
    world = World(replicas=2)
    assert await world.written() == [*OWN, "patch modelservers"]
    assert await world.written() == []
    world.restart()
    assert await world.written() == []
    made = world.api.objects["deployments", *KEY]
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert world.status["phase"] == "Pending"
    assert world.status["url"] == "http://digits.default.svc:8501"


async def test_an_edit_changes_what_it_is_about_alone() -> None:
    world = World(replicas=2)
    await world.step()
    world.edit(replicas=3)
    assert await world.written() == ["apply deployments", "patch modelservers"]
    world.edit(replicas=3, models=[{"name": "other", "basePath": "s3://bucket/other"}])
    assert await world.written() == ["apply configmaps", "patch modelservers"]


async def test_what_the_spec_no_longer_asks_for_goes() -> None:
    world = World(ingress={"host": "a.example"}, gateway={"name": "public"})
    await world.step()
    assert world.api.names(INGRESSES) == world.api.names(HTTP_ROUTES) == {"digits"}
    world.edit()
    assert await world.written() == ["delete ingresses", "delete httproutes", "patch modelservers"]
    assert await world.written() == []


async def test_what_was_deleted_by_somebody_comes_back() -> None:
    world = World()
    await world.step()
    del world.api.objects["services", *KEY]
    assert await world.written() == ["apply services"]


@pytest.mark.parametrize("kind", [SERVICES, DEPLOYMENTS])
async def test_what_is_somebody_elses_is_left_alone(kind: Kind[Any]) -> None:
    world = World()
    world.api.objects[kind.plural, *KEY] = {**STRANGER, "metadata": {**STRANGER["metadata"], "uid": "other"}}
    due = await world.step()
    assert due == world.now + 30
    assert f"apply {kind.plural} digits" not in world.api.writes
    assert world.status["phase"] == "Failed"
    told = f"{kind.name} digits: is there already, and not the server's; rename the server, or delete it"
    assert world.status["message"] == told
    del world.api.objects[kind.plural, *KEY]
    await world.step()
    assert world.status["phase"] == "Pending"


async def test_a_kind_that_is_missing_is_named_and_the_rest_is_done() -> None:
    world = World(gateway={"name": "public"})
    world.api.refuse["httproutes"] = NotFoundError(404, "NotFound", "the server could not find the requested resource")
    await world.step()
    assert world.status["message"] == "the cluster has no kind HTTPRoute of gateway.networking.k8s.io/v1"
    world.deployment(replicas=1, updatedReplicas=1, readyReplicas=1)
    await world.step()
    assert world.condition("Ready")["reason"] == "CannotApply"
    assert world.condition("Available")["status"] == "True"
    del world.api.refuse["httproutes"]
    await world.step()
    assert (world.status["phase"], world.status.get("message", "")) == ("Ready", "")


async def test_a_refusal_of_the_server_is_told_in_its_words() -> None:
    world = World()
    world.api.refuse["deployments"] = APIError(403, "Forbidden", "exceeded quota: small")
    await world.step()
    assert world.status["message"] == "Deployment digits: exceeded quota: small"


async def test_a_conflict_is_none_of_the_users_business() -> None:
    world = World()
    world.api.refuse["deployments"] = ConflictError(409, "Conflict", "newer")
    with pytest.raises(ConflictError):
        await world.step()


async def test_a_manifest_that_the_rules_refuse_is_told_and_what_runs_runs_on() -> None:
    world = World()
    await world.step()
    world.edit(replicas=1, autoscaling={"maxReplicas": 3})
    assert await world.written() == ["patch modelservers"]
    assert world.status["phase"] == "Failed"
    assert world.status["message"].startswith("spec.replicas: autoscaling decides how many there are; spec.autoscaling")
    assert (world.condition("Ready")["reason"], world.condition("Ready")["observedGeneration"]) == ("InvalidSpec", 2)
    assert world.api.names(DEPLOYMENTS) == {"digits"}


async def test_an_autoscalers_number_stays() -> None:
    world = World(replicas=5)
    await world.step()
    scaling = {"minReplicas": 2, "maxReplicas": 9, "cpuUtilization": 80}
    world.edit(autoscaling=scaling, resources={"requests": {"cpu": 1}})
    await world.step()
    assert world.api.objects["deployments", *KEY]["spec"]["replicas"] == 5
    world.edit(autoscaling=scaling, resources={"requests": {"cpu": 2}})
    world.api.objects["deployments", *KEY]["spec"]["replicas"] = 7
    world.deployment()
    await world.step()
    assert world.api.objects["deployments", *KEY]["spec"]["replicas"] == 7


async def test_the_first_number_under_an_autoscaler_is_its_least() -> None:
    scaling = {"minReplicas": 2, "maxReplicas": 9, "cpuUtilization": 80}
    world = World(autoscaling=scaling, resources={"requests": {"cpu": 1}})
    await world.step()
    assert world.api.objects["deployments", *KEY]["spec"]["replicas"] == 2


async def test_conditions_keep_the_time_at_which_they_turned() -> None:
    world = World()
    await world.step()
    first = world.condition("Ready")["lastTransitionTime"]
    world.now += 10
    world.deployment(replicas=1, updatedReplicas=1, readyReplicas=1)
    await world.step()
    turned = world.condition("Ready")
    assert (turned["status"], turned["lastTransitionTime"] > first) == ("True", True)
    world.now += 10
    world.edit(replicas=1, ports={"rest": 80})
    await world.step()
    assert world.condition("Ready")["lastTransitionTime"] == turned["lastTransitionTime"]
    assert world.status["observedGeneration"] == 2


async def test_a_server_that_is_being_deleted_is_left_alone() -> None:
    world = World()
    world.api.objects["modelservers", *KEY]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert await world.written() == []


@pytest.mark.parametrize(
    ("wanted", "status", "phase", "message"),
    [
        (2, {}, "Pending", "the Deployment has just changed"),
        (2, {"readyReplicas": 2}, "Updating", "the Deployment has just changed"),
        (2, {"observedGeneration": 1}, "Pending", "0 of 2 replicas are ready as the spec says"),
        (2, {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 1}, "Updating",
         "1 of 2 replicas are ready as the spec says"),
        (2, {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2}, "Updating",
         "0 of 2 replicas are ready as the spec says"),
        (2, {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 2, "readyReplicas": 3}, "Updating",
         "2 of 2 replicas are ready as the spec says"),
        (2, {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}, "Ready", ""),
        (0, {"observedGeneration": 1}, "Ready", ""),
        (1, {"observedGeneration": 1, "conditions": [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow"}]},
         "Failed", "too slow"),
        (1, {"observedGeneration": 1, "conditions": [
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}]},
         "Failed", "exceeded quota"),
    ],
)  # fmt: skip
def test_where_a_server_stands(wanted: int, status: dict[str, Any], phase: str, message: str) -> None:
    found = {"metadata": {"generation": 1}, "spec": {"replicas": wanted}, "status": status}
    verdict = judge(msgspec.convert(found, Deployment), "")
    assert (verdict.phase, verdict.message) == (ServerPhase(phase), message)


def test_a_server_is_read_as_it_is_stored() -> None:
    stored = msgspec.convert({"metadata": {"name": "a"}, "apiVersion": "shoal.dev/v1"}, Server)
    assert (stored.kind, stored.spec, stored.status) == ("ModelServer", {}, {})


async def test_the_status_tells_what_pods_have_told_as_long_as_one_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    await world.step()
    heard = Served([model_status("digits", [[VersionStatus(version=2, state="AVAILABLE")]])], silent=1)
    monkeypatch.setattr(world.served, "of", lambda uid: heard)
    assert "models" not in await told(world, ready=0)
    status = await told(world, ready=1)
    assert status["models"] == [{"name": "digits", "versions": [{"version": 2, "state": "AVAILABLE", "replicas": 1}]}]
    assert (status["servedVersions"], status["silentReplicas"]) == ("digits:2", 1)
    # Another operator, that has asked nobody yet, leaves it so.
    world.restart()
    assert await told(world, ready=1) == status
    assert not (await told(world, ready=0)).get("models")


async def told(world: World, ready: int) -> dict[str, Any]:
    """The status after a pass, where so many pods are ready."""
    world.deployment(replicas=1, updatedReplicas=1, readyReplicas=ready)
    await world.step()
    return world.status
