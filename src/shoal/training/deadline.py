"""`activeDeadlineSeconds`: how long a job may be active, from its start. Suspending a job starts the count anew."""

from __future__ import annotations

from shoal.training.ending import Ending
from shoal.training.job_state import JobState


def exceed_deadline(state: JobState) -> Ending | None:
    """An ending where the job has been active for too long; otherwise a timer for that moment."""
    limit = state.run_policy.active_deadline_seconds
    if limit is None or state.status.start_time is None:
        return None
    due = state.status.start_time + limit
    if due > state.now:
        state.wake(due)
        return None
    return Ending(False, "DeadlineExceeded", f"the job was active for longer than {limit} s")
