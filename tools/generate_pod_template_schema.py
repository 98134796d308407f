"""Write `src/shoal/resources/pod_template.json`: the structural schema of Kubernetes' PodTemplateSpec.

The source is `lightkube-models`, whose classes are themselves generated from Kubernetes' OpenAPI document: field names,
types, which fields are required, and the descriptions, of which the first sentence is kept. What the classes do not
tell, because Go's types say it in markers or in custom JSON, stands in the tables below: which string maps hold
quantities, which lists are keyed, and a few closed sets of values.

    python tools/generate_pod_template_schema.py

lightkube-models' version is Kubernetes' version. After a new one, generate the CRDs too (`tools/generate_crds.py`).
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

from shoal.resources.quantity import PATTERN as QUANTITY_PATTERN

OUTPUT = Path(__file__).parents[1] / "src/shoal/resources/pod_template.json"
ROOT = ("core_v1", "PodTemplateSpec")

QUANTITY_MAPS = {
    "ResourceRequirements.limits",
    "ResourceRequirements.requests",
    "VolumeResourceRequirements.limits",
    "VolumeResourceRequirements.requests",
    "PodSpec.overhead",
}
"""`map[ResourceName]Quantity` in Go. Every other map of a pod template holds strings."""

LIST_KEYS = {
    "Container.env": ["name"],
    "Container.ports": ["containerPort", "protocol"],
    "Container.volumeDevices": ["devicePath"],
    "Container.volumeMounts": ["mountPath"],
    "EphemeralContainer.env": ["name"],
    "EphemeralContainer.ports": ["containerPort", "protocol"],
    "EphemeralContainer.volumeDevices": ["devicePath"],
    "EphemeralContainer.volumeMounts": ["mountPath"],
    "ObjectMeta.ownerReferences": ["uid"],
    "PodSpec.containers": ["name"],
    "PodSpec.ephemeralContainers": ["name"],
    "PodSpec.hostAliases": ["ip"],
    "PodSpec.imagePullSecrets": ["name"],
    "PodSpec.initContainers": ["name"],
    "PodSpec.resourceClaims": ["name"],
    "PodSpec.schedulingGates": ["name"],
    "PodSpec.topologySpreadConstraints": ["topologyKey", "whenUnsatisfiable"],
    "PodSpec.volumes": ["name"],
    "ResourceRequirements.claims": ["name"],
}
"""Kubernetes' `+listType=map` markers: no two items may agree in these fields."""

DEFAULTS = {"ContainerPort.protocol": "TCP", "LocalObjectReference.name": ""}
"""A list key that may be left out needs a default."""

VALUES = {
    "Container.imagePullPolicy": ["Always", "IfNotPresent", "Never"],
    "EphemeralContainer.imagePullPolicy": ["Always", "IfNotPresent", "Never"],
    "ContainerPort.protocol": ["SCTP", "TCP", "UDP"],
    "PodSpec.restartPolicy": ["Always", "Never", "OnFailure"],
    "Toleration.effect": ["NoExecute", "NoSchedule", "PreferNoSchedule"],
}
"""Sets of values that people misspell and that Kubernetes has not added to in years."""

SCALARS: dict[str, dict[str, Any]] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "Quantity": {"$ref": "#/$defs/Quantity"},
    "IntOrString": {"x-kubernetes-int-or-string": True},
    "Time": {"type": "string", "format": "date-time"},
    "FieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def generate() -> str:
    """The file's text: one definition a line, in alphabetical order."""
    definitions: dict[str, dict[str, Any]] = {
        "Quantity": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN}
    }
    _define(*ROOT, definitions)
    version = importlib.import_module("lightkube.models").__version__.rpartition(".")[0]
    head = {
        "$comment": f"PodTemplateSpec of Kubernetes {version} (Apache-2.0), by tools/generate_pod_template_schema.py.",
        "$ref": f"#/$defs/{ROOT[1]}",
    }
    lines = ",\n".join(f"{json.dumps(name)}:{_compact(definitions[name])}" for name in sorted(definitions))
    return f'{_compact(head)[:-1]},"$defs":{{\n{lines}\n}}}}\n'


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _define(module_name: str, name: str, definitions: dict[str, dict[str, Any]]) -> None:
    if name in definitions:
        return
    model = getattr(importlib.import_module(f"lightkube.models.{module_name}"), name)
    definition: dict[str, Any] = {"type": "object", "properties": {}}
    definitions[name] = definition
    descriptions = _descriptions(model.__doc__)
    required = [field for field in model.__annotations__ if not model.__annotations__[field].startswith("Optional[")]
    if required:
        definition["required"] = required
    for field, annotation in model.__annotations__.items():
        schema = _schema(annotation, f"{name}.{field}", module_name, definitions)
        if description := descriptions.get(field):
            schema["description"] = description
        definition["properties"][field] = schema


def _schema(annotation: str, place: str, module_name: str, definitions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The schema of a field from its annotation: `Optional[List[meta_v1.OwnerReference]]`."""
    outer, _, inner = annotation.removesuffix("]").partition("[")
    if outer == "Optional":
        return _schema(inner, place, module_name, definitions)
    if outer == "List":
        schema: dict[str, Any] = {"type": "array", "items": _schema(inner, "", module_name, definitions)}
        if keys := LIST_KEYS.get(place):
            schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
        return schema
    if outer == "dict":
        values = SCALARS["Quantity" if place in QUANTITY_MAPS else "str"]
        return {"type": "object", "additionalProperties": dict(values)}

    module, _, name = annotation.rpartition(".")
    if name in SCALARS:
        schema = dict(SCALARS[name])
        if place in VALUES:
            schema["enum"] = VALUES[place]
        if place in DEFAULTS:
            schema["default"] = DEFAULTS[place]
        return schema
    _define(module or module_name, name, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _descriptions(documentation: str) -> dict[str, str]:
    """The first sentence on each field, from lines such as "* **name** ``str`` - The name. More …"."""
    found = {}
    for entry in re.split(r"\n\s*\* \*\*", documentation)[1:]:
        match = re.match(r"(\w+)\*\* ``[^`]*`` - (.*)", entry, re.DOTALL)
        if match:
            text = " ".join(match[2].split())
            found[match[1]] = re.split(r"(?<!etc)(?<!e\.g)(?<!i\.e)\.(?: |$)|: - | More info:", text, maxsplit=1)[
                0
            ].rstrip(".")
    return found


if __name__ == "__main__":
    OUTPUT.write_text(generate(), encoding="utf-8")
