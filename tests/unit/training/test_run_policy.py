"""Deadline, TTL, suspension, start-up and stall timeouts, clean-up; and scaling."""

from __future__ import annotations

import pytest

from shoal.training import DeleteJob
from tests.unit.training.scenario import Scenario, job, running


def test_a_deadline_fires_by_its_own_timer():
    scenario = running(job(Worker=1, run_policy={"activeDeadlineSeconds": 60}))
    assert scenario.step(10).wake_at == 1060
    scenario.settle(50)
    assert scenario.status.phase == "Failed"
    assert scenario.status.conditions[-1].reason == "DeadlineExceeded"
    assert scenario.seen == {}


def test_the_ttl_fires_by_its_own_timer():
    scenario = running(job(Worker=1, run_policy={"ttlSecondsAfterFinished": 30}))
    scenario.complete("worker-0")
    decision = scenario.settle()
    assert decision.wake_at == scenario.now + 30
    assert DeleteJob() not in scenario.step(29.9).actions
    assert DeleteJob() in scenario.step(0.1).actions


def test_suspension_ends_replicas_without_a_failure_and_resumption_starts_them():
    scenario = running(job(Worker=2, strategy="AllReduce", run_policy={"suspend": False, "activeDeadlineSeconds": 60}))
    scenario.now += 50
    scenario.job.spec.run_policy.suspend = True
    decision = scenario.settle()
    assert scenario.status.phase == "Suspended"
    assert scenario.seen == {}
    assert not decision.keep_addresses
    assert scenario.status.start_time is None
    scenario.job.spec.run_policy.suspend = False
    scenario.settle(1000)
    scenario.step()
    assert scenario.status.phase == "Running"
    assert scenario.status.retries == 0
    assert scenario.status.condition("Suspended").status == "False"
    assert scenario.status.start_time == scenario.now


def test_a_job_that_starts_suspended_creates_nothing():
    scenario = Scenario(job(Worker=2, run_policy={"suspend": True}))
    assert scenario.step().actions == ()
    assert scenario.status.phase == "Suspended"


def test_a_suspended_job_has_no_deadline():
    limits = {"suspend": True, "activeDeadlineSeconds": 60, "startupTimeoutSeconds": 60, "stallTimeoutSeconds": 60}
    scenario = Scenario(job(Worker=2, run_policy=limits))
    for _ in range(3):
        assert scenario.step(1000).wake_at is None
    assert scenario.status.phase == "Suspended"


def test_a_death_while_suspending_is_no_failure():
    scenario = running(job(Worker=1, restart="Never"))
    scenario.job.spec.run_policy.suspend = True
    scenario.step()
    scenario.fail("worker-0", 143)
    scenario.step()
    scenario.job.spec.run_policy.suspend = False
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == "Running"


def test_start_up_timeout_names_who_is_missing():
    scenario = Scenario(job(Chief=1, PS=1, Worker=1, run_policy={"startupTimeoutSeconds": 20}))
    scenario.obey()
    scenario.see("worker-0", "Pending", message="ImagePullBackOff")
    scenario.step()
    assert scenario.status.message == "waiting for worker-0 (ImagePullBackOff)"
    assert scenario.last.wake_at == 1020
    scenario.settle(20)
    assert scenario.status.phase == "Failed"
    assert scenario.status.conditions[-1].reason == "StartupTimeout"
    assert "worker-0 (ImagePullBackOff)" in scenario.status.message


def test_no_limit_runs_while_a_replica_waits_in_a_queue():
    scenario = running(job(Worker=2, run_policy={"startupTimeoutSeconds": 20, "stallTimeoutSeconds": 20}))
    scenario.see("worker-1", "Pending", gated=True)
    for _ in range(3):
        assert scenario.settle(30).wake_at is None
    scenario.see("worker-1", "Pending", gated=False)
    assert scenario.settle(30).wake_at == scenario.now + 20
    assert (scenario.status.phase, scenario.status.retries) == ("Running", 0)


def test_a_port_that_does_not_answer_is_named():
    scenario = Scenario(job(Chief=1, PS=1, Worker=1, run_policy={"startupTimeoutSeconds": 20}))
    scenario.obey()
    scenario.see("ps-0", serving=False)
    scenario.step()
    assert scenario.status.message == "waiting for ps-0 (its port does not answer)"
    scenario.see("ps-0", serving=True)
    scenario.step(19)
    scenario.step(100)
    assert scenario.status.phase == "Running"


def test_many_missing_replicas_are_counted():
    scenario = Scenario(job(Worker=10, strategy="AllReduce"))
    scenario.step()
    assert scenario.status.message == "waiting for worker-0, worker-1, worker-2 and 7 more"


def test_start_up_counts_from_when_replicas_went_missing():
    scenario = running(job(Chief=1, PS=1, Worker=1, run_policy={"startupTimeoutSeconds": 20}))
    scenario.now += 500
    scenario.fail("worker-0", 137)
    scenario.step()
    scenario.step(19)
    assert scenario.status.phase == "Restarting"


def test_a_stall_restarts_everything_that_trains_or_serves():
    scenario = running(job(Chief=1, PS=1, Worker=1, Evaluator=1, run_policy={"stallTimeoutSeconds": 60}))
    scenario.progress("chief-0", 5)
    assert scenario.step().wake_at == scenario.now + 60
    scenario.now += 30
    scenario.see("chief-0", activity_at=scenario.now)
    scenario.settle(30)
    assert set(scenario.status.attempts) == {"chief-0", "ps-0", "worker-0"}
    assert scenario.status.first_failure.cause == "Stalled"
    assert scenario.status.first_failure.replica == "chief-0"
    assert scenario.status.retries == 1


def test_a_stall_is_laid_on_the_replica_that_is_furthest_behind():
    scenario = running(job(Worker=3, strategy="AllReduce", run_policy={"stallTimeoutSeconds": 60}))
    for index, step in enumerate((9, 7, 9)):
        scenario.progress(f"worker-{index}", step)
    scenario.settle(60)
    assert scenario.status.first_failure.replica == "worker-1"


def test_a_stall_spares_what_has_completed():
    scenario = running(job(PS=1, Worker=2, run_policy={"stallTimeoutSeconds": 60}))
    scenario.complete("worker-1")
    scenario.settle(60)
    assert set(scenario.status.attempts) == {"ps-0", "worker-0"}


def test_steps_keep_a_stall_away_and_log_lines_do_where_no_steps_are_reported():
    scenario = running(job(Worker=1, run_policy={"stallTimeoutSeconds": 60}))
    for minute in range(1, 4):
        scenario.now += 50
        scenario.see("worker-0", activity_at=scenario.now)
        scenario.step()
        assert scenario.status.phase == "Running", minute
    for step in range(3):
        scenario.progress("worker-0", step)
        scenario.step()
        scenario.now += 50
    assert scenario.status.retries == 0


def test_repeating_the_same_step_is_a_stall():
    scenario = running(job(Worker=1, run_policy={"stallTimeoutSeconds": 60}, restart="Never"))
    for _ in range(3):
        scenario.progress("worker-0", 7)
        scenario.step()
        scenario.now += 25
    scenario.progress("worker-0", 7)
    scenario.settle()
    assert scenario.status.phase == "Failed"
    assert scenario.status.conditions[-1].reason == "Stalled"


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        (None, {"worker-0", "worker-1"}),
        ("Running", {"worker-0", "worker-1"}),
        ("All", set()),
        ("None", {"ps-0", "worker-0", "worker-1"}),
    ],
)
def test_clean_up(policy, left):
    run_policy = {} if policy is None else {"cleanPodPolicy": policy}
    scenario = running(job(PS=1, Worker=2, restart="Never", run_policy=run_policy))
    scenario.complete("worker-1")
    scenario.fail("worker-0", 1)
    scenario.settle()
    decision = scenario.settle(10)
    assert scenario.status.phase == "Failed"
    assert set(scenario.seen) == left
    assert decision.keep_addresses == (policy == "None")


def test_scaling_a_dense_job_restarts_those_who_must_learn_of_it():
    scenario = running(job(Worker=2, strategy="AllReduce"))
    scenario.job.spec.tf_replica_specs["Worker"].replicas = 3
    scenario.settle()
    scenario.step()
    assert {name: seen.attempt for name, seen in scenario.seen.items()} == {"worker-0": 1, "worker-1": 1, "worker-2": 0}
    assert len({seen.shape for seen in scenario.seen.values()}) == 1
    assert scenario.status.retries == 0
    assert scenario.status.phase == "Running"


def test_scaling_a_sparse_job_leaves_everybody_alone():
    scenario = running(job(PS=1, Worker=2, enableDynamicWorker=True))
    scenario.job.spec.tf_replica_specs["Worker"].replicas = 4
    scenario.settle()
    assert set(scenario.seen) == {"ps-0", "worker-0", "worker-1", "worker-2", "worker-3"}
    assert scenario.status.attempts == {}


def test_scaling_down_and_up_again():
    scenario = running(job(PS=1, Worker=3, enableDynamicWorker=True, restart="Never"))
    scenario.job.spec.tf_replica_specs["Worker"].replicas = 1
    scenario.settle()
    assert set(scenario.seen) == {"ps-0", "worker-0"}
    scenario.job.spec.tf_replica_specs["Worker"].replicas = 3
    scenario.settle()
    assert set(scenario.seen) == {"ps-0", "worker-0", "worker-1", "worker-2"}
    assert scenario.status.retries == 0
    assert scenario.status.phase == "Running"
