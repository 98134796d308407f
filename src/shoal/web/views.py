"""What the pages show, made from runs and model servers: plain values for templates, and for the API.

Everything here waits for a disk or a cluster, so it runs in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from shoal.resources import Phase, ReplicaType, TFJob
from shoal.runs import INTERRUPTED, SERVING, Description, Look, Measurement, Place, Run, RunError, Runs
from shoal.told import run_as_data, server_as_data
from shoal.web.borrowing import Lender

Told = dict[str, Any]


class JobRow(NamedTuple):
    """A job in the list. Times are seconds since the epoch."""

    name: str
    phase: str
    running: int
    done: int
    failed: int
    step: int | None
    rate: float | None
    loss: float | None
    retries: int
    began: float | None
    ended: float | None


class JobView(NamedTuple):
    """Everything about one job."""

    name: str
    place: Place
    description: Description
    row: JobRow
    history: Sequence[Measurement]
    writers: Sequence[str]
    workers: int | None
    left_behind: Sequence[str]
    server: str | None
    options: str


class ModelsView(NamedTuple):
    """The model servers, and why they cannot be told, where they cannot."""

    servers: Sequence[ServerView]
    fault: str


class ServerView(NamedTuple):
    """A model server. `since` is in seconds since the epoch."""

    name: str
    place: Place
    made_for: str
    phase: str
    status: Any
    since: float | None


class Views:
    """Looks at one place."""

    def __init__(self, lender: Lender) -> None:
        self._lender = lender

    def jobs(self) -> list[JobRow]:
        """The latest first."""
        with self._lender.lent() as runs:
            return [_row(each.run.name, each.look) for each in runs.all()]

    def job(self, name: str) -> JobView:
        """Raises MissingError where there is none."""
        with self._lender.lent() as runs:
            run = runs.find(name)
            told = run.describe()
            look = told.look
            return JobView(
                name=run.name,
                place=run.place,
                description=told,
                row=_row(run.name, look),
                history=run.history(),
                writers=run.replicas_with_logs(),
                workers=workers_of(told.job),
                left_behind=list(run.left_behind(look)) if not look.alive else [],
                server=_server_of(runs, run),
                options=runs.options,
            )

    def models(self) -> ModelsView:
        """Servers; who may not list them is told so, and sees none."""
        with self._lender.lent() as runs:
            try:
                found = runs.servers()
            except RunError as fault:
                return ModelsView([], str(fault))
            return ModelsView(
                [
                    ServerView(server.name, server.place, server.made_for, look.phase, look.status, look.since)
                    for server, look in found
                ],
                "",
            )

    # --- as programs read them

    def jobs_data(self) -> list[Told]:
        with self._lender.lent() as runs:
            return [run_as_data(each.run, each.look) for each in runs.all(replicas=True)]

    def job_data(self, name: str) -> Told:
        """With its history, which the list has not."""
        with self._lender.lent() as runs:
            run = runs.find(name)
            return {**run_as_data(run, run.look()), "history": [each._asdict() for each in run.history()]}

    def models_data(self) -> list[Told]:
        with self._lender.lent() as runs:
            return [server_as_data(*each) for each in runs.servers()]


def _row(name: str, look: Look) -> JobRow:
    status = look.snapshot.status
    counts = status.replica_statuses.values()
    progress = status.progress
    return JobRow(
        name=name,
        phase=look.phase,
        running=sum(count.active for count in counts) if look.phase != INTERRUPTED else 0,
        done=sum(count.succeeded for count in counts),
        failed=sum(count.failed for count in counts),
        step=progress.step if progress else None,
        rate=progress.steps_per_second if progress and look.phase == Phase.RUNNING else None,
        loss=progress.loss if progress else None,
        retries=status.retries,
        began=status.start_time,
        ended=status.completion_time,
    )


def workers_of(job: TFJob | None) -> int | None:
    """How many workers there are to scale; None where there are none."""
    spec = job.spec.tf_replica_specs.get(ReplicaType.WORKER) if job else None
    return spec.count if spec else None


def _server_of(runs: Runs, run: Run) -> str | None:
    """The name of the model server that was made for the job."""
    try:
        return next((server.name for server, _ in runs.servers() if server.made_for == run.name), None)
    except RunError:
        return None


def can_stop(look: Look) -> bool:
    return look.alive


def can_resume(look: Look) -> bool:
    return not look.alive and not look.snapshot.status.phase.final and look.phase != "Damaged"


def can_scale(look: Look) -> bool:
    return not look.snapshot.status.phase.final and look.phase != SERVING
