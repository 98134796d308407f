"""What `shoal ps` shows: a line for each run, and one for each model server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.cli.display import STYLES, describe_progress, elapsed
from shoal.cli.table import table
from shoal.durations import format_seconds
from shoal.runs import INTERRUPTED, Listed, ListedServer

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("CLUSTER", "NAME", "KIND", "PHASE", "REPLICAS", "PROGRESS", "RETRIES", "TIME")


def listing(runs: Sequence[Listed], servers: Sequence[ListedServer], clusters: bool = False) -> RenderableType:
    """Says of what kind each is only where there are both, and in which cluster if `clusters`."""
    from rich.text import Text

    said = {"KIND": bool(runs and servers), "CLUSTER": clusters}
    columns = [column for column in COLUMNS if said.get(column, True)]
    rows = []
    for row in (*map(_run, runs), *map(_server, servers)):
        cells = dict(zip(COLUMNS, row, strict=True))
        rows.append([Text(cells[each], STYLES.get(cells[each], "") if each == "PHASE" else "") for each in columns])
    return table(columns, rows, wrap=("PROGRESS",))


def _run(listed: Listed) -> tuple[str, ...]:
    run, (snapshot, phase, _) = listed
    counts = snapshot.status.replica_statuses.values()
    active = sum(count.active for count in counts) if phase != INTERRUPTED else 0
    up = f"{active} running, {sum(count.succeeded for count in counts)} done"
    retries = str(snapshot.status.retries)
    return run.place.cluster, run.name, run.kind, phase, up, describe_progress(snapshot), retries, elapsed(snapshot)


def _server(listed: ListedServer) -> tuple[str, ...]:
    server, (status, phase, since) = listed
    waiting = status.replicas - status.ready_replicas
    up = f"{status.ready_replicas} ready" + (f", {waiting} not" if waiting > 0 else "")
    age = "" if since is None else format_seconds(time.time() - since)
    return server.place.cluster, server.name, server.kind, phase, up, "", "", age
