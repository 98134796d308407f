from __future__ import annotations

import pytest

from shoal.training import ReplicaId
from tests.unit.training.scenario import job, running


def test_the_chiefs_success_is_the_jobs():
    scenario = running(job(Chief=1, PS=1, Worker=2))
    scenario.complete("worker-0", "worker-1")
    scenario.settle()
    assert scenario.status.phase == "Running"
    scenario.complete("chief-0")
    scenario.settle()
    assert scenario.status.phase == "Succeeded"
    assert "ps-0" not in scenario.seen


def test_worker_0_decides_without_a_chief():
    scenario = running(job(PS=1, Worker=2))
    scenario.complete("worker-1")
    scenario.settle()
    assert scenario.status.phase == "Running"
    scenario.complete("worker-0")
    scenario.settle()
    assert scenario.status.phase == "Succeeded"


def test_all_workers():
    scenario = running(job(PS=1, Worker=3, successPolicy="AllWorkers"))
    scenario.complete("worker-0", "worker-1")
    scenario.settle()
    assert scenario.status.phase == "Running"
    scenario.complete("worker-2")
    scenario.settle()
    assert scenario.status.phase == "Succeeded"


def test_all_workers_and_the_chief():
    scenario = running(job(Chief=1, PS=1, Worker=1, successPolicy="AllWorkers", strategy="BetweenGraphAsync"))
    scenario.complete("worker-0")
    scenario.settle()
    assert scenario.status.phase == "Running"
    scenario.complete("chief-0")
    scenario.settle()
    assert scenario.status.phase == "Succeeded"


def test_all_workers_does_not_ask_workers_that_only_serve():
    scenario = running(job(Chief=1, PS=1, Worker=2, successPolicy="AllWorkers", strategy="ParameterServer"))
    scenario.complete("chief-0")
    scenario.settle()
    assert scenario.status.phase == "Succeeded"


def test_success_outweighs_failures_seen_in_the_same_look():
    scenario = running(job(Chief=1, PS=1, Worker=1, restart="Never"))
    scenario.complete("chief-0")
    scenario.fail("worker-0", 1)
    scenario.settle()
    assert scenario.status.phase == "Succeeded"


def test_all_reduce_peers_are_let_end_by_themselves():
    scenario = running(job(Worker=2, strategy="AllReduce"))
    scenario.complete("worker-0")
    decision = scenario.step()
    assert decision.actions == ()
    assert scenario.status.phase == "Running"
    assert "waiting for worker-1" in scenario.status.message
    scenario.complete("worker-1")
    scenario.step()
    assert scenario.status.phase == "Succeeded"


def test_all_reduce_peers_that_do_not_end_are_ended():
    scenario = running(job(Worker=2, strategy="AllReduce"))
    scenario.complete("worker-0")
    decision = scenario.step()
    scenario.settle(decision.wake_at - scenario.now)
    assert scenario.status.phase == "Succeeded"
    assert "worker-1" not in scenario.seen


def evaluated_job(**more):
    return running(job(Chief=1, PS=1, Worker=1, Evaluator=1, **more))


def test_success_waits_for_the_final_checkpoint_to_be_evaluated():
    scenario = evaluated_job()
    scenario.progress("chief-0", 100, checkpoint_step=90)
    scenario.progress("evaluator-0", 80, evaluated_step=80)
    scenario.complete("chief-0")
    scenario.settle()
    assert scenario.status.phase == "Running"
    assert "evaluation of step 90" in scenario.status.message
    assert "ps-0" not in scenario.seen, "what is not needed for the evaluation is freed at once"
    assert "evaluator-0" in scenario.seen
    scenario.progress("evaluator-0", 90, evaluated_step=90)
    scenario.settle()
    assert scenario.status.phase == "Succeeded"
    assert scenario.status.condition("Evaluated").status == "True"
    assert "evaluator-0" not in scenario.seen


def test_an_evaluator_that_ends_by_itself_is_done():
    scenario = evaluated_job()
    scenario.complete("chief-0", "evaluator-0")
    scenario.settle()
    assert scenario.status.phase == "Succeeded"


@pytest.mark.parametrize(("policy", "seconds"), [({}, 300), ({"evaluationTimeoutSeconds": 7}, 7)])
def test_the_wait_for_the_evaluator_is_bounded(policy, seconds):
    scenario = evaluated_job(run_policy=policy)
    scenario.progress("chief-0", 100)
    scenario.complete("chief-0")
    scenario.settle()
    assert scenario.step().wake_at == scenario.now + seconds
    scenario.settle(seconds)
    assert scenario.status.phase == "Succeeded"
    assert scenario.status.condition("Evaluated").status == "False"
    assert "evaluator-0" not in scenario.seen


def test_a_deadline_ends_the_wait_and_not_the_job():
    scenario = evaluated_job(run_policy={"activeDeadlineSeconds": 50})
    scenario.now += 40
    scenario.complete("chief-0")
    scenario.settle()
    scenario.settle(10)
    assert scenario.status.phase == "Succeeded"


def test_an_evaluator_that_fails_while_awaited_is_restarted_or_given_up():
    scenario = evaluated_job(restart_by_role={"Evaluator": "OnFailure"}, run_policy={"backoffLimit": 1})
    scenario.complete("chief-0")
    scenario.settle()
    scenario.fail("evaluator-0", 137)
    scenario.settle()
    assert scenario.seen["evaluator-0"].attempt == 1
    scenario.fail("evaluator-0", 137)
    scenario.settle()
    assert scenario.status.phase == "Succeeded"
    assert scenario.status.condition("Evaluated").status == "False"


def test_completed_replicas_are_never_created_again():
    scenario = running(job(Chief=1, PS=1, Worker=2, strategy="BetweenGraphAsync"))
    scenario.complete("worker-1")
    scenario.step()
    del scenario.seen["worker-1"]
    decision = scenario.step()
    assert ReplicaId.parse("worker-1") not in [action.id for action in decision.actions]
