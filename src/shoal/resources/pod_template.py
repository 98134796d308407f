"""The structural schema of Kubernetes' PodTemplateSpec and ObjectMeta.

It comes from `pod_template.json`, which `tools/generate_pod_template_schema.py` writes. There each type is defined
once and referred to; here the references are followed, so that who reads the schema needs to know of none.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

Schema = dict[str, Any]
"""A structural schema as in a CustomResourceDefinition (OpenAPI v3 and the `x-kubernetes-…` extensions)."""


@cache
def pod_template_schema() -> Schema:
    """PodTemplateSpec. Equal parts are the same object: read it, do not change it."""
    return _definition("PodTemplateSpec")


@cache
def object_meta_schema() -> Schema:
    """ObjectMeta: `metadata` of every object."""
    return _definition("ObjectMeta")


@cache
def _definition(name: str) -> Schema:
    return {key: _follow(value) for key, value in _definitions()[name].items()}


@cache
def _definitions() -> dict[str, Schema]:
    text = files("shoal.resources").joinpath("pod_template.json").read_text(encoding="utf-8")
    definitions: dict[str, Schema] = json.loads(text)["$defs"]
    return definitions


def _follow(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    followed = {key: _follow(part) for key, part in value.items() if key != "$ref"}
    if "$ref" not in value:
        return followed
    return {**_definition(value["$ref"].removeprefix("#/$defs/")), **followed}
