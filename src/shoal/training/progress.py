"""How far training has come, from what replicas say of themselves."""

from __future__ import annotations

from shoal.resources.status import Progress
from shoal.training.duties import trains
from shoal.training.job_state import JobState
from shoal.training.replica import ReplicaProgress

SMOOTHING = 0.5
"""Weight of the newest rate: exponential smoothing, since reports come in uneven bunches."""


def update_progress(state: JobState) -> None:
    """Put the furthest step of the current attempts into the status. Going back to a checkpoint shows as going back."""
    reports = [(replica.progress, id) for id, replica in state.current.items() if replica.progress]
    training = [(said, id) for said, id in reports if trains(state.strategy, id.role)]
    if not training:
        return
    said, id = max(training, key=lambda report: (report[0].step, report[0].time))
    before = state.status.progress
    metrics = {name: value for other, _ in reports for name, value in other.metrics} | dict(said.metrics)
    if before is not None and before.step == said.step:
        state.status.progress = before.model_copy(update={"metrics": metrics})
        return
    state.status.progress = Progress(
        replica=str(id),
        step=said.step,
        steps_per_second=_rate(before, said),
        loss=said.loss,
        metrics=metrics,
        time=said.time,
    )


def _rate(before: Progress | None, said: ReplicaProgress) -> float | None:
    if before is None or said.step <= before.step or said.time <= before.time:
        return None
    rate = (said.step - before.step) / (said.time - before.time)
    if before.steps_per_second is None:
        return rate
    return SMOOTHING * rate + (1 - SMOOTHING) * before.steps_per_second
