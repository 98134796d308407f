"""The fields that `shoal.dev/v1` has and `kubeflow.org/v1` has not, found in a manifest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.resources.place import Path
from shoal.resources.tfjob import SHOAL_ONLY


def shoal_only_fields(manifest: Any) -> Iterator[Path]:
    """The paths of all that a TFJob manifest sets and Kubeflow does not know."""
    for pattern in SHOAL_ONLY:
        yield from _matches(manifest, pattern.split("."), ())


def _matches(value: Any, steps: list[str], path: Path) -> Iterator[Path]:
    if not steps:
        yield path
    elif isinstance(value, dict):
        for key in value if steps[0] == "*" else {steps[0]} & value.keys():
            yield from _matches(value[key], steps[1:], (*path, key))
