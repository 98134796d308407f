from __future__ import annotations

import pytest

from tests.unit.training.scenario import job, running


@pytest.mark.parametrize(
    ("policy", "exit_code", "again"),
    [
        ("Never", 1, False),
        ("Never", 137, False),
        ("OnFailure", 1, True),
        ("OnFailure", 137, True),
        ("Always", 1, True),
        ("ExitCode", 1, False),
        ("ExitCode", 42, False),
        ("ExitCode", 127, False),
        ("ExitCode", 128, True),
        ("ExitCode", 130, True),
        ("ExitCode", 137, True),
        ("ExitCode", 143, True),
    ],
)
def test_exit_codes(policy, exit_code, again):
    scenario = running(job(Chief=1, PS=1, Worker=2, restart=policy))
    scenario.fail("worker-1", exit_code)
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == ("Running" if again else "Failed")
    assert scenario.status.retries == int(again)


def test_each_role_has_its_own_policy():
    scenario = running(job(Chief=1, PS=1, Worker=1, restart="Never", restart_by_role={"PS": "Always"}))
    scenario.fail("ps-0", 1)
    scenario.settle()
    assert scenario.status.phase == "Running"


def test_a_server_under_always_serves_on_when_it_exits_with_zero():
    scenario = running(job(Worker=1, PS=1, restart_by_role={"PS": "Always"}))
    scenario.complete("ps-0")
    scenario.settle()
    assert scenario.seen["ps-0"].attempt == 1
    assert scenario.status.retries == 1


def test_a_worker_under_always_that_has_completed_does_not_run_again():
    scenario = running(job(Chief=1, Worker=1, PS=1, restart="Always", strategy="BetweenGraphAsync"))
    scenario.complete("worker-0")
    scenario.settle()
    assert scenario.status.attempts == {}
    assert scenario.status.completed == {"worker": "0"}


def test_a_dynamic_worker_may_fail_for_good():
    a_job = job(PS=1, Worker=3, restart="Never", enableDynamicWorker=True)
    scenario = running(a_job)
    scenario.fail("worker-2", 1)
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == "Running"
    scenario.complete("worker-0")
    scenario.settle()
    assert scenario.status.phase == "Succeeded"


def test_the_leading_worker_may_not_fail_for_good():
    scenario = running(job(PS=1, Worker=3, restart="Never", enableDynamicWorker=True))
    scenario.fail("worker-0", 1)
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == "Failed"


def test_dynamic_workers_cannot_all_fail():
    scenario = running(job(PS=1, Worker=2, restart="Never", enableDynamicWorker=True, successPolicy="AllWorkers"))
    scenario.complete("worker-0")
    scenario.step()
    scenario.fail("worker-1", 1)
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == "Failed"
