"""The SavedModels that a run has exported: folders `BASE/VERSION/saved_model.pb` under its volumes."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

DEPTH = 4
"""How many folders deep a model is looked for; a volume may hold a data set of a million files deeper down."""


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """A folder of versions, as TensorFlow Serving wants it, and the newest version in it."""

    base_path: Path
    version: int

    def serving_command(self, name: str) -> str:
        """How to serve it on this machine, REST on port 8501."""
        return f"shoal serve {shlex.quote(str(self.base_path))} --name {name}"


def exported_models(volumes: Path) -> list[ExportedModel]:
    """Every model with its newest version, in the order of their paths."""
    newest: dict[Path, int] = {}
    for depth in range(1, DEPTH + 1):
        for found in volumes.glob("/".join(["*"] * depth) + "/saved_model.pb"):
            base, version = found.parent.parent, found.parent.name
            if version.isdecimal():
                newest[base] = max(newest.get(base, 0), int(version))
    return [ExportedModel(base, version) for base, version in sorted(newest.items())]
