"""Write `charts/shoal/crds/*.yaml` from the resource models. A test holds the files equal to what this writes.

uv run python tools/generate_crds.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.resources.crd import kubeflow_crd, shoal_crd
from shoal.resources.model_server_crd import model_server_crd
from shoal.resources.tensorboard_crd import tensorboard_crd
from shoal.resources.workbench_crd import workbench_crd
from shoal.resources.yaml_text import write_yaml

FOLDER = Path(__file__).parents[1] / "charts/shoal/crds"
# `helm show crds` puts one file behind the other, and would make one document of all.
HEADER = "---\n# Written by tools/generate_crds.py from src/shoal/resources; change it there.\n"


def generate() -> dict[str, str]:
    """The text of each file, by name."""
    definitions: list[dict[str, Any]] = [
        shoal_crd(),
        kubeflow_crd(),
        model_server_crd(),
        tensorboard_crd(),
        workbench_crd(),
    ]
    return {f"{crd['metadata']['name']}.yaml": HEADER + write_yaml(crd) for crd in definitions}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in generate().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
