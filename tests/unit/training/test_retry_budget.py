from __future__ import annotations

from shoal.training import Cause
from tests.unit.training.scenario import job, running


def crash(scenario, name="worker-0", exit_code=137):
    scenario.fail(name, exit_code)
    scenario.settle()
    scenario.settle(400)


def test_the_limit_is_the_number_of_retries():
    scenario = running(job(Worker=1, run_policy={"backoffLimit": 2}))
    crash(scenario)
    crash(scenario)
    assert scenario.status.phase == "Running"
    crash(scenario)
    assert scenario.status.phase == "Failed"
    assert scenario.status.retries == 2
    assert scenario.status.conditions[-1].reason == "BackoffLimitExceeded"
    assert "2 retries" in scenario.status.message


def test_zero_means_no_retry():
    scenario = running(job(Worker=1, run_policy={"backoffLimit": 0}))
    crash(scenario)
    assert scenario.status.phase == "Failed"
    assert scenario.status.retries == 0


def test_without_a_limit_it_goes_on():
    scenario = running(job(Worker=1))
    for _ in range(20):
        crash(scenario)
    assert scenario.status.phase == "Running"
    assert scenario.status.retries == 20


def test_disruptions_count_too():
    scenario = running(job(Worker=1, run_policy={"backoffLimit": 1}))
    crash(scenario)
    del scenario.seen["worker-0"]
    scenario.settle()
    assert scenario.status.phase == "Failed"


def test_in_place_restarts_count_too_and_once():
    scenario = running(job(Worker=1, run_policy={"backoffLimit": 2}))
    scenario.see("worker-0", in_place_restarts=2)
    scenario.step()
    scenario.step()
    assert scenario.status.retries == 2
    assert scenario.status.phase == "Running"
    scenario.see("worker-0", in_place_restarts=3)
    scenario.step()
    assert scenario.status.phase == "Failed"


def test_in_place_restarts_of_a_new_attempt_start_from_zero():
    scenario = running(job(Worker=1))
    scenario.see("worker-0", in_place_restarts=2)
    scenario.step()
    crash(scenario)
    scenario.see("worker-0", in_place_restarts=1)
    scenario.step()
    assert scenario.status.retries == 4


def test_the_first_retry_is_at_once_and_later_ones_pause_ever_longer():
    scenario = running(job(Worker=1))
    pauses = []
    for _ in range(5):
        scenario.fail("worker-0", 137)
        scenario.obey()
        scenario.seen.clear()
        decision = scenario.step()
        pauses.append(0.0 if decision.actions else decision.wake_at - scenario.now)
        scenario.settle(pauses[-1])
        assert "worker-0" in scenario.seen
    assert pauses == [0, 1, 2, 4, 8]


def lose(scenario, *names):
    """Their pods are gone, as when somebody deletes them or a node is lost."""
    for name in names:
        del scenario.seen[name]


def test_replicas_that_are_lost_together_wait_as_one():
    scenario = running(job(Worker=40, strategy="Independent"))
    crash(scenario)
    lose(scenario, *(f"worker-{n}" for n in range(1, 20)))
    pause = scenario.step().wake_at - scenario.now
    assert pause == 1.0
    scenario.now += 0.5
    lose(scenario, *(f"worker-{n}" for n in range(20, 30)))
    scenario.step()
    scenario.settle(0.5)
    # The news of some comes when the others run again; they wait for nobody.
    scenario.now += 2
    lose(scenario, *(f"worker-{n}" for n in range(30, 35)))
    scenario.fail("worker-35", cause=Cause.EVICTED, started_at=scenario.now - 100)
    scenario.settle()
    assert len(scenario.seen) == 40
    assert scenario.status.retries == 1 + 19 + 10 + 6


def test_a_replica_that_fails_again_after_its_restart_fails_by_itself():
    scenario = running(job(Worker=2, strategy="Independent"))
    crash(scenario)
    scenario.fail("worker-0", 137)
    scenario.settle()
    scenario.settle(1)
    scenario.now += 0.5
    scenario.fail("worker-0", 137)
    scenario.settle()
    assert scenario.status.retry_time == scenario.now + 2


def test_a_pod_that_no_node_takes_is_tried_ever_more_slowly():
    scenario = running(job(Worker=1))
    for pause in (0, 1, 2, 4):
        scenario.fail("worker-0", None, Cause.EVICTED, started_at=None)
        scenario.settle()
        assert scenario.status.retry_time == scenario.now + pause
        scenario.settle(pause)
        scenario.now += 0.1


def test_what_is_lost_later_is_lost_for_another_reason():
    scenario = running(job(Worker=2, strategy="Independent"))
    crash(scenario)
    lose(scenario, "worker-0")
    scenario.settle()
    scenario.settle(1)
    scenario.now += 10
    lose(scenario, "worker-1")
    scenario.settle()
    assert scenario.status.retry_time == scenario.now + 2


def test_pauses_are_short_again_after_a_replica_ran_for_long():
    scenario = running(job(Worker=1))
    for _ in range(5):
        crash(scenario)
    scenario.now += 700
    scenario.fail("worker-0", 137)
    scenario.settle()
    scenario.now += 1
    scenario.fail("worker-0", 137)
    scenario.settle()
    assert scenario.status.retry_time == scenario.now + 1


def test_a_replica_that_ran_for_long_is_retried_at_once():
    scenario = running(job(Worker=1))
    crash(scenario)
    crash(scenario)
    scenario.now += 700
    scenario.fail("worker-0", 137)
    scenario.settle()
    assert scenario.seen["worker-0"].state == "Running"


def test_a_clock_that_steps_back_does_not_hold_a_retry_for_ever():
    scenario = running(job(Worker=1))
    crash(scenario)
    scenario.fail("worker-0", 137)
    scenario.obey()
    scenario.settle(-100000)
    assert scenario.seen["worker-0"].attempt == 2
