"""Runs and model servers as programs read them: what `--output json` and the dashboard's API answer of each."""

from __future__ import annotations

import json
from typing import Any

from shoal.runs import Look, Place, Run, Server, ServerLook


def run_as_data(run: Run, look: Look) -> dict[str, Any]:
    """The snapshot, under the run's name and with its true phase."""
    return {
        "name": run.name,
        "kind": run.kind,
        **_place(run.place),
        **json.loads(look.snapshot.dump()),
        "phase": look.phase,
    }


def server_as_data(server: Server, look: ServerLook) -> dict[str, Any]:
    """The status, under the server's name and with its true phase."""
    about = {"name": server.name, "kind": server.kind, **_place(server.place)}
    return {**about, "status": look.status.dump(), "phase": look.phase}


def _place(place: Place) -> dict[str, str]:
    return {place.label.lower(): place.value} | ({"cluster": place.cluster} if place.cluster else {})
