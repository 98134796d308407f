"""`scaling`: measure the present number of workers, and have it changed where another is better.

The number itself stays where users write it, in the Worker's `replicas`: whoever scales by hand, scales still, and the
rule goes on from there. A number is measured anew over a whole window whenever a replica has started, so the restart
that a change costs is never counted as slow training, and there is at most one change a window. That is what the
stabilisation window and the initialisation period are to a HorizontalPodAutoscaler.
"""

from __future__ import annotations

from shoal.resources.roles import Role
from shoal.resources.scaling import ScalingSpec, ScalingStatus
from shoal.resources.status import ConditionType
from shoal.resources.tfjob import Strategy
from shoal.training.conditions import set_condition
from shoal.training.decision import Scale
from shoal.training.job_state import JobState
from shoal.training.worker_count import Advice, advise

REMEMBERED = 32
"""Numbers of workers whose speed is kept: those nearest to the present one."""

SETTLING = 0.2
"""How long after a start nothing is measured, as a share of the window: a worker that runs does not train at once."""

_STEP_OF_ONE = (Strategy.PARAMETER_SERVER, Strategy.BETWEEN_GRAPH_ASYNC)
"""Here each step is one worker's, so the step that is reported counts all of them. Elsewhere all take it together."""

_COORDINATED = (Strategy.PARAMETER_SERVER, Strategy.IN_GRAPH)


def follow_policy(state: JobState) -> Scale | None:
    """Note what is measured, and decide how many workers there shall be. A change that is still to be made
    is asked for again."""
    policy, spec = state.job.spec.scaling, state.specs.get(Role.WORKER)
    if policy is None or spec is None:
        state.status.scaling = None
        return None
    before, workers = state.status.scaling, spec.count
    if before is not None and workers == before.replaced_workers:
        return Scale(before.desired_workers)
    known = _carried_out(before, workers, state.now)
    advice = _within_bounds(policy, workers)
    if advice is None:
        known = _measured(state, policy, known)
        if known.measured_from_time is None or (speed := _speed(state, policy, known)) is None:
            state.status.scaling = known
            return None
        known = _noted(state, known, workers, speed)
        advice = advise(policy, workers, known.rates, _others(state))
    state.status.scaling = known = known.model_copy(update={"reason": advice.reason, "message": advice.message})
    return _change(state, known, workers, advice) if advice.workers != workers else None


def _carried_out(before: ScalingStatus | None, workers: int, now: float) -> ScalingStatus:
    """What is known, now that there are `workers`. Of a number that somebody else has chosen nothing is known: they
    may have changed what the speeds came from, too."""
    if before is None:
        return ScalingStatus(desired_workers=workers)
    if workers == before.desired_workers:
        return before if before.replaced_workers is None else before.model_copy(update={"replaced_workers": None})
    told = f"{workers} workers were asked for, in place of {before.desired_workers}"
    return ScalingStatus(desired_workers=workers, reason="ScaledByHand", message=told, last_scale_time=now)


def _within_bounds(policy: ScalingSpec, workers: int) -> Advice | None:
    if workers < policy.min_workers:
        return Advice(policy.min_workers, "TooFew", f"at least {policy.min_workers} are wanted")
    if workers > policy.max_workers:
        return Advice(policy.max_workers, "TooMany", f"at most {policy.max_workers} are wanted")
    return None


def _measured(state: JobState, policy: ScalingSpec, known: ScalingStatus) -> ScalingStatus:
    """`known` with the measurement that is under way: a new one where it was disturbed, none where nothing can be
    measured now."""
    progress = state.status.progress
    complete = all(state.running(replica) for replica in state.wanted if replica.role is not Role.EVALUATOR)
    trainers = [replica for id, replica in state.current.items() if id.role is not Role.EVALUATOR]
    settled = max((replica.started_at or 0.0 for replica in trainers), default=0.0) + SETTLING * policy.window
    if not complete or progress is None or progress.time <= settled:
        return known.model_copy(update={"measured_from_step": None, "measured_from_time": None})
    step, time = known.measured_from_step, known.measured_from_time
    if step is None or time is None or time <= settled or progress.step < step:
        return known.model_copy(update={"measured_from_step": progress.step, "measured_from_time": progress.time})
    return known


def _speed(state: JobState, policy: ScalingSpec, known: ScalingStatus) -> float | None:
    """Steps/s of all who train together, over the window; None before it is over."""
    progress, step, time = state.status.progress, known.measured_from_step, known.measured_from_time
    if progress is None or step is None or time is None or progress.time - time < policy.window:
        return None
    rate = (progress.step - step) / (progress.time - time)
    if state.strategy in _STEP_OF_ONE:
        return rate
    return rate * (state.specs[Role.WORKER].count + _others(state))


def _others(state: JobState) -> int:
    """Who trains beside the workers: a chief that does not only coordinate them."""
    chief = state.specs.get(Role.CHIEF)
    return chief.count if chief and state.strategy not in _COORDINATED else 0


def _noted(state: JobState, known: ScalingStatus, workers: int, speed: float) -> ScalingStatus:
    """`known` with the speed; the next window begins."""
    rates = {**known.rates, workers: speed}
    nearest = sorted(rates, key=lambda number: abs(number - workers))[:REMEMBERED]
    kept = {number: rates[number] for number in sorted(nearest)}
    progress = state.status.progress
    assert progress is not None
    begun = {"measured_from_step": progress.step, "measured_from_time": progress.time}
    return known.model_copy(update={"rates": kept, **begun})


def _change(state: JobState, known: ScalingStatus, workers: int, advice: Advice) -> Scale:
    state.status.scaling = known.model_copy(
        update={
            "desired_workers": advice.workers,
            "replaced_workers": workers,
            "last_scale_time": state.now,
            "measured_from_step": None,
            "measured_from_time": None,
        }
    )
    told = f"{workers} → {advice.workers} workers: {advice.message}"
    set_condition(state.status, ConditionType.SCALED, True, advice.reason, told, state.now)
    return Scale(advice.workers)
