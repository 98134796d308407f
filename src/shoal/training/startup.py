"""Waiting for replicas: who is missing, and `startupTimeoutSeconds`.

A replica is up when it runs and its port answers (where the backend can tell). TensorFlow itself waits for its peers
without saying for whom; the status does. Its time in a queue is not its own.
"""

from __future__ import annotations

from shoal.training.ending import Ending
from shoal.training.job_state import JobState
from shoal.training.replica import ReplicaId, ReplicaState

NAMED = 3
"""How many missing replicas a message names."""


def await_startup(state: JobState) -> Ending | None:
    """Note since when the job has waited for replicas; an ending where that takes longer than allowed."""
    since = state.status.waiting_time = waiting_since(state)
    timeout = state.run_policy.startup_timeout_seconds
    if since is None or timeout is None:
        return None
    if since + timeout > state.now:
        state.wake(since + timeout)
        return None
    return Ending(False, "StartupTimeout", f"after {timeout} s still {waiting_message(state, waiting_for(state))}")


def waiting_since(state: JobState) -> float | None:
    """Since when replicas are missing; None while a queue keeps one of them."""
    if state.gated or not waiting_for(state):
        return None
    return state.status.waiting_time or state.now


def waiting_for(state: JobState) -> list[ReplicaId]:
    """Unfinished replicas that do not run, or whose port does not answer yet."""
    return [id for id in state.unfinished if not state.running(id) or state.current[id].serving is False]


def waiting_message(state: JobState, missing: list[ReplicaId]) -> str:
    """`waiting for worker-1 (ImagePullBackOff), worker-2 and 7 more`."""
    named = [f"{id}{_why(state, id)}" for id in missing[:NAMED]]
    rest = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"waiting for {', '.join(named)}{rest}"


def _why(state: JobState, id: ReplicaId) -> str:
    replica = state.current.get(id)
    if replica is None:
        return ""
    if replica.state is ReplicaState.RUNNING:
        return " (its port does not answer)"
    return f" ({replica.message})" if replica.message else ""
