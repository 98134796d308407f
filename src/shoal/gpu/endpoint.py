"""An endpoint of the broker, and the description of all in OpenAPI 3.1."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from shoal.gpu.messages import ErrorBody
from shoal.gpu.tenants import Role


@dataclass(frozen=True)
class Endpoint:
    """`answer` is given who asks, the request, and its body as `takes`; what it returns is a `gives`."""

    method: str
    path: str
    summary: str
    roles: tuple[Role, ...]
    answer: Callable[..., Awaitable[Any]]
    takes: Any = None
    gives: Any = None
    status: int = 200
    query: tuple[str, ...] = ()


def describe(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """The OpenAPI document."""
    endpoints = list(endpoints)
    types = {id(each): TypeAdapter(each) for e in endpoints for each in (e.takes, e.gives) if each is not None}
    types[id(ErrorBody)] = TypeAdapter(ErrorBody)
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = [(key, "validation", each) for key, each in types.items()]
    schemas, definitions = TypeAdapter.json_schemas(inputs, ref_template="#/components/schemas/{model}")

    def content(type: Any) -> dict[str, Any]:
        return {"application/json": {"schema": schemas[id(type), "validation"]}}

    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        given: dict[str, Any] = {"description": each.summary}
        if each.gives is not None:
            given["content"] = content(each.gives)
        operation: dict[str, Any] = {
            "summary": each.summary,
            "description": f"For {' and '.join(f'{role.value}s' for role in each.roles)}.",
            "parameters": [
                *(
                    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                    for name in re.findall(r"{(\w+)}", each.path)
                ),
                *({"name": name, "in": "query", "schema": {"type": "string"}} for name in each.query),
            ],
            "responses": {
                str(204 if each.gives is None else each.status): given,
                "default": {"description": "What was wrong.", "content": content(ErrorBody)},
            },
        }
        if each.takes is not None:
            operation["requestBody"] = {"required": True, "content": content(each.takes)}
        paths.setdefault(each.path, {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shoal's broker of GPUs", "version": version},
        "paths": paths,
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }
