"""The CustomResourceDefinition of TensorBoard."""

from __future__ import annotations

from typing import Any

from shoal.resources.definition import APP_COLUMNS, HOST_NAME, STORAGE, Names, Rules, definition, stored_schema
from shoal.resources.schema import tensorboard_schema
from shoal.resources.tfjob import SHOAL_API

RULES: Rules = {
    "": [HOST_NAME],
    "spec.logDirs": [
        (
            "self.all(run, run.size() > 0 && !run.contains(',') && !run.contains(':') && !run.startsWith('/')"
            " && !self[run].contains(','))",
            "a run's name has no comma and no colon and does not begin with /, and its folder has no comma",
        ),
    ],
    "spec.storage.[]": [*STORAGE, ("!has(self.size)", "size: a claim that is made anew holds nothing to show")],
}

MAX_FOLDER = 2000
"""The API server weighs a rule by how long the texts may be that it looks at."""


def tensorboard_crd() -> dict[str, Any]:
    """`tensorboards.shoal.dev`."""
    schema = stored_schema(tensorboard_schema(), RULES)
    schema["properties"]["spec"]["properties"]["logDirs"]["additionalProperties"]["maxLength"] = MAX_FOLDER
    return definition(SHOAL_API, Names("TensorBoard", "tensorboards", "tb"), schema, APP_COLUMNS)
