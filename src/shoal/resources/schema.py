"""The structural schema of a resource, from its model.

Kubernetes takes less than JSON Schema has
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema),
and pydantic writes more than a schema needs. What comes out here is both what the loader checks manifests against and
what the CustomResourceDefinitions say.
"""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel

from shoal.resources.model_server import ModelServer
from shoal.resources.pod_template import Schema, object_meta_schema, pod_template_schema
from shoal.resources.tensorboard import TensorBoard
from shoal.resources.tfjob import TFJob
from shoal.resources.workbench import Workbench

_DROPPED = ("title", "default", "propertyNames", "$defs")
"""Titles repeat the names, defaults are the reader's business, and a structural schema cannot constrain keys."""


@cache
def tfjob_schema() -> Schema:
    """The whole TFJob as `shoal.dev/v1` has it. Read it, do not change it."""
    schema = structural_schema(TFJob)
    metadata = schema["properties"]["metadata"]
    schema["properties"]["metadata"] = {**object_meta_schema(), "description": metadata["description"]}
    replica_spec = schema["properties"]["spec"]["properties"]["tfReplicaSpecs"]["additionalProperties"]["properties"]
    replica_spec["template"] = {**pod_template_schema(), "description": replica_spec["template"]["description"]}
    return schema


@cache
def model_server_schema() -> Schema:
    """The whole ModelServer. Its template is a pod's, but for the containers, which may be left out."""
    return _with_pod(structural_schema(ModelServer))


@cache
def tensorboard_schema() -> Schema:
    """The whole TensorBoard, whose template is as a ModelServer's."""
    return _with_pod(structural_schema(TensorBoard))


@cache
def workbench_schema() -> Schema:
    """The whole Workbench, whose template is as a ModelServer's."""
    return _with_pod(structural_schema(Workbench))


def _with_pod(schema: Schema) -> Schema:
    """The schema with Kubernetes' own in the places of metadata, `template` and `resources`."""
    metadata, spec = schema["properties"]["metadata"], schema["properties"]["spec"]["properties"]
    schema["properties"]["metadata"] = {**object_meta_schema(), "description": metadata["description"]}
    template = pod_template_schema()
    pod = template["properties"]["spec"]
    container = pod["properties"]["containers"]["items"]
    pod = {key: part for key, part in pod.items() if key != "required"}
    properties = {**template["properties"], "spec": pod}
    spec["template"] = {**template, "properties": properties, "description": spec["template"]["description"]}
    resources = container["properties"]["resources"]
    spec["resources"] = {**resources, "description": spec["resources"]["description"]}
    return schema


def structural_schema(model: type[BaseModel]) -> Schema:
    """The model's schema with every reference followed. Raises ValueError for a model that contains itself."""
    written = model.model_json_schema(by_alias=True)
    schema: Schema = _structural(written, written.get("$defs", {}), ())
    return schema


def _structural(schema: Schema, definitions: dict[str, Schema], within: tuple[str, ...]) -> Schema:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        if name in within:
            raise ValueError(f"{name} contains itself: a structural schema cannot express recursion")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _structural({**definitions[name], **rest}, definitions, (*within, name))
    if "anyOf" in schema:
        choices = [choice for choice in schema["anyOf"] if choice.get("type") != "null"]
        if len(choices) != 1:
            raise ValueError(f"a structural schema has one type, not one of {schema['anyOf']}")
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return _structural({**choices[0], **rest}, definitions, within)

    result: Schema = {}
    for key, value in schema.items():
        match key:
            case "properties":
                result[key] = {name: _structural(part, definitions, within) for name, part in value.items()}
            case "items":
                result[key] = _structural(value, definitions, within)
            case "additionalProperties" if isinstance(value, dict):
                result[key] = _structural(value, definitions, within)
            case "additionalProperties":
                if value:
                    result["x-kubernetes-preserve-unknown-fields"] = True
            case "const":
                result |= {"enum": [value], "type": "string"}
            case "exclusiveMinimum" | "exclusiveMaximum":
                # OpenAPI v3.0, which Kubernetes uses, has the bound and a flag where JSON Schema has two bounds.
                result |= {key.removeprefix("exclusive").lower(): value, key: True}
            case "description":
                result[key] = " ".join(value.split())
            case _ if key not in _DROPPED:
                result[key] = value
    return result
