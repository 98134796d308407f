"""The CustomResourceDefinition of Workbench."""

from __future__ import annotations

from typing import Any

from shoal.resources.definition import APP_COLUMNS, HOST_NAME, STORAGE, Names, Rules, definition, stored_schema
from shoal.resources.schema import workbench_schema
from shoal.resources.tfjob import SHOAL_API

RULES: Rules = {"": [HOST_NAME], "spec.storage.[]": STORAGE}


def workbench_crd() -> dict[str, Any]:
    """`workbenches.shoal.dev`."""
    schema = stored_schema(workbench_schema(), RULES)
    return definition(SHOAL_API, Names("Workbench", "workbenches", "wb"), schema, APP_COLUMNS)
