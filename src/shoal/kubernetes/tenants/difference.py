"""What has changed between two states of an object, field by field, as an administrator reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.kubernetes.tenants.kinds import Stored


def differences(before: Stored, after: Stored) -> list[str]:
    """`spec.hard.pods: 10 → 20`. Of what is secret only that it has changed."""
    return [*_between("", _parts(before), _parts(after))]


def _parts(stored: Stored) -> dict[str, Any]:
    parts = {"labels": stored.metadata.labels, "spec": stored.spec, "rules": stored.rules, "subjects": stored.subjects}
    if stored.data is not None:
        parts["data"] = {key: _Secret(text) for key, text in stored.data.items()}
    return {name: part for name, part in parts.items() if part is not None}


class _Secret(str):
    __slots__ = ()


def _between(path: str, before: Any, after: Any) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _between(f"{path}.{key}" if path else key, before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from (f"{path}: without {_text(each)}" for each in before if each not in after)
        yield from (f"{path}: with {_text(each)}" for each in after if each not in before)
    elif isinstance(before, _Secret) or isinstance(after, _Secret):
        yield f"{path}: changed"
    else:
        yield f"{path}: {_text(before)} → {_text(after)}"


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        named = next((value[key] for key in ("name", "to", "from", "resources", "ports") if key in value), None)
        return _text(named) if named is not None else ", ".join(f"{key} {_text(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)
