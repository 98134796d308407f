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


def answer_stall(state: JobState) -> Ending | None:
    """Restart everything that trains or serves when the job has stalled; an ending where that is not allowed."""
    timeout = state.run_policy.stall_timeout_seconds
    trainers = [replica for replica in state.current.values() if _trains(state, replica)]
    if timeout is None or not trainers:
        return None
    reports = any(replica.progress for replica in trainers)
    slowest = min(trainers, key=lambda replica: _sign_of_life(replica, reports))
    latest = max(_sign_of_life(replica, reports) for replica in trainers)
    if state.status.progress and reports:
        latest = max(state.status.progress.time, max(replica.started_at or 0.0 for replica in trainers))
    if latest + timeout > state.now:
        state.wake(latest + timeout)
        return None
    failure = Failure(slowest.id, slowest.attempt, Cause.STALLED, state.now, slowest)
    scope = frozenset(replica for replica in state.wanted if replica.role is not Role.EVALUATOR)
    refusal = refuse_restart(state, failure, scope)
    if refusal is None:
        restart(state, failure, scope)
    return refusal


def _trains(state: JobState, replica: Replica) -> bool:
    return replica.state is ReplicaState.RUNNING and trains(state.strategy, replica.id.role)


def _sign_of_life(replica: Replica, reports: bool) -> float:
    """When the replica last showed that it gets on; its start counts as such."""
    said = replica.progress.time if replica.progress else None
    sign = said if reports else replica.activity_at
    return max(replica.started_at or 0.0, sign or 0.0)
