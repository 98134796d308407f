"""`stallTimeoutSeconds`: a job that runs without getting anywhere.

Some failures are silent: no workers left, a lone all-reduce worker, a synchronous step with a worker missing. The
sign of life is a training step where steps are reported at all, else a line in a log.
"""

from __future__ import annotations

from shoal.resources.roles import Role
from shoal.training.duties import trains
from shoal.training.ending import Ending
from shoal.training.failure import Failure
from shoal.training.failure_policy import refuse_restart, restart
from shoal.training.job_state import JobState
from shoal.training.replica import Cause, Replica, ReplicaState
from shoal.training.startup import waiting_since


def answer_stall(state: JobState) -> Ending | None:
    """Restart everything that trains or serves when the job has stalled; an ending where that is not allowed."""
    timeout = state.run_policy.stall_timeout_seconds
    trainers = [replica for replica in state.current.values() if _trains(state, replica)]
    if timeout is None or not trainers or state.gated:
        return None
    due = _last_sign_of_life(state, trainers) + timeout
    if due > state.now:
        state.wake(due)
        return None
    slowest = min(trainers, key=lambda replica: replica.progress.step if replica.progress else -1)
    failure = Failure(slowest.id, slowest.attempt, Cause.STALLED, state.now, slowest)
    scope = frozenset(replica for replica in state.wanted if replica.role is not Role.EVALUATOR)
    refusal = refuse_restart(state, failure, scope)
    if refusal is None:
        restart(state, failure, scope)
    return refusal


def _trains(state: JobState, replica: Replica) -> bool:
    return replica.state is ReplicaState.RUNNING and trains(state.strategy, replica.id.role)


def _last_sign_of_life(state: JobState, trainers: list[Replica]) -> float:
    """When training last got on. The start of a replica counts, and the moment from which one was waited for; a step
    that is reported again does not."""
    started = max(waiting_since(state) or 0.0, *(replica.started_at or 0.0 for replica in trainers))
    if state.status.progress and any(replica.progress for replica in trainers):
        return max(started, state.status.progress.time)
    return max(started, *(replica.activity_at or 0.0 for replica in trainers))
