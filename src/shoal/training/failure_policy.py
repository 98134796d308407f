"""What a failure leads to: nothing, a restart of all that depends on the replica, or the end of the job."""

from __future__ import annotations

from shoal.resources.roles import Role
from shoal.training.duties import leader, trains
from shoal.training.ending import Ending
from shoal.training.failure import Failure, describe, failures, is_consequence, report, settled_at
from shoal.training.job_state import JobState
from shoal.training.recovery import restarted_with
from shoal.training.replica import ReplicaId, ReplicaState
from shoal.training.restart_policy import retryable
from shoal.training.retry_budget import count_in_place_restarts, exhausted, spend


def answer_failures(state: JobState) -> Ending | None:
    """Retire what must be started again. An ending where that is not allowed."""
    if count_in_place_restarts(state) and _overspent(state):
        return Ending(False, "BackoffLimitExceeded", f"restarted in place {_times(state.status.retries)}")
    answered: set[ReplicaId] = set()
    for failure in failures(state):
        if failure.id in answered:
            continue
        scope = restarted_with(state, failure.id)
        if is_consequence(state, failure):
            state.retire(scope)
        elif _tolerated(state, failure):
            continue
        elif refusal := refuse_restart(state, failure, scope):
            if (due := settled_at(state, failure)) > state.now:
                state.wake(due)
                return None
            return refusal
        else:
            restart(state, failure, scope)
        answered |= scope
    return _incomplete_group(state)


def refuse_restart(state: JobState, failure: Failure, scope: frozenset[ReplicaId]) -> Ending | None:
    """Why the failure ends the job, or None where it may be answered by a restart of `scope`."""
    policy = state.specs[failure.id.role].restarts
    what = describe(failure)
    if not retryable(policy, failure):
        reason = "Stalled" if failure.replica is None or failure.exit_code is None else "ReplicaFailed"
        return Ending(False, reason, f"{what}; its restartPolicy is {policy.value}", failure)
    if failure.id in state.group and (done := sorted(scope & state.completed)):
        told = f"{what} after {done[0]} had completed; an all-reduce group restarts as a whole or not at all"
        return Ending(False, "GroupIncomplete", told, failure)
    if exhausted(state):
        told = f"{what} after {_times(state.status.retries)}; backoffLimit is {state.run_policy.backoff_limit}"
        return Ending(False, "BackoffLimitExceeded", told, failure)
    return None


def restart(state: JobState, failure: Failure, scope: frozenset[ReplicaId]) -> None:
    """Spend one retry and retire `scope`."""
    spend(state, failure)
    state.status.first_failure = report(failure)
    state.restarting = True
    state.retire(scope)


def _incomplete_group(state: JobState) -> Ending | None:
    """The end of an all-reduce job whose group lacks a member that can no longer join it."""
    there = {replica.id for replica in state.observed.replicas} - state.completed
    done, missing = sorted(state.group & state.completed), sorted(state.group - state.completed)
    if not done or not missing or there & state.group:
        return None
    told = f"{missing[0]} cannot start after {done[0]} has completed; an all-reduce group starts as a whole"
    return Ending(False, "GroupIncomplete", told)


def _tolerated(state: JobState, failure: Failure) -> bool:
    """With `enableDynamicWorker` workers may come and go: a worker's final failure is not the job's, as long as
    somebody who trains is left."""
    if not state.job.spec.enable_dynamic_worker or failure.id.role is not Role.WORKER:
        return False
    if failure.id == leader(state.job) or retryable(state.specs[Role.WORKER].restarts, failure):
        return False
    alive = (ReplicaState.PENDING, ReplicaState.RUNNING)
    return any(replica.state in alive and trains(state.strategy, id.role) for id, replica in state.current.items())


def _overspent(state: JobState) -> bool:
    limit = state.run_policy.backoff_limit
    return limit is not None and state.status.retries > limit


def _times(retries: int) -> str:
    return "1 retry" if retries == 1 else f"{retries} retries"
