"""What goes wrong, with real processes: the status tells the truth afterwards, and nothing is left."""

from __future__ import annotations

import os
import signal

import pytest

from tests.integration.harness import Job
from tests.integration.local.jobs import write_job


def test_a_killed_worker_returns_to_its_address(shoal, tmp_path):
    job = shoal.detach(write_job(tmp_path, Chief=1, PS=1, Worker=2, steps=60, strategy="ParameterServer"))
    job.until(lambda: job.step >= 3)
    before = job.replica("worker-1")
    others = {name: job.replica(name)["pid"] for name in ("chief-0", "ps-0", "worker-0")}
    job.kill("worker-1")
    job.until(lambda: job.replica("worker-1").get("attempt") == 1)
    assert job.replica("worker-1")["address"] == before["address"]
    assert {name: job.replica(name)["pid"] for name in others} == others
    assert job.end() == "Succeeded"
    assert job.retries == 1
    assert job.first_failure["signal"] == "SIGKILL"
    job.assert_nothing_left()


def test_a_killed_all_reduce_worker_restarts_the_whole_group(shoal, tmp_path):
    job = shoal.detach(write_job(tmp_path, Worker=3, steps=40, strategy="AllReduce"))
    job.until(lambda: job.step >= 5)
    job.kill("worker-2")
    job.until(lambda: all(job.replica(f"worker-{n}").get("attempt") == 1 for n in range(3)))
    assert job.end() == "Succeeded"
    assert job.retries == 1
    assert "resuming at step" in job.log("worker-1")
    job.assert_nothing_left()


def test_the_budget_ends_a_worker_that_always_fails(shoal, tmp_path):
    manifest = write_job(tmp_path, "worker-0:fail", PS=1, Worker=1, steps=1000, run_policy={"backoffLimit": 2})
    result = shoal("run", str(manifest))
    assert result.returncode == 1
    job = Job(shoal, "job")
    assert job.retries == 2
    assert job.status["conditions"][-1]["reason"] == "BackoffLimitExceeded"
    assert job.log("worker-0").count("begins") == 3
    job.assert_nothing_left()


@pytest.mark.parametrize(("exit_code", "phase"), [(42, "Failed"), (130, "Succeeded"), (143, "Succeeded")])
def test_exit_codes_under_exit_code(shoal, tmp_path, exit_code, phase):
    manifest = write_job(tmp_path, f"worker-1:exit={exit_code}", restart="ExitCode", Chief=1, Worker=2, steps=60)
    job = shoal.detach(manifest)
    assert job.end() == phase
    assert job.first_failure["exitCode"] == exit_code
    job.assert_nothing_left()


def test_a_deadline_fires_on_time_without_any_event(shoal, tmp_path):
    job = shoal.detach(write_job(tmp_path, "chief-0:hang", Chief=1, run_policy={"activeDeadlineSeconds": 2}))
    assert job.end(timeout=20) == "Failed"
    assert job.status["conditions"][-1]["reason"] == "DeadlineExceeded"
    job.assert_nothing_left()


def test_a_stall_is_noticed_and_answered_by_a_restart(shoal, tmp_path):
    policy = {"stallTimeoutSeconds": 1, "backoffLimit": 1}
    job = shoal.detach(write_job(tmp_path, "chief-0:hang", Chief=1, PS=1, run_policy=policy))
    assert job.end(timeout=30) == "Failed"
    assert job.retries == 1
    assert job.first_failure["cause"] == "Stalled"
    assert job.log("ps-0").count("begins") == 2
    job.assert_nothing_left()


def test_a_start_that_never_comes_is_bounded(shoal, tmp_path):
    policy = {"startupTimeoutSeconds": 2}
    job = shoal.detach(write_job(tmp_path, Chief=1, PS=1, steps=10000, strategy="ParameterServer", run_policy=policy))
    assert job.end(timeout=20) == "Failed"
    assert job.status["conditions"][-1]["reason"] == "StartupTimeout"
    assert "ps-0 (its port does not answer)" in job.status["message"]
    job.assert_nothing_left()


def test_a_command_that_does_not_exist_is_named(shoal, tmp_path):
    manifest = write_job(tmp_path, Worker=1, restart="Never")
    manifest.write_text(manifest.read_text().replace("- python\n", "- no-such-program\n"))
    result = shoal("run", str(manifest))
    assert result.returncode == 1
    assert "cannot run 'no-such-program'" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("foreground", [True, False])
def test_a_killed_supervisor_leaves_no_orphan_and_the_truth(shoal, tmp_path, foreground):
    manifest = write_job(tmp_path, "worker-0:spawn", Chief=1, PS=1, Worker=2, steps=60, strategy="ParameterServer")
    if foreground:
        shoal.begin("run", str(manifest))
        job = Job(shoal, "job")
    else:
        job = shoal.detach(manifest)
    job.until(lambda: job.step >= 3)
    assert len(job.processes()) >= 5
    os.kill(job.snapshot["supervisor"], signal.SIGKILL)
    job.assert_nothing_left()
    assert "Interrupted" in shoal("ps").stdout
    assert "shoal resume job" in shoal("describe", "job").stdout
    resumed = shoal("resume", "job")
    assert resumed.returncode == 0, resumed.stderr
    assert job.phase == "Succeeded"
    assert job.retries == 0
    assert "resuming at step" in job.log("chief-0")
    job.assert_nothing_left()


def test_only_what_the_run_started_is_stopped(shoal, tmp_path):
    (tmp_path / "other").mkdir()
    other = shoal.detach(write_job(tmp_path / "other", name="other", Worker=1, steps=10000))
    job = shoal.detach(write_job(tmp_path, Worker=1, steps=10000))
    job.until(lambda: job.step >= 1)
    other.until(lambda: other.step >= 1)
    assert shoal("rm", "--force", "job").returncode == 0
    assert other.processes()
    assert other.phase == "Running"
