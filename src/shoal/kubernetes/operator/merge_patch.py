"""The difference between two values as a JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any


def merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What turns `before` into `after`; empty where nothing has changed. Lists are replaced as a whole."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        known = before.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            if inner := merge_patch(known, value):
                patch[key] = inner
        elif key not in before or known != value:
            patch[key] = value
    return patch
