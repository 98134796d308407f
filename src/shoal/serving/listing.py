"""Every model of a server, in one answer: what TensorFlow Serving, which tells of a model only to who knows its name,
has no request for.

The answer is JSON over either protocol: at the REST API's `/models`, and by gRPC as the bytes that `METHOD` answers. A
server that knows neither is not ours.
"""

from __future__ import annotations

import json
from typing import Protocol

from shoal.serving.status import Code, ServingError
from shoal.serving.versions import State

PATH = "/models"
SERVICE, METHOD = "shoal.serving.Models", "List"


class Models(Protocol):
    """What there is to list: the catalog."""

    def labels(self) -> dict[str, dict[str, int]]: ...

    def statuses(self, name: str) -> list[tuple[int, State, ServingError | None]]: ...


def listing(models: Models) -> bytes:
    """`{"models": [{"name": …, "versions": [{"version", "state", "labels", "error_code", "error_message"}, …]}, …]}`,
    the newest version first."""
    told = [
        {"name": name, "versions": [_version(found, labels) for found in _statuses(models, name)]}
        for name, labels in models.labels().items()
    ]
    return json.dumps({"models": told}).encode()


def _statuses(models: Models, name: str) -> list[tuple[int, State, ServingError | None]]:
    try:
        return models.statuses(name)
    except ServingError:  # no version has been found yet, or the model was taken out a moment ago
        return []


def _version(found: tuple[int, State, ServingError | None], labels: dict[str, int]) -> dict[str, object]:
    number, state, error = found
    return {
        "version": number,
        "state": state.name,
        "labels": sorted(label for label, labelled in labels.items() if labelled == number),
        "error_code": (error.code if error else Code.OK).name,
        "error_message": error.message if error else "",
    }
