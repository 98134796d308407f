from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shoal.kubernetes.operator.api import APIError
from shoal.kubernetes.operator.observe import observe, replica_id
from shoal.kubernetes.operator.progress import FIRST_SECONDS, SILENT_SECONDS, SPEAKING_SECONDS, LogProgress
from shoal.kubernetes.operator.views import Pod
from shoal.kubernetes.operator.wanted import manifest_of
from shoal.resources import TFJob, parse
from shoal.training import Replica, ReplicaProgress
from tests.unit.kubernetes.operator.objects import container, pod, running, seconds, terminated
from tests.unit.kubernetes.operator.objects import job as stored

START = seconds(1)


class Logs:
    """The API's logs, by pod; what is no text is raised."""

    def __init__(self, **said: Any) -> None:
        self.said = {name.replace("_", "-"): text for name, text in said.items()}
        self.read: list[str] = []

    async def log(self, namespace: str, pod: str, container: str, lines: int) -> str:
        self.read.append(pod.removeprefix("train-"))
        said = self.said.get(pod.removeprefix("train-"), "")
        if isinstance(said, Exception):
            raise said
        return str(said)


def line(text: str) -> str:
    return f"2026-01-01T00:00:01.5Z SHOAL_PROGRESS: {text}\n"


def job(**spec: Any) -> TFJob:
    return parse(manifest_of(stored(Chief=1, PS=1, Worker=2, Evaluator=1, **spec)))


async def look(
    progress: LogProgress, at: float, *pods: Pod, wanted: TFJob | None = None
) -> tuple[dict[str, ReplicaProgress | None], float | None]:
    seen: list[tuple[Pod, Replica]] = []
    for each in pods:
        id = replica_id(each)
        assert id is not None
        seen.append((each, observe(each, id, "tensorflow")))
    found, due = await progress.add(wanted or job(), "uid", seen, at)
    return {str(replica.id): replica.progress for _, replica in found}, due


def runs(name: str) -> Pod:
    return pod("Running", container(running()), name=f"train-{name}")


async def test_the_leader_and_the_evaluator_are_asked() -> None:
    logs = Logs(
        chief_0="plain\n" + line('{"time": 5, "step": 7, "loss": 0.5}') + line('{"time": 6, "checkpoint": 7}'),
        evaluator_0=line('{"time": 8, "evaluated": 7, "step": 7, "metrics": {"accuracy": 0.9}}'),
        worker_0=line('{"time": 5, "step": 99}'),
    )
    progress = LogProgress(logs)  # type: ignore[arg-type]
    pods = [runs(name) for name in ("chief-0", "ps-0", "worker-0", "evaluator-0")]
    told, due = await look(progress, START, *pods)
    assert (logs.read, due) == ([], START + FIRST_SECONDS)
    told, _ = await look(progress, START + FIRST_SECONDS, *pods)
    assert logs.read == ["chief-0", "evaluator-0"]
    assert told["chief-0"] == ReplicaProgress(7, 5.0, 0.5, checkpoint_step=7)
    evaluated = told["evaluator-0"]
    assert evaluated is not None
    assert (evaluated.evaluated_step, evaluated.metrics) == (7, (("accuracy", 0.9),))
    assert told["worker-0"] is None


@pytest.mark.parametrize(
    ("said", "longest"), [(line('{"time": 5, "step": 1}'), SPEAKING_SECONDS), ("step 1\n", SILENT_SECONDS)]
)
async def test_who_prints_no_progress_is_asked_ever_more_rarely(said: str, longest: float) -> None:
    progress = LogProgress(Logs(chief_0=said))  # type: ignore[arg-type]
    now, pauses = START, []
    for _ in range(12):
        _, due = await look(progress, now, runs("chief-0"))
        assert due is not None
        pauses.append(due - now)
        now = due
    assert pauses[:3] == [5, 10, 20]
    assert pauses[-1] == max(pauses) == longest


async def test_what_a_leader_says_last_counts() -> None:
    """It ends between two looks, and the log says more than before."""
    logs = Logs(chief_0=line('{"time": 5, "step": 1}'))
    progress = LogProgress(logs)  # type: ignore[arg-type]
    await look(progress, START + FIRST_SECONDS, runs("chief-0"))
    logs.said["chief-0"] = line('{"time": 9, "step": 2}') + line('{"time": 9, "checkpoint": 2}')
    ended = pod("Succeeded", container(terminated(0)), name="train-chief-0")
    for _ in range(2):
        told, due = await look(progress, START + FIRST_SECONDS + 1, ended)
        assert told["chief-0"] == ReplicaProgress(2, 9.0, checkpoint_step=2)
        assert due is None
    assert logs.read == ["chief-0", "chief-0"]


async def test_a_container_that_starts_again_has_said_nothing() -> None:
    logs = Logs(chief_0=line('{"time": 5, "step": 1}'))
    progress = LogProgress(logs)  # type: ignore[arg-type]
    await look(progress, START + FIRST_SECONDS, runs("chief-0"))
    again = pod("Running", container(running(9), restarts=1), restart="OnFailure", name="train-chief-0")
    told, due = await look(progress, seconds(9), again)
    assert (told["chief-0"], due) == (None, seconds(9) + FIRST_SECONDS)


async def test_a_stall_is_found_only_in_a_log_that_was_just_read() -> None:
    logs = Logs(chief_0=line(f'{{"time": {START + 5}, "step": 1}}'))
    progress = LogProgress(logs)  # type: ignore[arg-type]
    impatient = job(runPolicy={"stallTimeoutSeconds": 2})
    await look(progress, START + 5, runs("chief-0"), wanted=impatient)
    logs.said["chief-0"] = line(f'{{"time": {START + 7}, "step": 2}}')
    told, _ = await look(progress, START + 7, runs("chief-0"), wanted=impatient)
    assert told["chief-0"] == ReplicaProgress(2, START + 7)
    logs.said["chief-0"] = APIError(500, "", "no kubelet")
    told, _ = await look(progress, START + 9, runs("chief-0"), wanted=impatient)
    assert told["chief-0"] is None, "a log that cannot be read proves no stall"


@pytest.mark.looptime
async def test_a_node_that_has_vanished_does_not_hold_up_the_pass() -> None:
    class Silent(Logs):
        async def log(self, namespace: str, pod: str, container: str, lines: int) -> str:
            await asyncio.sleep(3600)
            return ""

    async with asyncio.timeout(5):
        told, _ = await look(LogProgress(Silent()), START + FIRST_SECONDS, runs("chief-0"))  # type: ignore[arg-type]
    assert told == {"chief-0": None}
