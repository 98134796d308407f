"""Manifests over `replica.py`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent


def write_job(
    folder: Path,
    *orders: str,
    name: str = "job",
    steps: int = 10,
    serving_steps: int = 100000,
    strategy: str = "",
    restart: str = "OnFailure",
    run_policy: dict[str, Any] | None = None,
    **roles: int,
) -> Path:
    """A manifest whose chief and workers take `steps` steps; those that serve go on for ever."""
    strategy = strategy or ("BetweenGraphAsync" if "PS" in roles else "Independent")
    shutil.copy(HERE / "replica.py", folder)
    serving = {"PS"} | ({"Worker"} if strategy in ("ParameterServer", "InGraph") else set())
    (folder / "checkpoint").write_text("")
    replicas = {
        kind: {
            "replicas": count,
            "restartPolicy": restart,
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "tensorflow",
                            "image": "example/train",
                            "command": [
                                "python",
                                "replica.py",
                                str(serving_steps if kind in serving else steps),
                                *orders,
                            ],
                            "env": [{"name": "CHECKPOINT", "value": str(folder / "checkpoint")}],
                        }
                    ]
                }
            },
        }
        for kind, count in roles.items()
    }
    manifest = {
        "apiVersion": "shoal.dev/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"strategy": strategy, "runPolicy": run_policy or {}, "tfReplicaSpecs": replicas},
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(manifest))
    return path
