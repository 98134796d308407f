"""What `shoal describe` shows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.cli.display import describe_progress, job_table
from shoal.cli.table import table
from shoal.durations import format_seconds
from shoal.resources import Condition, FirstFailure
from shoal.resources.model_server import ServerCondition
from shoal.runs import Description, Event, Place

if TYPE_CHECKING:
    from rich.console import RenderableType


def describe_run(name: str, place: Place, description: Description) -> RenderableType:
    """The run in full, for people."""
    from rich.console import Group
    from rich.text import Text

    snapshot = description.look.snapshot
    # Not a table: a path that is longer than the line must still be one piece when it is copied.
    facts = Text(no_wrap=True, overflow="ignore")
    for label, value in _facts(name, place, description):
        facts.append(f"{label:10}", "bold").append(f"{value}\n")
    parts: list[RenderableType] = [facts, job_table(name, snapshot)]
    if snapshot.status.conditions:
        parts += [Text(), conditions_table(snapshot.status.conditions)]
    if description.events:
        parts += [Text(), events_table(description.events)]
    if snapshot.status.first_failure:
        parts += [Text(), _failure(snapshot.status.first_failure)]
    return Group(*parts)


def _facts(name: str, place: Place, description: Description) -> list[tuple[str, str]]:
    snapshot = description.look.snapshot
    facts = [("Name", name), ("Phase", description.look.phase)]
    if description.hint:
        facts.append(("", description.hint))
    limit = None
    if job := description.job:
        roles = ", ".join(f"{spec.count} {role.value}" for role, spec in job.replicas.items())
        facts += [("Strategy", job.strategy.value), ("Replicas", roles)]
        limit = job.spec.run_policy.backoff_limit
    else:
        facts.append(("Manifest", description.fault))
    if snapshot.status.message:
        facts.append(("Message", snapshot.status.message))
    if told := describe_progress(snapshot):
        facts.append(("Progress", told))
    if scaling := snapshot.status.scaling:
        why = f": {scaling.message}" if scaling.message else ""
        workers = "1 worker" if scaling.desired_workers == 1 else f"{scaling.desired_workers} workers"
        facts.append(("Scaling", workers + why))
    used = f"{snapshot.status.retries} used" if snapshot.status.retries else "none used"
    facts.append(("Retries", f"{'no limit' if limit is None else f'limit {limit}'}, {used}"))
    facts.append((place.label, place.value))
    if place.cluster:
        facts.append(("Cluster", place.cluster))
    return facts


def conditions_table(conditions: Sequence[Condition | ServerCondition]) -> RenderableType:
    """Of a job or of a model server."""
    rows = []
    for each in conditions:
        since = "" if each.last_transition_time is None else format_seconds(time.time() - each.last_transition_time)
        rows.append((str(each.type), each.status, since, each.reason, each.message))
    return table(("CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"), rows, wrap=("MESSAGE",))


def events_table(events: Sequence[Event]) -> RenderableType:
    """The oldest first."""
    now = time.time()
    rows = ((each.type, format_seconds(now - each.time), each.reason, each.message) for each in events)
    return table(("EVENT", "AGO", "REASON", "MESSAGE"), rows, wrap=("MESSAGE",))


def _failure(first: FirstFailure) -> RenderableType:
    from rich.text import Text

    lines = [f"First failure: {first.message} (attempt {first.attempt + 1})"]
    return Text("\n".join([*lines, *(f"  {line}" for line in first.log_tail)]))
