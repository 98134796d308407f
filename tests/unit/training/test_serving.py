"""`serve`: what is done about the model of a job that has succeeded, and when."""

from __future__ import annotations

import pytest

from shoal.resources.status import ConditionType
from shoal.training import Delete, DeleteJob, Serve
from shoal.training.conditions import set_condition
from tests.unit.training.scenario import Scenario, job

SERVE = {"basePath": "/train/model"}


def ended(state: str = "Succeeded", code: int = 0, **spec: object) -> Scenario:
    scenario = Scenario(job(Worker=1, restart="Never", **spec))
    scenario.obey()
    scenario.see("worker-0", state, exit_code=code)
    return scenario


def serves(scenario: Scenario) -> bool:
    return Serve() in scenario.step().actions


def test_a_model_is_served_once_its_job_has_succeeded():
    scenario = ended(serve=SERVE)
    assert serves(scenario)
    assert serves(scenario), "as long as nobody has said what came of it"
    assert scenario.status.phase == "Succeeded"


@pytest.mark.parametrize("holds", [True, False])
def test_it_is_served_once(holds):
    scenario = ended(serve=SERVE)
    scenario.step()
    set_condition(scenario.status, ConditionType.SERVED, holds, "Reason", "", scenario.now)
    assert not serves(scenario)


def test_a_model_that_failed_is_not_served():
    scenario = ended("Failed", 1, serve=SERVE)
    assert not serves(scenario)
    assert scenario.status.phase == "Failed"


def test_nothing_is_served_that_was_not_asked_for():
    assert not serves(ended())


def test_a_job_is_not_removed_before_its_model_is_served():
    scenario = ended(serve=SERVE, run_policy={"ttlSecondsAfterFinished": 0})
    actions = [action for action in scenario.step().actions if not isinstance(action, Delete)]
    assert actions == [Serve()]
    set_condition(scenario.status, ConditionType.SERVED, True, "Reason", "", scenario.now)
    assert DeleteJob() in scenario.step().actions
