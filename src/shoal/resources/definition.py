"""A CustomResourceDefinition, from a schema, the CEL rules that it cannot say, and the columns of `kubectl get`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shoal.resources.pod_template import Schema

Rule = tuple[str, str]
"""What must hold, in CEL, and what the user is told otherwise."""

Rules = Mapping[str, list[Rule]]
"""Rules by the path of their field: `spec.storage.[]`."""

Column = tuple[str, str, str, int]
"""Of `kubectl get`: name, type, where from, and whether only `-o wide` shows it (priority 1)."""

HOST_NAME: Rule = (
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "metadata.name must be lower-case letters, digits and dashes, and begin with a letter",
)

STORAGE: list[Rule] = [
    (
        "(has(self.existingClaim) ? 1 : 0) + (has(self.nfs) ? 1 : 0) + (has(self.size) ? 1 : 0) == 1",
        "give exactly one of existingClaim, nfs and size",
    ),
    ("!has(self.storageClassName) || has(self.size)", "storageClassName is for a claim to make: give its size"),
]


APP_COLUMNS: tuple[Column, ...] = (
    ("State", "string", ".status.phase", 0),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', 0),
    ("URL", "string", ".status.url", 0),
    ("Message", "string", ".status.message", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)
"""Of kinds that are one replica of a web application."""


class Names(NamedTuple):
    """What a kind is called. Where two groups serve it, a short name should not mean either by chance."""

    kind: str
    plural: str
    short: str = ""


def definition(
    api_version: str,
    names: Names,
    schema: Schema,
    columns: tuple[Column, ...],
    scale: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The definition of a kind with a status, and that can be scaled where `scale` says by which fields."""
    group, version = api_version.split("/")
    subresources: dict[str, Any] = {"status": {}, **({"scale": dict(scale)} if scale else {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": names.kind,
                "listKind": f"{names.kind}List",
                "plural": names.plural,
                "singular": names.kind.lower(),
                **({"shortNames": [names.short]} if names.short else {}),
                "categories": ["all", "shoal"],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": subresources,
                    "additionalPrinterColumns": [
                        {"name": name, "type": kind, "jsonPath": path} | ({"priority": priority} if priority else {})
                        for name, kind, path, priority in columns
                    ],
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def stored_schema(schema: Schema, rules: Rules, without: tuple[str, ...] = ()) -> Schema:
    """The schema as the API server takes it, which looks after metadata itself; without the fields at the paths in
    `without`."""
    stored = _copy(schema, "", rules, frozenset(without))
    properties = stored["properties"]
    properties["metadata"] = {"type": "object"}
    for name in ("apiVersion", "kind"):
        properties[name] = {"type": "string", "description": properties[name]["description"]}
    return {**stored, "required": ["spec"]}


def _copy(schema: Schema, path: str, rules: Rules, without: frozenset[str]) -> Schema:
    """The schema without some fields, and with the CEL rules in place."""

    def below(step: str) -> str:
        return f"{path}.{step}" if path else step

    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {
            name: _copy(part, below(name), rules, without)
            for name, part in schema["properties"].items()
            if below(name) not in without
        }
    if "additionalProperties" in schema:
        result["additionalProperties"] = _copy(schema["additionalProperties"], below("*"), rules, without)
    if "items" in schema:
        result["items"] = _copy(schema["items"], below("[]"), rules, without)
    # A rule on a field that is left out would not compile.
    absent = [f"has(self.{field.removeprefix(f'{path}.')})" for field in without]
    kept = [(rule, message) for rule, message in rules.get(path, ()) if not any(field in rule for field in absent)]
    if kept:
        result["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in kept]
    return result
