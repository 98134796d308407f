"""How a job ends: the verdict, and what it does to the status. A verdict is spoken once and never taken back."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.resources.status import ConditionType, Phase
from shoal.training.conditions import set_condition
from shoal.training.failure import Failure, report
from shoal.training.job_state import JobState


@dataclass(frozen=True, slots=True)
class Ending:
    """A verdict. `reason` is one CamelCase word for programs, `message` a sentence for people."""

    succeeded: bool
    reason: str
    message: str
    failure: Failure | None = None


def end(state: JobState, ending: Ending) -> None:
    """Write the verdict into the status."""
    status = state.status
    status.phase = Phase.SUCCEEDED if ending.succeeded else Phase.FAILED
    status.completion_time = state.now
    status.message = ending.message
    status.retry_time = status.waiting_time = None
    if ending.failure is not None:
        status.first_failure = report(ending.failure)
    for kind in (ConditionType.RUNNING, ConditionType.RESTARTING, ConditionType.SUSPENDED):
        if status.condition(kind):
            set_condition(status, kind, False, ending.reason, ending.message, state.now)
    kind = ConditionType.SUCCEEDED if ending.succeeded else ConditionType.FAILED
    set_condition(status, kind, True, ending.reason, ending.message, state.now)
