"""`suspend`: every replica that has not completed is ended, and started again from its checkpoint on resumption."""

from __future__ import annotations

from shoal.resources.status import ConditionType, Phase
from shoal.training.conditions import set_condition
from shoal.training.job_state import JobState


def suspend(state: JobState) -> None:
    """Retire what runs. The start time goes with it, so that deadlines count active time only."""
    status = state.status
    state.retire([replica for replica in state.wanted if replica in state.started])
    status.start_time = status.waiting_time = status.retry_time = None
    status.phase = Phase.SUSPENDED
    status.message = "suspended"
    for kind in (ConditionType.RUNNING, ConditionType.RESTARTING):
        if status.condition(kind):
            set_condition(status, kind, False, "TFJobSuspended", "the job is suspended", state.now)
    set_condition(status, ConditionType.SUSPENDED, True, "TFJobSuspended", "the job is suspended", state.now)


def resume(state: JobState) -> None:
    """Take note that the job is no longer suspended."""
    if state.status.phase is Phase.SUSPENDED:
        state.status.phase = Phase.PENDING
        set_condition(state.status, ConditionType.SUSPENDED, False, "TFJobResumed", "the job goes on", state.now)
