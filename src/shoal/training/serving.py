"""`serve`: the model of a job that has succeeded is served, once.

What serves is not the job's own: it outlives the job, and may be edited, stopped and deleted by whoever uses it. So it
is begun once, and not seen to again: a server that somebody has deleted stays deleted.
"""

from __future__ import annotations

from shoal.resources.status import ConditionType, Phase
from shoal.training.job_state import JobState


def to_be_served(state: JobState) -> bool:
    """Whether nothing has been done yet about a model that is to be served."""
    status = state.status
    succeeded = status.phase is Phase.SUCCEEDED
    return state.job.spec.serve is not None and succeeded and status.condition(ConditionType.SERVED) is None
