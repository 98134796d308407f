"""A job as it goes: a live table on a terminal, a line per change anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from shoal.cli.terminal import console, say
from shoal.durations import format_seconds
from shoal.resources import Phase
from shoal.runs import INTERRUPTED, SERVING, Look, ReplicaRecord, Run, Snapshot

if TYPE_CHECKING:
    from rich.console import RenderableType

REFRESHES_PER_SECOND = 4

STYLES = {
    "Pending": "dim",
    "Running": "cyan",
    "Restarting": "yellow",
    "Suspended": "yellow",
    INTERRUPTED: "yellow",
    "Terminating": "dim",
    "Succeeded": "green",
    SERVING: "green",
    "Ready": "green",
    "Updating": "cyan",
    "Failed": "red",
    "Damaged": "red",
}


class Display(Protocol):
    """Is told of every change of a run."""

    def __call__(self, name: str, snapshot: Snapshot) -> None: ...


@contextmanager
def display() -> Iterator[Display]:
    """The display that fits where the output goes."""
    if sys.stderr.isatty():
        with _live() as live:
            yield live
    else:
        yield _Lines()


class _Lines:
    """One line per change of a phase, a message or a replica; steps are told every ten seconds."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._steps_due = 0.0

    def __call__(self, name: str, snapshot: Snapshot) -> None:
        status = snapshot.status
        self._say(name, "job", f"{status.phase.value}{f': {status.message}' if status.message else ''}")
        for replica in snapshot.replicas:
            end = "" if replica.exit_code is None else f", exit code {replica.exit_code}"
            again = f" (attempt {replica.attempt + 1})" if replica.attempt else ""
            self._say(name, replica.name, f"{replica.state}{again}{end}")
        progress = status.progress
        if progress and time.monotonic() >= self._steps_due:
            self._steps_due = time.monotonic() + 10
            self._say(name, "progress", describe_progress(snapshot))

    def _say(self, run: str, subject: str, what: str) -> None:
        if self._told.get(f"{run} {subject}") != what:
            self._told[f"{run} {subject}"] = what
            say(f"{time.strftime('%H:%M:%S')} {run} {subject}: {what}")


@contextmanager
def _live() -> Iterator[Display]:
    from rich.console import Group
    from rich.live import Live

    shown: dict[str, Snapshot] = {}

    class Jobs:
        def __rich__(self) -> RenderableType:
            return Group(*(job_table(name, snapshot) for name, snapshot in shown.items()))

    with Live(Jobs(), console=console(stderr=True), refresh_per_second=REFRESHES_PER_SECOND, transient=True):

        def show(name: str, snapshot: Snapshot) -> None:
            shown[name] = snapshot

        yield show


def job_table(name: str, snapshot: Snapshot) -> RenderableType:
    """The job's line and its replicas."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    status = snapshot.status
    head = Text.assemble(
        (name, "bold"), "  ", (status.phase.value, STYLES[status.phase.value]), f"  {elapsed(snapshot)}"
    )
    if told := describe_progress(snapshot):
        head.append(f"  {told}")
    if status.retries:
        head.append(f"  {status.retries} {'retry' if status.retries == 1 else 'retries'}", "yellow")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("replica", "state", "step", "loss", "attempt", "time"):
        table.add_column(column, justify="left" if column in ("replica", "state") else "right")
    for replica in sorted(snapshot.replicas, key=lambda replica: replica.name):
        table.add_row(*_row(replica))
    message = Text(status.message, style="dim")
    return Group(head, table, message) if status.message else Group(head, table)


def _row(replica: ReplicaRecord) -> tuple[RenderableType, ...]:
    from rich.text import Text

    ended = "" if replica.exit_code in (None, 0) else f" ({replica.exit_code})"
    since = (replica.finished_at or time.time()) - replica.started_at if replica.started_at else 0.0
    return (
        replica.name,
        Text(replica.state + ended, style=STYLES[replica.state]),
        "" if replica.step is None else f"{replica.step:,}",
        "" if replica.loss is None else f"{replica.loss:.4g}",
        str(replica.attempt + 1),
        format_seconds(since),
    )


def describe_progress(snapshot: Snapshot) -> str:
    """`step 1,200, 31.4 steps/s, loss 0.21, accuracy 0.93`, as far as it is known."""
    progress = snapshot.status.progress
    if progress is None:
        return ""
    parts = [f"step {progress.step:,}"]
    if progress.steps_per_second is not None and not snapshot.status.phase.final:
        parts.append(f"{progress.steps_per_second:.3g} steps/s")
    if progress.loss is not None:
        parts.append(f"loss {progress.loss:.4g}")
    parts += [f"{name} {value:.4g}" for name, value in progress.metrics.items()]
    return ", ".join(parts)


def elapsed(snapshot: Snapshot) -> str:
    """How long the job has been, or was, active."""
    status = snapshot.status
    if status.start_time is None:
        return ""
    return format_seconds((status.completion_time or time.time()) - status.start_time)


def summary(run: Run, look: Look) -> None:
    """What is left to say when a run has ended: how, after how long, and where its logs and models are."""
    snapshot = look.snapshot
    status = snapshot.status
    verdict = f"{look.phase.lower()}: {status.message}" if status.phase is Phase.FAILED else look.phase.lower()
    again = f"{status.retries} {'retry' if status.retries == 1 else 'retries'}" if status.retries else ""
    say(", ".join(filter(None, [f"{run.name} {verdict}", elapsed(snapshot), describe_progress(snapshot), again])))
    if status.phase is Phase.FAILED and status.first_failure and status.first_failure.log_tail:
        say(f"the last lines of {status.first_failure.replica}:")
        for line in status.first_failure.log_tail:
            say(f"  {line}")
    for sentence in run.left_behind(look):
        say(sentence)
