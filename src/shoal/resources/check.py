"""Checks a plain value against a structural schema, and says what is wrong in words.

A JSON Schema library would find the same mistakes. It would not know which name was meant, that `1` wants quotes, or
that a command wants to be a list; the walk that knows is shorter than the translation of a library's errors.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from shoal.resources.place import Finding, Path
from shoal.resources.pod_template import Schema
from shoal.resources.suggestion import nearest, suggest

_INVALID: Final = object()
"""Stands for a value that was found faulty, and is left out of what is handed on."""

FEW = 12
"""How many names a hint lists."""

_NOUNS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


@dataclass(frozen=True, slots=True)
class Checker:
    """Checks values against `root`. What is wrong is appended to `findings`."""

    root: Schema
    findings: list[Finding] = field(default_factory=list)

    def check(self, value: Any) -> Any:
        """The valid part of `value`: a copy without faulty values, unknown fields and nulls, which mean "not set"."""
        checked = self._check(value, self.root, ())
        return {} if checked is _INVALID else checked

    def _check(self, value: Any, schema: Schema, path: Path) -> Any:
        if schema.get("x-kubernetes-int-or-string"):
            return self._int_or_string(value, schema, path)
        expected = schema["type"]
        if not _is(value, expected):
            return self._wrong_type(value, schema, path)
        match expected:
            case "object":
                return self._mapping(value, schema, path)
            case "array":
                return self._list(value, schema, path)
            case _:
                return self._scalar(value, schema, path)

    def _mapping(self, value: dict[str, Any], schema: Schema, path: Path) -> Any:
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return value
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties")
        checked = {}
        for name, part in value.items():
            if name in properties:
                if part is not None:
                    checked[name] = self._check(part, properties[name], (*path, name))
            elif others is not None:
                checked[name] = self._check(part, others, (*path, name))
            else:
                self._unknown(name, path, list(properties))
        for name in schema.get("required", ()):
            if value.get(name) is None:
                self._find((*path, name), "missing", _explain(properties[name]))
        if len(value) < schema.get("minProperties", 0):
            self._find(path, "empty", _explain(schema))
        return {name: part for name, part in checked.items() if part is not _INVALID}

    def _list(self, value: list[Any], schema: Schema, path: Path) -> Any:
        checked = [self._check(item, schema["items"], (*path, index)) for index, item in enumerate(value)]
        if len(value) < schema.get("minItems", 0):
            self._find(path, "empty", _explain(schema))
        if len(value) > schema.get("maxItems", math.inf):
            self._find(path, f"{len(value)} items; there can be {schema['maxItems']} at most")
        if keys := schema.get("x-kubernetes-list-map-keys"):
            self._distinct(checked, schema["items"], keys, path)
        # A faulty mapping leaves an empty one behind, so that the items after it keep their indices.
        stand_in = {} if schema["items"].get("type") == "object" else _INVALID
        items = (stand_in if item is _INVALID else item for item in checked)
        return [item for item in items if item is not _INVALID]

    def _distinct(self, items: list[Any], schema: Schema, keys: list[str], path: Path) -> None:
        """No two items agree in all of `keys`."""
        first: dict[tuple[Any, ...], int] = {}
        for index, item in enumerate(items):
            if item is _INVALID:
                continue
            identity = tuple(item.get(key, schema["properties"][key].get("default")) for key in keys)
            if None in identity:
                continue
            if identity in first:
                self._find((*path, index, keys[0]), f"{_show(identity[0])} is already item {first[identity]}")
            first.setdefault(identity, index)

    def _scalar(self, value: Any, schema: Schema, path: Path) -> Any:
        problem, hint = "", _explain(schema)
        if value not in (choices := schema.get("enum", [value])):
            listed = ", ".join(str(choice) or '""' for choice in choices)
            problem = f"{_show(value)} is not one of {listed}"
            meant = nearest(str(value), [str(choice) for choice in choices])
            hint = f"did you mean {meant}?" if meant else ""
        elif isinstance(value, str):
            if len(value) < schema.get("minLength", 0):
                problem = "empty"
            elif len(value) > schema.get("maxLength", math.inf):
                problem = f"longer than {schema['maxLength']} characters"
            elif not _matches(schema.get("pattern", ""), value):
                problem = f"{_show(value)} does not match {schema['pattern']}"
            elif schema.get("format") == "date-time" and not _is_time(value):
                problem, hint = f"{_show(value)} is not a time", "write it as 2026-01-31T12:00:00Z"
        elif value < schema.get("minimum", -math.inf):
            problem = f"{value} is too small: at least {schema['minimum']}"
        elif value > schema.get("maximum", math.inf):
            problem = f"{value} is too large: at most {schema['maximum']}"
        if problem:
            self._find(path, problem, hint)
            return _INVALID
        return value

    def _int_or_string(self, value: Any, schema: Schema, path: Path) -> Any:
        pattern = schema.get("pattern")
        if isinstance(value, float):
            self._find(path, f"expected a whole number or text, found {value}", f'put it in quotes: "{value}"')
        elif not (_is(value, "integer") or isinstance(value, str)):
            self._find(path, f"expected a number or text, found {_describe(value)}")
        elif pattern and not re.fullmatch(pattern, str(value)):
            self._find(path, f"{_show(value)} is not a quantity", "write a number and a unit, as in 500m, 2 or 4Gi")
        else:
            return value
        return _INVALID

    def _wrong_type(self, value: Any, schema: Schema, path: Path) -> Any:
        expected = schema["type"]
        self._find(path, f"expected {_NOUNS[expected]}, found {_describe(value)}", _mend(value, schema))
        return _INVALID

    def _unknown(self, name: str, path: Path, siblings: list[str]) -> None:
        meant = suggest(name, path, siblings, self.root)
        known = f"known here: {', '.join(siblings)}" if len(siblings) <= FEW else ""
        self._find((*path, name), "unknown field", f"did you mean {meant}?" if meant else known)

    def _find(self, path: Path, problem: str, hint: str = "") -> None:
        self.findings.append(Finding(path, problem, hint))


def _is(value: Any, expected: str) -> bool:
    match expected:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _mend(value: Any, schema: Schema) -> str:
    """How to write what was probably meant."""
    match schema["type"]:
        case "string" if isinstance(value, bool):
            return "put the word in quotes"
        case "string" if isinstance(value, int | float):
            return f'put it in quotes: "{value}"'
        case "integer" | "number" if isinstance(value, str) and re.fullmatch(r"[0-9]+", value):
            return "remove the quotes"
        case "boolean" if isinstance(value, str) and value.lower() in ("true", "false"):
            return "remove the quotes"
        case "array" if isinstance(value, dict):
            return 'begin each item with "- "'
        case "array" if isinstance(value, str) and schema["items"].get("type") == "string":
            return f"write a list: {json.dumps(_words(value))}"
    return ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _explain(schema: Schema) -> str:
    """The first sentence on a field, as the end of a sentence."""
    description: str = schema.get("description", "")
    sentence = description.split(". ")[0].rstrip(".")
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _describe(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text {_show(value)}"
        case _:
            return _show(value)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:56]}…{text[-1]}"


def _matches(pattern: str, value: str) -> bool:
    """As the API server and pydantic have it, whose `$` is the end and not what stands before a last line feed."""
    return re.search(re.sub(r"\$$", r"\\Z", pattern), value) is not None
