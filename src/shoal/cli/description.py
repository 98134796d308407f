"""What `shoal describe` shows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from shoal.cli.display import describe_progress, format_seconds, job_table
from shoal.local import manifests
from shoal.local.listing import INTERRUPTED
from shoal.local.runs import Run, Snapshot
from shoal.resources import FirstFailure, ManifestError

if TYPE_CHECKING:
    from rich.console import RenderableType


def describe_run(run: Run, snapshot: Snapshot, phase: str) -> RenderableType:
    """The run in full, for people."""
    from rich.console import Group
    from rich.text import Text

    # Not a table: a path that is longer than the line must still be one piece when it is copied.
    facts = Text(no_wrap=True, overflow="ignore")
    for label, value in _facts(run, snapshot, phase):
        facts.append(f"{label:10}", "bold").append(f"{value}\n")
    parts: list[RenderableType] = [facts, job_table(run.name, snapshot)]
    if snapshot.status.conditions:
        parts += [Text(), _conditions(snapshot)]
    if snapshot.status.first_failure:
        parts += [Text(), _failure(snapshot.status.first_failure)]
    return Group(*parts)


def _facts(run: Run, snapshot: Snapshot, phase: str) -> list[tuple[str, str]]:
    facts = [("Name", run.name), ("Phase", phase)]
    if phase == INTERRUPTED:
        facts.append(("", f"its supervisor was killed; go on with `shoal resume {run.name}`"))
    try:
        job = manifests.read(run).job
        roles = ", ".join(f"{spec.count} {role.value}" for role, spec in job.replicas.items())
        facts += [("Strategy", job.strategy.value), ("Replicas", roles)]
    except ManifestError as fault:
        facts.append(("Manifest", str(fault)))
    if snapshot.status.message:
        facts.append(("Message", snapshot.status.message))
    if told := describe_progress(snapshot):
        facts.append(("Progress", told))
    limit = f", {snapshot.status.retries} used" if snapshot.status.retries else ", none used"
    facts.append(("Retries", _limit(run) + limit))
    facts.append(("Folder", str(run.folder)))
    return facts


def _limit(run: Run) -> str:
    try:
        limit = manifests.read(run).job.spec.run_policy.backoff_limit
    except ManifestError:
        limit = None
    return "no limit" if limit is None else f"limit {limit}"


def _conditions(snapshot: Snapshot) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"):
        table.add_column(column)
    for each in snapshot.status.conditions:
        since = "" if each.last_transition_time is None else format_seconds(time.time() - each.last_transition_time)
        # As text: what a program is called, or says, may look like markup.
        table.add_row(each.type.value, each.status, since, each.reason, Text(each.message))
    return table


def _failure(first: FirstFailure) -> RenderableType:
    from rich.text import Text

    lines = [f"First failure: {first.message} (attempt {first.attempt + 1})"]
    return Text("\n".join([*lines, *(f"  {line}" for line in first.log_tail)]))
