"""What `shoal ps` shows: a line for each run, and one for each model server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.cli.display import STYLES, describe_progress, elapsed, format_seconds
from shoal.runs import INTERRUPTED, Listed, ListedServer

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("NAME", "KIND", "PHASE", "REPLICAS", "PROGRESS", "RETRIES", "TIME")


def listing(runs: Sequence[Listed], servers: Sequence[ListedServer]) -> RenderableType:
    """Says of what kind each is only where there are both."""
    from rich.table import Table
    from rich.text import Text

    columns = [column for column in COLUMNS if column != "KIND" or (runs and servers)]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != "PROGRESS")  # on a narrow terminal, progress alone gives way
    for row in (*map(_run, runs), *map(_server, servers)):
        cells = dict(zip(COLUMNS, row, strict=True))
        table.add_row(*(Text(cells[each], STYLES.get(cells[each], "") if each == "PHASE" else "") for each in columns))
    return table


def _run(listed: Listed) -> tuple[str, ...]:
    run, (snapshot, phase, _) = listed
    counts = snapshot.status.replica_statuses.values()
    active = sum(count.active for count in counts) if phase != INTERRUPTED else 0
    up = f"{active} running, {sum(count.succeeded for count in counts)} done"
    retries = str(snapshot.status.retries)
    return run.name, run.kind, phase, up, describe_progress(snapshot), retries, elapsed(snapshot)


def _server(listed: ListedServer) -> tuple[str, ...]:
    server, (status, phase, since) = listed
    waiting = status.replicas - status.ready_replicas
    up = f"{status.ready_replicas} ready" + (f", {waiting} not" if waiting > 0 else "")
    age = "" if since is None else format_seconds(time.time() - since)
    return server.name, server.kind, phase, up, "", "", age
