"""Pods for tests of the test cluster, as small as they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SCRIPT = "fake-kubelet.shoal.dev/"


def fake_pod(name: str, restart: str = "Never", **script: str) -> dict[str, Any]:
    """A pod for the fake kubelet; `script` are its annotations, as exit="1@1s"."""
    return pod(name, [container()], restart, annotations=annotations(**script))


def annotations(**script: str) -> dict[str, str]:
    """Annotations of the fake kubelet; an underscore stands for a dash."""
    return {SCRIPT + name.replace("_", "-"): text for name, text in script.items()}


def container(name: str = "main", image: str = "busybox", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **more}


def pod(
    name: str,
    containers: Sequence[Mapping[str, Any]],
    restart: str = "Never",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": dict(annotations or {}), "labels": dict(labels or {})},
        "spec": {"restartPolicy": restart, "containers": list(containers), **spec},
    }
