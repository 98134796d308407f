"""Between the success of training and the success of the job: what is waited for, and for how long.

With an evaluator the job has succeeded only when the final checkpoint was evaluated; and the peers of an all-reduce
leader, which end within moments of it, are let end by themselves. Both waits are bounded.
"""

from __future__ import annotations

from shoal.resources.roles import Role
from shoal.resources.status import ConditionType
from shoal.training.conditions import set_condition
from shoal.training.ending import Ending
from shoal.training.failure import failures
from shoal.training.failure_policy import refuse_restart, restart
from shoal.training.job_state import JobState
from shoal.training.replica import ReplicaId
from shoal.training.success_policy import training_succeeded

EVALUATION_SECONDS = 300
"""How long the evaluator gets for the final checkpoint where `evaluationTimeoutSeconds` does not say."""

PEER_SECONDS = 30.0
"""How long all-reduce peers get to end by themselves after their leader."""


def finishing(state: JobState) -> bool:
    """Whether training has succeeded; from then on a failure of those who trained no longer matters."""
    if state.status.training_end_time is None and training_succeeded(state):
        state.status.training_end_time = state.now
    return state.status.training_end_time is not None


def awaited(state: JobState) -> list[ReplicaId]:
    """Replicas that the job still waits for. Empty: the job has succeeded."""
    return [*_peers(state), *_evaluators(state)]


def success(state: JobState) -> Ending:
    """The ending of a job that nobody waits for any longer."""
    return Ending(True, "TFJobSucceeded", "training has completed")


def finish_message(state: JobState, waiting: list[ReplicaId]) -> str:
    step = final_step(state)
    of_step = "" if step is None else f" of step {step}"
    if any(replica.role is Role.EVALUATOR for replica in waiting):
        return f"training has completed; waiting for the evaluation{of_step}"
    return f"training has completed; waiting for {', '.join(map(str, waiting[:3]))} to end"


def final_step(state: JobState) -> int | None:
    """The step of the last checkpoint, as far as anybody said: else the last step, else None."""
    said = [r.progress for id, r in state.current.items() if r.progress and id.role is not Role.EVALUATOR]
    checkpoints = [p.checkpoint_step for p in said if p.checkpoint_step is not None]
    return max(checkpoints or [p.step for p in said], default=None)


def _peers(state: JobState) -> list[ReplicaId]:
    end = state.status.training_end_time
    if end is None or state.now >= end + PEER_SECONDS:
        return []
    alive = [replica for replica in state.wanted if replica in state.group and state.running(replica)]
    if alive:
        state.wake(end + PEER_SECONDS)
    return alive


def _evaluators(state: JobState) -> list[ReplicaId]:
    waiting = [id for id in state.unfinished if id.role is Role.EVALUATOR]
    if not waiting:
        return []
    evaluator = waiting[0]
    final, seen = final_step(state), state.current.get(evaluator)
    done = seen.progress.evaluated_step if seen and seen.progress else None
    if final is not None and done is not None and done >= final:
        _conclude(state, True, f"step {done} was evaluated")
        return []
    if state.now >= (due := _due(state)):
        _conclude(state, False, f"{evaluator} did not evaluate the final checkpoint in time")
        return []
    state.wake(due)
    return waiting if _keep_evaluating(state, evaluator) else []


def _keep_evaluating(state: JobState, evaluator: ReplicaId) -> bool:
    """Restart an evaluator that failed as far as its policy and the budget allow."""
    failure = next((failure for failure in failures(state) if failure.id == evaluator), None)
    if failure is None:
        return True
    scope = frozenset((evaluator,))
    if refusal := refuse_restart(state, failure, scope):
        _conclude(state, False, refusal.message)
        return False
    restart(state, failure, scope)
    return True


def _due(state: JobState) -> float:
    timeout = state.run_policy.evaluation_timeout_seconds
    end = state.status.training_end_time or state.now
    due = end + (EVALUATION_SECONDS if timeout is None else timeout)
    limit, began = state.run_policy.active_deadline_seconds, state.status.start_time
    return due if limit is None or began is None else min(due, began + limit)


def _conclude(state: JobState, evaluated: bool, message: str) -> None:
    reason = "FinalCheckpointEvaluated" if evaluated else "FinalCheckpointNotEvaluated"
    set_condition(state.status, ConditionType.EVALUATED, evaluated, reason, message, state.now)
