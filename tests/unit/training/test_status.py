"""What the status tells: first failure, conditions, counts, progress."""

from __future__ import annotations

from shoal.training import Observed, decide
from tests.unit.training.scenario import Scenario, job, running


def test_the_first_failure_is_named_with_its_end_and_its_last_words():
    scenario = running(job(Chief=1, PS=1, Worker=2, restart="Never"))
    scenario.fail("chief-0", 1, log_tail=("UnavailableError",))
    scenario.fail("worker-1", 139, ago=1.0, log_tail=("Fatal Python error",))
    scenario.settle()
    first = scenario.status.first_failure
    assert (first.replica, first.exit_code, first.signal) == ("worker-1", 139, "SIGSEGV")
    assert first.log_tail == ["Fatal Python error"]
    assert scenario.status.message.startswith("worker-1 was killed by SIGSEGV")


def test_exactly_one_verdict():
    scenario = running(job(Worker=1, restart="Never"))
    scenario.fail("worker-0", 1)
    scenario.settle()
    scenario.complete("worker-0")
    scenario.settle()
    held = {c.type.value for c in scenario.status.conditions if c.status == "True"}
    assert held == {"Created", "Failed"}
    assert scenario.status.completion_time is not None


def test_the_condition_that_became_true_last_stands_last():
    scenario = running(job(Worker=2, strategy="AllReduce"))
    assert scenario.status.conditions[-1].type == "Running"
    scenario.fail("worker-0", 137)
    scenario.step()
    assert scenario.status.conditions[-1].type == "Restarting"
    scenario.settle()
    scenario.step()
    assert scenario.status.conditions[-1].type == "Running"
    assert scenario.status.condition("Restarting").status == "False"


def test_counts_by_replica_type():
    scenario = running(job(Master=1, PS=1, Worker=3, strategy="BetweenGraphAsync"))
    scenario.complete("worker-2")
    scenario.step()
    counts = {kind.value: (c.active, c.succeeded, c.failed) for kind, c in scenario.status.replica_statuses.items()}
    assert counts == {"Master": (1, 0, 0), "PS": (1, 0, 0), "Worker": (2, 1, 0)}


def test_progress_is_the_furthest_step_and_its_rate():
    scenario = running(job(Chief=1, PS=1, Worker=1))
    scenario.progress("chief-0", 10, loss=0.5)
    scenario.step()
    scenario.now += 2
    scenario.progress("chief-0", 30, loss=0.25)
    scenario.step()
    progress = scenario.status.progress
    assert (progress.step, progress.loss, progress.steps_per_second) == (30, 0.25, 10.0)


def test_the_evaluators_step_is_not_the_jobs():
    scenario = running(job(Chief=1, Worker=1, Evaluator=1))
    scenario.progress("evaluator-0", 90)
    scenario.progress("chief-0", 10)
    scenario.step()
    assert scenario.status.progress.step == 10


def test_metrics_are_the_trainers_and_the_evaluators_and_may_come_late():
    scenario = running(job(Chief=1, Worker=1, Evaluator=1))
    scenario.progress("chief-0", 10)
    scenario.progress("evaluator-0", 5, metrics=(("accuracy", 0.8),))
    scenario.step()
    assert scenario.status.progress.metrics == {"accuracy": 0.8}
    before = scenario.status.progress
    scenario.progress("chief-0", 10, metrics=(("accuracy", 0.9), ("recall", 0.7)))
    scenario.step()
    assert scenario.status.progress.metrics == {"accuracy": 0.9, "recall": 0.7}
    assert before.metrics == {"accuracy": 0.8}


def test_progress_goes_back_with_a_restart_from_a_checkpoint():
    scenario = running(job(Worker=1))
    scenario.progress("worker-0", 30)
    scenario.step()
    scenario.fail("worker-0", 137)
    scenario.settle(2)
    scenario.see("worker-0", progress=None)
    scenario.progress("worker-0", 20)
    scenario.step()
    assert scenario.status.progress.step == 20
    assert scenario.status.progress.steps_per_second is None


def test_the_job_that_is_given_is_not_changed():
    a_job = job(Chief=1, PS=1, Worker=2)
    before = a_job.model_dump_json()
    decide(a_job, Observed(), 1000.0)
    assert a_job.model_dump_json() == before


def test_a_new_job_waits_for_everybody():
    scenario = Scenario(job(Chief=1, Worker=1))
    scenario.step()
    assert scenario.status.phase == "Pending"
    assert scenario.status.message == "waiting for chief-0, worker-0"
    assert scenario.actions("Create") == ["chief-0", "worker-0"]
