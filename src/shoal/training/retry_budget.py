"""`backoffLimit`: one budget for in-place restarts, recreations and evictions alike, and the pause before each retry.

As in Kubeflow, no limit is set unless the user sets one. Each failure costs one retry, but the pause grows once for
all that fail together: a node that is lost takes many replicas with it, and none of them is to blame.
"""

from __future__ import annotations

from shoal.training.failure import Failure
from shoal.training.job_state import JobState
from shoal.training.replica import Cause

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
HEALTHY_SECONDS = 600.0
"""A replica that ran this long before it failed is retried at once, as the kubelet does, and pauses are short again."""

TOGETHER_SECONDS = 10.0
"""How long after a restart the failure of a replica that ran before it counts as one with those that it answered."""


def exhausted(state: JobState) -> bool:
    """Whether one retry more would exceed the limit."""
    limit = state.run_policy.backoff_limit
    return limit is not None and state.status.retries >= limit


def spend(state: JobState, failure: Failure) -> None:
    """Count one retry and set the time before which no replica is started again: at once the first time, then after
    1 s, 2 s, 4 s … up to five minutes."""
    status = state.status
    status.retries += 1
    if _answered_together(state, failure):
        return
    began = _began(failure)
    healthy = began is not None and failure.time - began >= HEALTHY_SECONDS
    status.pauses = 1 if healthy else status.pauses + 1
    doublings = min(status.pauses - 2, 16)
    pause = 0.0 if status.pauses < 2 else min(FIRST_PAUSE_SECONDS * 2**doublings, LONGEST_PAUSE_SECONDS)
    status.retry_time = state.now + pause


def _answered_together(state: JobState, failure: Failure) -> bool:
    """Whether the last retry is still to come, or came a moment ago and was none of this replica: then it starts with
    the others. One that was started by that retry and fails again fails by itself."""
    due, began = state.status.retry_time, _began(failure)
    if due is None or (began is not None and began >= due):
        return False
    if pause_left(state) or due == state.now:
        return True
    ran_before = began is not None or failure.cause is Cause.VANISHED
    return ran_before and 0.0 <= state.now - due < TOGETHER_SECONDS


def _began(failure: Failure) -> float | None:
    return failure.replica.started_at if failure.replica else None


def pause_left(state: JobState) -> float:
    """Seconds until a restarted replica may start. Bounded by the longest pause even when the clock steps back."""
    due = state.status.retry_time
    left = 0.0 if due is None else due - state.now
    return left if 0.0 < left <= LONGEST_PAUSE_SECONDS else 0.0


def count_in_place_restarts(state: JobState) -> int:
    """Count the restarts that a kubelet made on its own since the last pass, and answer how many there were."""
    before = state.status.in_place_restarts
    counted = {str(id): r.in_place_restarts for id, r in state.current.items() if r.in_place_restarts}
    new = sum(max(0, n - before.get(name, 0)) for name, n in counted.items())
    state.status.in_place_restarts = counted
    state.status.retries += new
    return new
