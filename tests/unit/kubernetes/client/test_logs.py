from __future__ import annotations

from typing import Any

import pytest

from shoal.kubernetes.client.job_pods import JobPods
from shoal.kubernetes.client.logs import Mark, PodLogs
from shoal.kubernetes.operator.api import APIError
from shoal.kubernetes.operator.views import Job, Metadata
from shoal.runs import Lines, LogChoice, RunError
from tests.unit.kubernetes.operator.objects import JOB_UID, container, pod, running


def at(second: str, text: str) -> bytes:
    return f"2026-01-01T00:00:{second}Z {text}".encode()


def test_a_line_is_told_once_however_often_it_is_read():
    mark = Mark()
    assert mark.since == ""
    assert mark.new([at("01.5", "a"), at("01.6", "b")]) == ["a", "b"]
    assert mark.since == "2026-01-01T00:00:01Z"
    assert mark.new([at("01.5", "a"), at("01.6", "b"), at("02", "c")]) == ["c"]


def test_what_has_no_time_is_told_but_not_again_and_again():
    mark = Mark()
    lost = b"unable to retrieve container logs"
    assert mark.new([lost]) == ["unable to retrieve container logs"]
    assert mark.new([lost]) == []
    assert mark.new([at("01", ""), b"\xff"]) == ["", "\ufffd"]


class Pods:
    """A client that has these pods, whose logs say what they were asked for."""

    def __init__(self, *pods: Any, refused: int = 0) -> None:
        self.pods = list(pods)
        self.refused = refused

    async def list(self, kind: Any, namespace: str, selector: str) -> Any:
        return self.pods, "1"

    async def log_stream(self, namespace: str, pod: str, params: dict[str, str], silence: float) -> Any:
        if self.refused:
            raise APIError(self.refused, "", "no")
        wanted = [f"{key}={value}" for key, value in params.items() if key not in ("container", "timestamps")]
        yield [at("01", f"{pod} {' '.join(wanted)}".strip())]


JOB = Job(Metadata(name="train", namespace="ns", uid=JOB_UID), "shoal.dev/v1")


async def told(client: Pods, **choice: Any) -> list[Lines]:
    return [lines async for lines in PodLogs(client, JobPods(client, JOB), LogChoice(**choice)).lines()]  # type: ignore[arg-type]


def worker(index: int = 0, restarts: int = 0, attempt: int = 0) -> Any:
    name = f"train-worker-{index}"
    return pod(
        "Running", container(running(), restarts=restarts), restart="OnFailure", name=name, attempt=attempt, uid=name
    )


async def test_replica_after_replica():
    client = Pods(worker(10), worker(2))
    assert await told(client) == [
        Lines("worker-2", ["train-worker-2"]),
        Lines("worker-10", ["train-worker-10"]),
    ]
    assert await told(client, replicas=["worker-10"], tail=3) == [Lines("worker-10", ["train-worker-10 tailLines=3"])]


async def test_the_run_before_a_restart_in_place_is_an_attempt():
    client = Pods(worker(attempt=1, restarts=1))
    last, before = (Lines("worker-0", [f"train-worker-0{end}"]) for end in ("", " previous=true"))
    assert await told(client) == [last]
    assert await told(client, everything=True) == [before, last]
    assert await told(client, attempt=3) == [last]
    assert await told(client, attempt=2) == [before]
    with pytest.raises(RunError, match="no log of attempt 1") as refusal:
        await told(client, attempt=1)
    assert refusal.value.hint.endswith("worker-0 3")


@pytest.mark.parametrize("code", [400, 404])
async def test_a_container_that_has_not_started_has_no_log(code):
    assert await told(Pods(worker(), refused=code)) == []


async def test_a_log_that_may_not_be_read_is_told():
    with pytest.raises(APIError):
        await told(Pods(worker(), refused=403))
