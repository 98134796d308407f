"""`ttlSecondsAfterFinished`: when a job that has ended is removed with all it left."""

from __future__ import annotations

from shoal.training.job_state import JobState


def expired(state: JobState) -> bool:
    """Whether the job's time to live is over; otherwise a timer for that moment."""
    ttl, ended = state.run_policy.ttl_seconds_after_finished, state.status.completion_time
    if ttl is None or ended is None:
        return False
    if ended + ttl > state.now:
        state.wake(ended + ttl)
        return False
    return True
