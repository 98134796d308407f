"""What a field that nobody knows was meant to be: a name beside it that is spelt alike, or its place elsewhere.

Both are searched for in the schema, so a field that moves or is added is suggested with no list to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from shoal.resources.place import Path, format_path
from shoal.resources.pod_template import Schema

ALIKE = 0.84
"""Names this similar are the same word misspelt: `cleanPodPolcy`."""

SIMILAR = 0.66
"""Names this similar are still worth a question, where nothing better is found: `volumesMount`, `volumeMounts`."""


class Place(NamedTuple):
    """A field of the schema. `*` in the path stands for any key, `[]` for any item; `optional` counts its steps that
    may be left out."""

    path: tuple[str, ...]
    optional: int


def nearest(word: str, choices: Sequence[str], threshold: float = SIMILAR) -> str | None:
    """The choice that is spelt most like `word`, in any case of letters."""
    ratio, choice = max(((_likeness(word, choice), choice) for choice in choices), default=(0.0, ""))
    return choice if ratio >= threshold else None


def suggest(name: str, parent: Path, siblings: Sequence[str], root: Schema) -> str | None:
    """What `name`, an unknown field of the object at `parent`, was meant to be.

    First a sibling that is spelt almost alike, then the same name elsewhere, nearest first, then names less alike.
    """
    return (
        nearest(name, siblings, ALIKE)
        or _elsewhere(name, parent, root, 1.0)
        or nearest(name, siblings, SIMILAR)
        or _elsewhere(name, parent, root, ALIKE)
    )


def _elsewhere(name: str, parent: Path, root: Schema, threshold: float) -> str | None:
    found = [
        place
        for place in _places(root)
        if _likeness(name, place.path[-1]) >= threshold and _common(parent, place.path) < len(place.path)
    ]
    if not found:
        return None
    best = min(found, key=lambda place: (*_distance(parent, place.path), place.optional, place.path))
    known = _common(parent, best.path)
    return format_path((*parent[:known], *best.path[known:]))


def _distance(parent: Path, place: tuple[str, ...]) -> tuple[int, int]:
    """Steps up and down from the parent to the place. Going down alone, into a part of the parent, is nearest."""
    common = _common(parent, place)
    up, down = len(parent) - common, len(place) - common
    return up + down, up


def _common(parent: Path, place: tuple[str, ...]) -> int:
    """How many leading steps of a manifest's path and a schema's path are the same."""
    steps = zip(parent, place, strict=False)
    return next(
        (
            n
            for n, (own, step) in enumerate(steps)
            if not (own == step or step == "*" or (step == "[]" and isinstance(own, int)))
        ),
        min(len(parent), len(place)),
    )


def _places(schema: Schema, path: tuple[str, ...] = (), optional: int = 0) -> Iterator[Place]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        steps = optional + (name not in required)
        yield Place((*path, name), steps)
        yield from _places(part, (*path, name), steps)
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from _places(values, (*path, "*"), optional)
    if "items" in schema:
        yield from _places(schema["items"], (*path, "[]"), optional)


def _likeness(word: str, choice: str) -> float:
    word, choice = word.lower(), choice.lower()
    if word == choice:
        return 1.0
    matcher = SequenceMatcher(None, word, choice)
    return matcher.ratio() if matcher.real_quick_ratio() >= SIMILAR and matcher.quick_ratio() >= SIMILAR else 0.0
