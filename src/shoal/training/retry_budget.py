"""`backoffLimit`: one budget for in-place restarts, recreations and evictions alike, and the pause before each retry.

As in Kubeflow, no limit is set unless the user sets one.
"""

from __future__ import annotations

from shoal.training.job_state import JobState

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
HEALTHY_SECONDS = 600.0
"""A replica that ran this long before it failed is retried at once, as the kubelet does."""


def exhausted(state: JobState) -> bool:
    """Whether one retry more would exceed the limit."""
    limit = state.run_policy.backoff_limit
    return limit is not None and state.status.retries >= limit


def spend(state: JobState, ran_seconds: float | None) -> None:
    """Count one retry and set the time before which no replica is started again: at once the first time, then after
    1 s, 2 s, 4 s … up to five minutes."""
    state.status.retries += 1
    if state.status.retries == 1 or (ran_seconds is not None and ran_seconds >= HEALTHY_SECONDS):
        pause = 0.0
    else:
        doublings = min(state.status.retries - 2, 16)
        pause = min(FIRST_PAUSE_SECONDS * 2**doublings, LONGEST_PAUSE_SECONDS)
    state.status.retry_time = state.now + pause


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
