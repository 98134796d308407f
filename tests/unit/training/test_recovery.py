"""Who is started again with whom, by strategy, and what that costs."""

from __future__ import annotations

import pytest

from shoal.training import Cause
from tests.unit.training.scenario import Scenario, job, running


def restarted(scenario: Scenario) -> set[str]:
    return set(scenario.status.attempts)


def ps_job(**more):
    return job(Chief=1, PS=2, Worker=3, strategy="ParameterServer", **more)


def test_parameter_server_a_worker_returns_alone():
    scenario = running(ps_job())
    scenario.fail("worker-1", 137)
    scenario.settle()
    assert restarted(scenario) == {"worker-1"}
    assert scenario.seen["worker-1"].attempt == 1
    assert scenario.status.retries == 1


def test_parameter_server_a_ps_takes_the_chief_with_it_and_keeps_workers():
    scenario = running(ps_job())
    scenario.fail("ps-1", 137)
    scenario.settle()
    assert restarted(scenario) == {"ps-1", "chief-0"}
    assert scenario.status.retries == 1


def test_parameter_server_the_chief_returns_alone():
    scenario = running(ps_job())
    scenario.fail("chief-0", 137)
    scenario.settle()
    assert restarted(scenario) == {"chief-0"}


def test_parameter_server_all_workers_return():
    scenario = running(ps_job())
    for index in range(3):
        scenario.fail(f"worker-{index}", 137)
    scenario.settle()
    scenario.settle(60)
    assert restarted(scenario) == {"worker-0", "worker-1", "worker-2"}
    assert scenario.status.phase == "Running"


def test_all_reduce_restarts_the_whole_group_for_one_retry():
    scenario = running(job(Chief=1, Worker=2, Evaluator=1, strategy="AllReduce"))
    scenario.fail("worker-1", 137)
    scenario.step()
    assert restarted(scenario) == {"chief-0", "worker-0", "worker-1"}
    assert set(scenario.actions("Delete")) == {"chief-0", "worker-0", "worker-1"}
    assert scenario.status.phase == "Restarting"
    scenario.settle()
    scenario.step()
    assert scenario.status.retries == 1
    assert scenario.status.phase == "Running"


def test_all_reduce_starts_nobody_until_every_predecessor_is_gone():
    scenario = running(job(Worker=3, strategy="AllReduce"))
    scenario.fail("worker-1", 137)
    scenario.step()
    assert scenario.actions("Create") == []
    del scenario.seen["worker-0"], scenario.seen["worker-1"]
    scenario.see("worker-2", "Terminating")
    scenario.step()
    assert scenario.actions("Create") == []
    del scenario.seen["worker-2"]
    scenario.step()
    assert len(scenario.actions("Create")) == 3


def test_all_reduce_peers_that_die_of_the_first_death_cost_nothing_more():
    scenario = running(job(Worker=3, strategy="AllReduce", run_policy={"backoffLimit": 1}))
    scenario.now += 10
    scenario.fail("worker-2", 1)
    scenario.fail("worker-1", 137, ago=1.0)
    scenario.settle()
    assert scenario.status.retries == 1
    assert scenario.status.attempts == {"worker-0": 1, "worker-1": 1, "worker-2": 1}
    assert scenario.status.first_failure.replica == "worker-1"


def test_all_reduce_starts_no_member_after_another_has_completed():
    scenario = Scenario(job(Worker=3, strategy="AllReduce"))
    scenario.see("worker-0", shape="worker=3")
    scenario.complete("worker-2")
    scenario.step()
    assert scenario.actions("Create") == []
    assert scenario.status.phase == "Running"
    del scenario.seen["worker-0"]
    scenario.job.status.started = {}
    scenario.step()
    assert scenario.status.phase == "Failed"
    assert scenario.status.message.startswith("worker-0 cannot start after worker-2 has completed")


def test_all_reduce_cannot_go_on_without_a_member_that_has_completed():
    scenario = running(job(Worker=3, strategy="AllReduce"))
    scenario.complete("worker-2")
    scenario.step()
    scenario.fail("worker-1", 1)
    scenario.settle()
    scenario.settle(5)
    assert scenario.status.phase == "Failed"
    assert scenario.status.conditions[-1].reason == "GroupIncomplete"
    assert "worker-2 had completed" in scenario.status.message


@pytest.mark.parametrize("strategy", ["BetweenGraphAsync", "BetweenGraphSync"])
@pytest.mark.parametrize("victim", ["chief-0", "ps-0", "worker-1"])
def test_between_graph_each_returns_alone(strategy, victim):
    scenario = running(job(Chief=1, PS=1, Worker=2, strategy=strategy))
    scenario.fail(victim, 137)
    scenario.settle()
    assert restarted(scenario) == {victim}


def test_in_graph_a_server_takes_the_client_with_it():
    scenario = running(job(Chief=1, Worker=2, strategy="InGraph"))
    scenario.fail("worker-1", 137)
    scenario.settle()
    assert restarted(scenario) == {"worker-1", "chief-0"}


def test_the_evaluator_returns_alone():
    scenario = running(job(Worker=2, Evaluator=1, strategy="AllReduce"))
    scenario.fail("evaluator-0", 137)
    scenario.settle()
    assert restarted(scenario) == {"evaluator-0"}


def test_a_vanished_replica_is_recreated_under_any_policy():
    scenario = running(ps_job(restart="Never"))
    del scenario.seen["worker-0"]
    scenario.settle()
    assert restarted(scenario) == {"worker-0"}
    assert scenario.status.first_failure.cause == "Vanished"


@pytest.mark.parametrize("cause", [Cause.EVICTED, Cause.PREEMPTED, Cause.NODE_LOST])
def test_disruptions_are_retried_under_never(cause):
    scenario = running(ps_job(restart="Never"))
    scenario.fail("worker-0", None, cause=cause)
    scenario.settle()
    assert restarted(scenario) == {"worker-0"}
    assert scenario.status.retries == 1


def test_out_of_memory_is_named():
    scenario = running(job(Worker=1, restart="Never"))
    scenario.fail("worker-0", 137, cause=Cause.OUT_OF_MEMORY)
    scenario.settle()
    assert scenario.status.phase == "Failed"
    assert "out of memory" in scenario.status.message
    assert scenario.status.first_failure.cause == "OOMKilled"


def test_a_terminating_replica_has_not_failed():
    scenario = running(ps_job(restart="Never"))
    scenario.see("worker-0", "Terminating", exit_code=143)
    scenario.step()
    assert scenario.status.phase == "Running"
    assert scenario.status.retries == 0
    assert scenario.last.actions == ()


@pytest.mark.parametrize(
    ("strategy", "cause", "consequence"),
    [
        ("ParameterServer", "ps-0", "worker-1"),
        ("BetweenGraphAsync", "ps-0", "worker-1"),
        ("InGraph", "worker-0", "chief-0"),
    ],
)
def test_a_late_consequence_under_exit_code_is_no_verdict(strategy, cause, consequence):
    scenario = running(job(Chief=1, PS=1, Worker=2, strategy=strategy, restart="ExitCode"))
    scenario.fail(cause, 137)
    scenario.settle()
    scenario.now += 3
    if consequence == "chief-0":
        scenario.see(consequence, started_at=1000.0)
    scenario.fail(consequence, 1)
    scenario.settle()
    scenario.settle(10)
    scenario.step()
    assert scenario.status.phase == "Running"
    assert scenario.status.retries == 1
    assert scenario.status.first_failure.replica == cause
    assert scenario.seen[consequence].state == "Running"


def test_an_error_long_after_a_peers_death_is_no_consequence():
    scenario = running(job(Chief=1, PS=1, Worker=2, strategy="BetweenGraphAsync", restart="ExitCode"))
    scenario.fail("ps-0", 137)
    scenario.settle()
    scenario.now += 300
    scenario.fail("worker-1", 1)
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == "Failed"


def test_an_error_that_lies_in_the_future_does_not_wait_for_it():
    scenario = running(ps_job(restart="ExitCode"))
    scenario.fail("chief-0", 1, ago=-5000.0)
    scenario.settle()
    assert scenario.status.phase == "Failed"


def test_a_consequence_that_is_seen_first_waits_for_its_cause():
    scenario = running(job(Worker=2, strategy="AllReduce", restart="ExitCode"))
    scenario.fail("worker-0", 1)
    decision = scenario.step()
    assert scenario.status.phase == "Running"
    assert decision.wake_at is not None
    scenario.fail("worker-1", 137, ago=1.0)
    scenario.settle(0.5)
    scenario.step(1)
    assert scenario.status.first_failure.replica == "worker-1"
    assert scenario.status.phase == "Running"


def test_an_error_of_a_restarted_replica_is_its_own():
    scenario = running(ps_job(restart="ExitCode"))
    scenario.fail("ps-0", 137)
    scenario.settle()
    scenario.now += 1
    scenario.see("chief-0", started_at=scenario.now)
    scenario.fail("chief-0", 1)
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == "Failed"
