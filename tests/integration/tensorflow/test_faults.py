"""What goes wrong in a job of real TensorFlow processes. After each fault the status tells the truth, training ends as
it should, no process is left, and the ports are free."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.integration.harness import Job
from tests.integration.tensorflow.examples import GOOD_ENOUGH, MNIST, Example, accuracy

STEPS_OF_AN_EPOCH = 90
"""Of the parameter-server example; a checkpoint is written after each."""

TIME = 180


def begun(job: Job, step: int) -> None:
    """Wait until training has come so far."""
    job.until(lambda: job.step >= step, TIME)


def pids(job: Job, *names: str) -> dict[str, int]:
    return {name: job.replica(name)["pid"] for name in names}


def succeeded(job: Job, retries: int) -> None:
    assert job.end(TIME) == "Succeeded", job.logs()
    assert job.retries == retries
    assert accuracy(job) >= GOOD_ENOUGH
    job.assert_nothing_left()


class TestParameterServer:
    """Variables live on the ps, the chief schedules steps, workers hold nothing."""

    @pytest.fixture
    def job(self, shoal, tmp_path) -> Job:
        job = Example("parameter-server-small", ("--epochs", "14")).start(shoal, tmp_path)
        job.until(lambda: 2 * STEPS_OF_AN_EPOCH in checkpoints(job), TIME)
        return job

    def test_a_worker_comes_back_at_its_address(self, job):
        address, others = job.replica("worker-1")["address"], pids(job, "chief-0", "ps-0", "worker-0")
        job.kill("worker-1")
        job.until(lambda: job.replica("worker-1").get("attempt") == 1)
        assert job.replica("worker-1")["address"] == address
        assert pids(job, *others) == others
        succeeded(job, retries=1)
        assert job.first_failure["replica"] == "worker-1"
        assert job.first_failure["signal"] == "SIGKILL"

    def test_a_dead_ps_takes_the_chief_along_and_workers_stay(self, job):
        workers = pids(job, "worker-0", "worker-1")
        job.kill("ps-0")
        job.until(lambda: job.replica("ps-0").get("attempt") == 1 and job.replica("chief-0").get("attempt") == 1)
        assert pids(job, *workers) == workers
        succeeded(job, retries=1)
        assert job.first_failure["replica"] == "ps-0"
        assert resumed(job, "chief-0") >= 2 * STEPS_OF_AN_EPOCH

    def test_the_chief_alone_is_started_again(self, job):
        others = pids(job, "ps-0", "worker-0", "worker-1")
        job.kill("chief-0")
        job.until(lambda: job.replica("chief-0").get("attempt") == 1)
        assert pids(job, *others) == others
        succeeded(job, retries=1)
        assert job.first_failure["replica"] == "chief-0"
        assert resumed(job, "chief-0") >= 2 * STEPS_OF_AN_EPOCH

    def test_all_workers_at_once(self, job):
        job.kill("worker-0", "worker-1")
        succeeded(job, retries=2)
        assert job.first_failure["signal"] == "SIGKILL"


class TestAllReduce:
    """Whoever dies takes the others along, and they start again together."""

    @pytest.fixture
    def job(self, shoal, tmp_path) -> Job:
        job = Example("all-reduce", ("--epochs", "60")).start(shoal, tmp_path)
        job.until(lambda: checkpoints(job), TIME)
        return job

    @pytest.mark.parametrize("victims", [("worker-2",), ("worker-0",), ("worker-0", "worker-1", "worker-2")])
    def test_the_group_starts_again_from_the_checkpoint(self, job, victims):
        saved = max(checkpoints(job))
        job.kill(*victims)
        job.until(lambda: all(job.replica(f"worker-{n}").get("attempt") == 1 for n in range(3)), TIME)
        succeeded(job, retries=1)
        assert job.first_failure["replica"] in victims
        assert job.first_failure["signal"] == "SIGKILL"
        steps = {resumed(job, f"worker-{n}") for n in range(3)}
        assert len(steps) == 1, "everybody resumes at the same step"
        assert min(steps) >= saved
        assert min(steps) % 30 == 0, "an epoch of this example has 30 steps"


def test_fit_resumes_at_the_saved_epoch(shoal, tmp_path):
    job = Example("fit", ("--epochs", "12")).start(shoal, tmp_path)
    job.until(lambda: "Epoch 4/12" in job.log("worker-0"), TIME)
    job.kill("worker-1")
    succeeded(job, retries=1)
    again = (job.folder / "logs/worker-0.1.log").read_text()
    first = re.search(r"Epoch (\d+)/12", again)
    assert first is not None, again
    assert int(first[1]) >= 3


@pytest.mark.parametrize("victim", ["worker-0", "ps-0", "chief-0"])
def test_between_graph_recovers(shoal, tmp_path, victim):
    job = Example("between-graph-async", ("--steps", "4000")).start(shoal, tmp_path)
    saved(job, 300)
    job.kill(victim)
    succeeded(job, retries=1)
    assert job.first_failure["replica"] == victim


def test_between_graph_sync_waits_for_its_worker(shoal, tmp_path):
    job = Example("between-graph-sync", ("--sync", "--steps", "1500")).start(shoal, tmp_path)
    saved(job, 100)
    job.kill("worker-1")
    succeeded(job, retries=1)


def test_in_graph_recovers(shoal, tmp_path):
    job = Example("in-graph", ("--epochs", "20")).start(shoal, tmp_path)
    begun(job, 150)
    job.kill("worker-0")
    assert job.end(TIME) == "Succeeded", job.logs()
    assert 1 <= job.retries <= 3
    assert accuracy(job) >= GOOD_ENOUGH
    job.assert_nothing_left()


def test_an_evaluator_that_dies_is_started_again(shoal, tmp_path):
    job = Example("evaluator").start(shoal, tmp_path)
    begun(job, STEPS_OF_AN_EPOCH)
    job.kill("evaluator-0")
    succeeded(job, retries=1)
    evaluated = next(c for c in job.status["conditions"] if c["type"] == "Evaluated")
    assert evaluated["status"] == "True", evaluated


def changed(example: Example, folder: Path, script: str, before: str, after: str) -> Path:
    """The example's manifest beside a script with a fault in it."""
    manifest = example.manifest(folder)
    text = (folder / script).read_text()
    assert text.count(before) == 1
    (folder / script).write_text(text.replace(before, after))
    return manifest


def test_a_bug_in_one_worker_is_told_from_its_consequences(shoal, tmp_path):
    """All three end with code 1 within a second; the one that raised is named, with what it said."""
    bug = '        if cluster.index == 1 and epoch == 2:\n            raise ValueError("a digit of 11")\n'
    manifest = changed(
        Example("all-reduce", ("--epochs", "60"), {"backoffLimit": 1}),
        tmp_path,
        "all_reduce.py",
        "        mine = digits.batches(",
        f"{bug}        mine = digits.batches(",
    )
    result = shoal("run", str(manifest), timeout=TIME)
    job = Job(shoal, "mnist-all-reduce")
    assert result.returncode == 1
    assert job.retries == 1
    assert job.first_failure["replica"] == "worker-1"
    assert job.first_failure["exitCode"] == 1
    assert any("ValueError: a digit of 11" in line for line in job.first_failure["logTail"])
    assert "ValueError: a digit of 11" in result.stderr
    job.assert_nothing_left()


def test_a_script_that_stalls_is_started_again(shoal, tmp_path):
    manifest = changed(
        Example("parameter-server-small", ("--epochs", "8"), {"stallTimeoutSeconds": 8}),
        tmp_path,
        "parameter_server.py",
        "        step += steps\n",
        "        step += steps\n        if step == 3 * steps and __import__('os').environ['SHOAL_ATTEMPT'] == '0':\n"
        "            __import__('signal').pause()\n",
    )
    job = shoal.detach(manifest)
    succeeded(job, retries=1)
    assert job.first_failure["cause"] == "Stalled"


def test_a_deadline(shoal, tmp_path):
    job = Example("parameter-server-small", ("--epochs", "1000"), {"activeDeadlineSeconds": 15}).start(shoal, tmp_path)
    assert job.end(60) == "Failed"
    assert job.status["conditions"][-1]["reason"] == "DeadlineExceeded"
    job.assert_nothing_left()


def test_a_worker_that_is_killed_more_often_than_the_budget_allows(shoal, tmp_path):
    job = Example("parameter-server-small", ("--epochs", "1000"), {"backoffLimit": 2}).start(shoal, tmp_path)
    begun(job, STEPS_OF_AN_EPOCH)
    for attempt in range(3):
        job.until(lambda n=attempt: job.replica("worker-0").get("attempt") == n and job.replica("worker-0")["pid"], 60)
        job.kill("worker-0")
    assert job.end(60) == "Failed"
    assert job.retries == 2
    assert job.status["conditions"][-1]["reason"] == "BackoffLimitExceeded"
    assert job.first_failure["replica"] == "worker-0"
    job.assert_nothing_left()


@pytest.mark.parametrize("prefork", ["--prefork", "--no-prefork"])
def test_a_killed_supervisor_leaves_nothing_and_the_job_goes_on_later(shoal, tmp_path, prefork):
    job = Example("parameter-server-small", ("--epochs", "8")).start(shoal, tmp_path, prefork)
    job.until(lambda: 2 * STEPS_OF_AN_EPOCH in checkpoints(job), TIME)
    os.kill(job.snapshot["supervisor"], signal.SIGKILL)
    job.assert_nothing_left()
    assert "Interrupted" in shoal("ps").stdout
    assert shoal("resume", job.name, timeout=TIME).returncode == 0
    succeeded(job, retries=0)
    assert resumed(job, "chief-0") >= 2 * STEPS_OF_AN_EPOCH


def test_a_script_without_shoals_library(shoal, tmp_path):
    """Plain TensorFlow: a worker that reads TF_CONFIG itself, trained by nothing but what Shoal tells every program."""
    result = shoal("run", str(MNIST.parent / "compat/mnist-with-summaries.yaml"), timeout=TIME)
    job = Job(shoal, "mnist-with-summaries")
    assert result.returncode == 0, result.stderr + job.logs()
    assert job.step == 49
    assert job.status["progress"]["loss"] < 2
    job.assert_nothing_left()


def saved(job: Job, step: int) -> None:
    """Wait until a session of TensorFlow 1 has saved so far. Its event files, and with them the step in the status, may
    be many seconds behind: a fast machine would end before they tell that it has begun."""
    files = "volumes/**/model.ckpt-*.index"
    job.until(lambda: any(int(file.stem.rpartition("-")[2]) >= step for file in job.folder.glob(files)), TIME)


def checkpoints(job: Job) -> list[int]:
    """Steps of the checkpoints that are complete, as those who wrote them said."""
    said = [json.loads(line) for file in job.folder.glob("progress/*.jsonl") for line in file.read_text().splitlines()]
    return [line["checkpoint"] for line in said if "checkpoint" in line]


def resumed(job: Job, replica: str) -> int:
    """The step at which the replica's last attempt went on."""
    told = re.findall(r"goes on from the checkpoint of step (\d+)", job.log(replica))
    assert told, job.log(replica)
    return int(told[-1])
