"""The status of a job whose manifest the schema let through and the rules do not."""

from __future__ import annotations

from shoal.resources import JobStatus
from shoal.resources.status import Condition, ConditionType, Phase

REASON = "TFJobFailedValidation"


def refused(before: JobStatus, message: str, now: float) -> JobStatus:
    """The job has failed before it began."""
    failed = Condition(
        type=ConditionType.FAILED,
        status="True",
        reason=REASON,
        message=message,
        last_update_time=now,
        last_transition_time=now,
    )
    others = [condition for condition in before.conditions if condition.type is not ConditionType.FAILED]
    update = {"phase": Phase.FAILED, "message": message, "completion_time": now, "conditions": [*others, failed]}
    return before.model_copy(update=update)
