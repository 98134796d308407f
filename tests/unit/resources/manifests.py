"""Short ways to write a manifest for a test, and to load it."""

from __future__ import annotations

import copy
from typing import Any

import yaml

from shoal.resources import Fault, ManifestError, load

TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "tensorflow", "image": "example/train"}]}}


def manifest(api: str = "shoal.dev/v1", roles: tuple[str, ...] = ("Worker",), **spec: Any) -> dict[str, Any]:
    """A valid manifest: one replica of each role."""
    return {
        "apiVersion": api,
        "kind": "TFJob",
        "metadata": {"name": "train"},
        "spec": {"tfReplicaSpecs": {role: {"template": copy.deepcopy(TEMPLATE)} for role in roles}, **spec},
    }


def changed(value: dict[str, Any], path: str, new: Any) -> dict[str, Any]:
    """A copy with the value at `path` (dots between keys and indices) set, or removed where `new` is `...`."""
    value = copy.deepcopy(value)
    part: Any = value
    *around, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in around:
        part = part.setdefault(key, {}) if isinstance(part, dict) else part[key]
    if new is ...:
        del part[last]
    else:
        part[last] = new
    return value


def faults_of(tmp_path: Any, *documents: dict[str, Any] | str) -> list[Fault]:
    """What `load` says of the documents; none where it takes them."""
    file = tmp_path / "job.yaml"
    file.write_text("---\n".join(d if isinstance(d, str) else yaml.safe_dump(d, sort_keys=False) for d in documents))
    try:
        load(file)
    except ManifestError as error:
        return list(error.faults)
    return []


def told(faults: list[Fault]) -> list[str]:
    """Path, problem and hint of each fault, in one line."""
    return [f"{fault.path}: {fault.problem}" + (f"; {fault.hint}" if fault.hint else "") for fault in faults]
