"""Where the cluster is, and who asks: from kubeconfig files, or from the pod's service account.

Several files, as `$KUBECONFIG` may list them, count as one. Of two entries of the same name the first is taken, a file
that is not there is passed over, and paths are relative to the file that names them
(https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG, KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

_PATHS = {
    "clusters": ("cluster", ("certificate-authority",)),
    "contexts": ("context", ()),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
}
"""By section: the key that holds an entry, and which of its fields are paths."""


def configuration(files: Sequence[str], context: str | None) -> SingleConfig:
    """How to reach the cluster: as the files say; without any, as the pod's service account, else as `kubectl` would.

    Raises lightkube's ConfigError where there is no such file or context, and whatever reading a file that is no
    kubeconfig may raise.
    """
    found = _config(files).get(context_name=context)
    assert found is not None  # only where a default was given
    return found


def named_files() -> list[str]:
    """The files that `$KUBECONFIG` lists."""
    return [each for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]


def read(files: Sequence[str]) -> KubeConfig:
    """The files as one. Raises as `configuration` does."""
    there = [path for path in (Path(each).expanduser() for each in files) if path.is_file()]
    if not there:
        raise ConfigError(f"Configuration file {' or '.join(files)} not found")
    merged: dict[str, Any] = {}
    for path in there:
        text = yaml.safe_load(path.read_text(encoding="utf-8"))
        merged["current-context"] = merged.get("current-context") or text.get("current-context") or None
        for section in _PATHS:
            entries = merged.setdefault(section, [])
            names = {each["name"] for each in entries}
            entries += [each for each in _entries(text, section, path) if each["name"] not in names]
    return KubeConfig.from_dict(merged, fname=there[0])


def _config(files: Sequence[str]) -> KubeConfig:
    if files:
        return read(files)
    try:
        return KubeConfig.from_service_account()
    except ConfigError:
        return read(named_files() or [DEFAULT_KUBECONFIG])


def _entries(text: dict[str, Any], section: str, path: Path) -> Iterator[dict[str, Any]]:
    """The entries of one section of the file at `path`, their paths made whole."""
    key, fields = _PATHS[section]
    for each in text.get(section) or []:
        whole = {field: str(path.parent / each[key][field]) for field in fields if each[key].get(field)}
        yield {**each, key: {**each[key], **whole}}
