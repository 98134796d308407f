"""Conditions as Kubernetes users read them: the one that became true last stands last."""

from __future__ import annotations

from shoal.resources.status import Condition, ConditionType, JobStatus


def set_condition(status: JobStatus, kind: ConditionType, holds: bool, reason: str, message: str, now: float) -> None:
    """State whether `kind` holds. Nothing is touched, no time either, where that was known already."""
    before = status.condition(kind)
    value = "True" if holds else "False"
    if before and (before.status, before.reason, before.message) == (value, reason, message):
        return
    turned = before is None or before.status != value
    after = Condition(
        type=kind,
        status="True" if holds else "False",
        reason=reason,
        message=message,
        last_update_time=now,
        last_transition_time=now if turned or before is None else before.last_transition_time,
    )
    others = [condition for condition in status.conditions if condition.type is not kind]
    if (turned and holds) or before is None:
        status.conditions = [*others, after]
    else:
        status.conditions = [after if c.type is kind else c for c in status.conditions]
