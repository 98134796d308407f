"""A structural schema as plain JSON Schema, so that another implementation than Shoal's can judge by it."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def plain(schema: Schema) -> Schema:
    """The same rules without Kubernetes' extensions; fields that the API server would drop are not allowed."""
    if schema.get("x-kubernetes-int-or-string"):
        # In a JSON Schema, a pattern speaks of strings alone.
        return {"type": ["integer", "string"], **{key: schema[key] for key in ("pattern",) if key in schema}}
    result = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    for bound in ("Minimum", "Maximum"):
        if result.pop(f"exclusive{bound}", False):
            result[f"exclusive{bound}"] = result.pop(bound.lower())
    if "properties" in schema:
        result["properties"] = {name: plain(part) for name, part in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            result["additionalProperties"] = False
    if "additionalProperties" in schema:
        result["additionalProperties"] = plain(schema["additionalProperties"])
    if "items" in schema:
        result["items"] = plain(schema["items"])
    return result
