"""Runs and model servers as programs read them: what `--output json` and the dashboard's API answer of each."""

from __future__ import annotations

import json
from typing import Any

from shoal.runs import Look, Run, Server, ServerLook


def run_as_data(run: Run, look: Look) -> dict[str, Any]:
    """The snapshot, under the run's name and with its true phase."""
    label, place = run.place
    return {
        "name": run.name,
        "kind": run.kind,
        label.lower(): place,
        **json.loads(look.snapshot.dump()),
        "phase": look.phase,
    }


def server_as_data(server: Server, look: ServerLook) -> dict[str, Any]:
    """The status, under the server's name and with its true phase."""
    label, place = server.place
    about = {"name": server.name, "kind": server.kind, label.lower(): place}
    return {**about, "status": look.status.dump(), "phase": look.phase}
