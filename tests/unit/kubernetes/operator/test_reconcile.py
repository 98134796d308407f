"""Passes over a job: in which order they write, that they write nothing twice, and that none of it need succeed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shoal.kubernetes.operator.api import APIError, ConflictError, UnreachableError
from shoal.kubernetes.operator.caches import Caches, JobKey
from shoal.kubernetes.operator.events import Recorder
from shoal.kubernetes.operator.kinds import CONFIG_MAPS, JOBS, PODS, SERVERS, SERVICES
from shoal.kubernetes.operator.metrics import Metrics
from shoal.kubernetes.operator.owned_objects import DIGEST
from shoal.kubernetes.operator.reconcile import Reconciler
from shoal.kubernetes.operator.replica_pods import ATTEMPT
from shoal.kubernetes.operator.views import Job, Pod
from shoal.resources import SHOAL_API
from tests.unit.kubernetes.operator.memory_api import MemoryAPI, steps
from tests.unit.kubernetes.operator.objects import condition, container, job, running, terminated

KEY = JobKey(SHOAL_API, "default", "train")
STORED = JOBS[SHOAL_API]


class World:
    """An operator on an API in memory, whose pods do as the test says."""

    def __init__(self, api: MemoryAPI, wanted: Job) -> None:
        self.api = api
        self.now = 1_767_225_610.0
        api.put(STORED, wanted)
        self.restart()

    def restart(self) -> None:
        """A new operator, which knows nothing but what the API tells."""
        self.caches = Caches()
        self.metrics = Metrics()
        self.reconciler = Reconciler(
            self.api, self.caches, Recorder(self.api, "test"), self.metrics, clock=lambda: self.now
        )

    async def look(self) -> None:
        """The watches tell everything that has happened."""
        stores = (
            (STORED, self.caches.jobs[SHOAL_API]),
            (PODS, self.caches.pods),
            (SERVICES, self.caches.services),
            (CONFIG_MAPS, self.caches.config_maps),
        )
        for kind, store in stores:
            store.replace(*await self.api.list(kind))  # type: ignore[attr-defined]

    async def step(self) -> float | None:
        await self.look()
        return await self.reconciler.reconcile(KEY)

    async def settle(self) -> None:
        """Passes until one writes nothing. An operator that cannot go on is replaced."""
        for _ in range(30):
            before = len(self.api.writes)
            try:
                await self.step()
            except (UnreachableError, ConflictError):
                self.restart()
                continue
            if len(self.api.writes) == before:
                return
        raise AssertionError(f"still writing: {self.api.writes}")

    def pods(self, **states: dict[str, Any]) -> None:
        """`pods(worker_0=running())`; `all` stands for all pods."""
        for name in self.api.names(PODS):
            state = states.get(name.removeprefix("train-").replace("-", "_"), states.get("all"))
            if state is None:
                continue
            stored = self.api.objects["pods", "default", name]
            end = state.get("terminated")
            phase = "Running" if end is None else "Failed" if end["exitCode"] else "Succeeded"
            self.api.put(PODS, {**stored, "status": {"phase": phase, "containerStatuses": [container(state)]}})

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.api.objects["tfjobs", "default", "train"].get("status", {}))


def ps_job(**policy: Any) -> Job:
    return job(Chief=1, PS=1, Worker=2, runPolicy=policy)


async def test_the_status_is_written_before_anything_is_done() -> None:
    world = World(MemoryAPI(), ps_job())
    await world.step()
    assert list(steps(world.api.writes)) == [
        "patch tfjobs",
        "apply configmaps",
        *["create services"] * 4,
        *["create pods"] * 4,
    ]


async def test_nothing_is_written_where_nothing_has_changed() -> None:
    world = World(MemoryAPI(), ps_job())
    await world.settle()
    world.pods(all=running())
    await world.settle()
    before = len(world.api.writes)
    await world.step()
    world.restart()
    await world.step()
    assert world.api.writes[before:] == []


async def test_a_service_that_is_not_as_wanted_is_made_anew() -> None:
    """An apply would leave what it was created with, such as a port of the same name."""
    world = World(MemoryAPI(), ps_job())
    await world.settle()
    stored = world.api.objects["services", "default", "train-ps-0"]
    about = {**stored["metadata"], "annotations": {DIGEST: "of an earlier operator"}}
    world.api.put(SERVICES, {**stored, "metadata": about})
    before = len(world.api.writes)
    await world.settle()
    assert list(steps(world.api.writes[before:])) == ["delete services", "create services"]
    made = world.api.objects["services", "default", "train-ps-0"]["metadata"]["annotations"][DIGEST]
    assert made != "of an earlier operator"
    assert len(world.api.names(SERVICES)) == 4


@pytest.mark.parametrize(
    ("reason", "cause"), [("DeletionByPodGC", "NodeLost"), ("PreemptionByScheduler", "Preempted"), ("", "Vanished")]
)
async def test_a_pod_that_is_gone_before_anybody_looked_has_ended_as_it_was_last_seen(reason: str, cause: str) -> None:
    world = World(MemoryAPI(), ps_job())
    await world.settle()
    world.pods(all=running())
    await world.settle()
    stored = world.api.objects.pop(("pods", "default", "train-worker-1"))
    why = [condition("DisruptionTarget", reason)] if reason else []
    status = {**stored["status"], "phase": "Failed" if reason else "Running", "conditions": why}
    world.reconciler.pod_deleted(msgspec.convert({**stored, "status": status}, Pod))
    await world.settle()
    assert world.status["firstFailure"]["cause"] == cause
    assert world.status["retries"] == 1
    assert world.api.objects["pods", "default", "train-worker-1"]["metadata"]["labels"][ATTEMPT] == "1"


async def test_nothing_is_kept_of_pods_that_go_with_their_job() -> None:
    world = World(MemoryAPI(), ps_job())
    await world.settle()
    pods = [stored for (plural, _, _), stored in world.api.objects.items() if plural == "pods"]
    ended = [msgspec.convert({**stored, "status": {"phase": "Succeeded"}}, Pod) for stored in pods]
    world.reconciler.pod_deleted(ended[0])
    kept = world.reconciler._last_seen
    assert len(kept) == 1
    gone = world.caches.jobs[SHOAL_API].all()[0]
    world.caches.jobs[SHOAL_API].replace([], "1000000")
    world.reconciler.forget(gone)
    for pod in ended:
        world.reconciler.pod_deleted(pod)
    assert len(kept) == 0


async def test_a_replica_that_had_completed_does_not_run_again_when_its_pod_is_gone() -> None:
    world = World(MemoryAPI(), job(Worker=2, successPolicy="AllWorkers"))
    await world.settle()
    world.pods(all=running())
    await world.settle()
    stored = world.api.objects.pop(("pods", "default", "train-worker-1"))
    ended = {"phase": "Succeeded", "containerStatuses": [container(terminated(0))]}
    world.reconciler.pod_deleted(msgspec.convert({**stored, "status": ended}, Pod))
    await world.settle()
    assert world.api.names(PODS) == {"train-worker-0"}
    assert "firstFailure" not in world.status


async def test_a_cache_that_is_behind_leads_to_nothing_twice() -> None:
    world = World(MemoryAPI(), ps_job())
    await world.step()
    before = len(world.api.writes)
    # The watches have told of nothing yet.
    await world.reconciler.reconcile(KEY)
    assert [write for write in world.api.writes[before:] if not write.startswith("patch tfjobs")] == []


async def test_a_job_that_was_changed_meanwhile_is_not_acted_on() -> None:
    world = World(MemoryAPI(), ps_job())
    await world.look()
    world.api.put(STORED, world.api.objects["tfjobs", "default", "train"])
    with pytest.raises(ConflictError):
        await world.reconciler.reconcile(KEY)
    assert world.api.names(PODS) == set()


async def life(world: World) -> None:
    """A job's life with a failure in it: a parameter server is killed, and takes the chief with it."""
    await world.settle()
    world.pods(all=running())
    await world.settle()
    world.pods(ps_0=terminated(137), chief_0=terminated(1))
    world.now += 1
    await world.settle()
    world.now += 10
    await world.settle()
    world.pods(all=running())
    await world.settle()
    world.pods(chief_0=terminated(0))
    await world.settle()


async def test_whatever_write_is_lost_the_job_ends_the_same() -> None:
    calm = World(MemoryAPI(), job(Chief=1, PS=1, Worker=2))
    await life(calm)
    assert calm.status["phase"] == "Succeeded"
    assert calm.status["attempts"] == {"chief-0": 1, "ps-0": 1}
    assert calm.api.names(PODS) == {"train-chief-0"}
    assert calm.api.names(SERVICES) == calm.api.names(CONFIG_MAPS) == set()
    for lost in range(len(calm.api.writes)):
        for done in (True, False):
            world = World(MemoryAPI(lost, done), job(Chief=1, PS=1, Worker=2))
            await life(world)
            told = f"write {lost}, {calm.api.writes[lost]}, lost {'after' if done else 'before'} it was done"
            assert without_times(world.status) == without_times(calm.status), told
            assert world.api.objects.keys() == calm.api.objects.keys(), told


def without_times(status: Any) -> Any:
    if isinstance(status, dict):
        return {key: without_times(part) for key, part in status.items() if not key.endswith(("Time", "time"))}
    return [without_times(part) for part in status] if isinstance(status, list) else status


async def test_another_controllers_job_is_left_alone() -> None:
    world = World(MemoryAPI(), ps_job(managedBy="kubeflow.org/training-operator"))
    await world.step()
    assert world.api.writes == []


async def test_a_job_that_is_being_deleted_is_left_to_the_garbage_collector() -> None:
    deleted = msgspec.to_builtins(ps_job())
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world = World(MemoryAPI(), msgspec.convert(deleted, Job))
    await world.step()
    assert world.api.writes == []


async def test_a_deadline_is_a_timer() -> None:
    world = World(MemoryAPI(), ps_job(activeDeadlineSeconds=100))
    assert await world.step() == world.now + 100


async def test_a_job_that_has_lived_its_time_is_deleted() -> None:
    world = World(MemoryAPI(), job(Worker=1, runPolicy={"ttlSecondsAfterFinished": 50}))
    await world.settle()
    world.pods(all=terminated(0))
    await world.settle()
    assert await world.step() == world.now + 50
    world.now += 50
    await world.step()
    assert world.api.names(STORED) == set()


async def test_a_group_is_never_restarted_by_the_kubelet() -> None:
    world = World(MemoryAPI(), job(Worker=2))
    await world.step()
    assert {each["spec"]["restartPolicy"] for each in pods(world)} == {"Never"}


async def test_a_pod_says_whose_it_is_and_which_attempt() -> None:
    world = World(MemoryAPI(), ps_job())
    await world.step()
    made = msgspec.convert(pods(world)[0], Pod).metadata
    assert made.controller is not None
    assert made.controller.name == "train"
    assert made.labels["shoal.dev/attempt"] == "0"
    assert made.annotations["shoal.dev/cluster-shape"] == "chief=1,ps=1,worker=2"


async def test_a_job_whose_log_cannot_be_read_has_not_stalled() -> None:
    world = World(MemoryAPI(), job(Worker=1, runPolicy={"stallTimeoutSeconds": 60}))
    await world.settle()
    world.pods(all=running())
    await world.settle()
    world.now += 600
    due = await world.step()
    assert due is not None
    assert due <= world.now + 60
    assert "attempts" not in world.status


async def test_a_pod_with_a_sidecar_that_goes_on_is_deleted_when_the_job_has_ended() -> None:
    world = World(MemoryAPI(), job(Worker=1))
    await world.settle()
    stored = world.api.objects["pods", "default", "train-worker-0"]
    containers = [container(terminated(0)), container(running(), "proxy")]
    world.api.put(PODS, {**stored, "status": {"phase": "Running", "containerStatuses": containers}})
    await world.settle()
    assert world.status["phase"] == "Succeeded"
    assert world.api.names(PODS) == set()


async def test_a_pod_whose_phase_comes_late_stays_with_its_log_when_the_job_has_ended() -> None:
    world = World(MemoryAPI(), job(Worker=1))
    await world.settle()
    stored = world.api.objects["pods", "default", "train-worker-0"]
    containers = [container(terminated(0)), container(terminated(0), "proxy")]
    world.api.put(PODS, {**stored, "status": {"phase": "Running", "containerStatuses": containers}})
    await world.settle()
    assert world.status["phase"] == "Succeeded"
    assert world.api.names(PODS) == {"train-worker-0"}


def pods(world: World) -> list[dict[str, Any]]:
    return [each for (plural, _, _), each in world.api.objects.items() if plural == "pods"]


SERVING = {"basePath": "s3://bucket/model"}


def served(world: World) -> dict[str, Any]:
    return next(each for each in world.status["conditions"] if each["type"] == "Served")


async def succeed(world: World) -> None:
    await world.settle()
    world.pods(all=running())
    await world.settle()
    world.pods(all=terminated(0))


async def test_a_job_that_has_succeeded_gets_its_model_server_once() -> None:
    world = World(MemoryAPI(), job(Worker=1, serve=SERVING))
    await succeed(world)
    assert world.api.names(SERVERS) == set()
    await world.settle()
    made = world.api.objects["modelservers", "default", "train"]
    assert made["spec"]["models"] == [{"name": "train", "basePath": "s3://bucket/model"}]
    assert "ownerReferences" not in made["metadata"]
    assert (served(world)["status"], served(world)["reason"]) == ("True", "ModelServerMade")
    del world.api.objects["modelservers", "default", "train"]
    world.restart()
    await world.settle()
    assert world.api.names(SERVERS) == set(), "what somebody has deleted stays deleted"


async def test_a_model_server_of_somebody_elses_is_left_as_it_is() -> None:
    world = World(MemoryAPI(), job(Worker=1, serve=SERVING))
    theirs = {"metadata": {"name": "train", "namespace": "default"}, "spec": {"models": []}}
    world.api.objects["modelservers", "default", "train"] = theirs
    await succeed(world)
    await world.settle()
    assert world.api.objects["modelservers", "default", "train"] == theirs
    assert (served(world)["status"], served(world)["reason"]) == ("False", "ServerExists")


@pytest.mark.parametrize("done", [True, False])
async def test_a_model_server_that_was_lost_on_the_way_is_made_again(done: bool) -> None:
    whole = MemoryAPI()
    world = World(whole, job(Worker=1, serve=SERVING))
    await succeed(world)
    await world.settle()
    at = whole.writes.index("apply modelservers train")
    world = World(MemoryAPI(at, done), job(Worker=1, serve=SERVING))
    await succeed(world)
    await world.settle()
    assert world.api.writes.count("apply modelservers train") == 2
    assert served(world)["status"] == "True"


async def test_a_job_without_time_to_live_is_removed_after_its_model_is_served() -> None:
    world = World(MemoryAPI(), job(Worker=1, serve=SERVING, runPolicy={"ttlSecondsAfterFinished": 0}))
    await succeed(world)
    due = await world.step()
    assert due == world.now
    assert "delete tfjobs train" not in world.api.writes
    await world.step()
    assert world.api.writes[-1] == "delete tfjobs train"
    assert world.api.names(SERVERS) == {"train"}


@pytest.mark.parametrize("done", [True, False])
async def test_the_number_of_workers_that_a_rule_wants_is_written_once(done: bool) -> None:
    wanted = job(PS=1, Worker=1, scaling={"minWorkers": 2, "maxWorkers": 4}, strategy="BetweenGraphAsync")
    whole = World(MemoryAPI(), wanted)
    await whole.settle()
    first, at = [number for number, write in enumerate(whole.api.writes) if write == "patch tfjobs train"][:2]
    assert first == 0, "the status comes first"
    world = World(MemoryAPI(at, done), wanted)
    await world.settle()
    assert world.api.objects["tfjobs", "default", "train"]["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 2
    assert "train-worker-1" in world.api.names(PODS)
    assert world.status["scaling"]["desiredWorkers"] == 2
    assert "replacedWorkers" not in world.status["scaling"]
    scaled = next(each for each in world.status["conditions"] if each["type"] == "Scaled")
    assert (scaled["reason"], scaled["message"]) == ("TooFew", "1 → 2 workers: at least 2 are wanted")


class _Stingy(MemoryAPI):
    """Refuses pods while `refuses` says why."""

    refuses = ""

    async def create(self, kind: Any, object: Any) -> Any:
        if kind is PODS and self.refuses:
            raise APIError(403, "Forbidden", self.refuses)
        return await super().create(kind, object)


async def test_a_refused_pod_is_told_in_the_status_until_it_is_there() -> None:
    world = World(api := _Stingy(), job(Worker=1))
    api.refuses = "exceeded quota: few"

    with pytest.raises(APIError):
        await world.step()
    assert world.status.get("message", "") == "waiting for worker-0; cannot create a pod: exceeded quota: few"
    written = len(api.writes)
    with pytest.raises(APIError):
        await world.step()
    assert api.writes[written:] == []
    api.refuses = ""
    await world.settle()
    assert world.status.get("message", "") == "waiting for worker-0"
    world.pods(worker_0=running())
    await world.settle()
    assert world.status.get("message", "") == ""
