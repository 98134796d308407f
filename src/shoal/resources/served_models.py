"""What the replicas of a model server answer of their models, as it stands in the status of a ModelServer.

Both servers answer `GET /v1/models/NAME` with the state of each version
(https://www.tensorflow.org/tfx/serving/api_rest#model_status_api).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from shoal.resources.model_server import AVAILABLE, ModelStatus, VersionStatus

MOST_VERSIONS = 8
"""So many are told of each model: a status must stay small, whatever lies in the folder."""

MOST_MESSAGE = 200
"""Characters."""


def path_of(model: str) -> str:
    """Where REST tells of the model."""
    return f"/v1/models/{model}"


def read_versions(body: bytes) -> list[VersionStatus]:
    """What one replica says of a model. A version that has ended in order is none of it any more. Raises ValueError for
    anything else than such an answer."""
    told = json.loads(body)
    try:
        found = [_version(each) for each in told["model_version_status"]]
    except (TypeError, KeyError, AttributeError) as fault:
        raise ValueError("this is no answer of a model server") from fault
    return [each for each in found if each.state != "END" or each.message]


def model_status(name: str, replicas: Iterable[list[VersionStatus]]) -> ModelStatus:
    """What several replicas have said of a model: how many of them have which version in which state."""
    counts = Counter((each.version, each.state, each.message) for said in replicas for each in said)
    listed = [
        VersionStatus(version=version, state=state, replicas=count, message=message)
        for (version, state, message), count in sorted(counts.items(), reverse=True)
    ]
    newest = sorted({each.version for each in listed}, reverse=True)[:MOST_VERSIONS]
    return ModelStatus(name=name, versions=[each for each in listed if each.version in newest])


def in_short(models: Iterable[ModelStatus]) -> str:
    """`digits:2,1 other:-`: the versions that answer, by model."""
    return " ".join(f"{model.name}:{','.join(map(str, model.available)) or '-'}" for model in models)


def settled(models: Iterable[ModelStatus], replicas: int) -> bool:
    """Whether nothing is about to change: each model has a version that answers on all `replicas`, and none is on its
    way there, or away."""
    for model in models:
        states = [(each.state, each.replicas) for each in model.versions]
        if (AVAILABLE, replicas) not in states or any(state not in (AVAILABLE, "END") for state, _ in states):
            return False
    return True


def _version(told: dict[str, object]) -> VersionStatus:
    status = told.get("status")
    message = str(status.get("error_message", "")) if isinstance(status, dict) else ""
    return VersionStatus(
        version=int(str(told["version"])), state=str(told["state"]), message=" ".join(message.split())[:MOST_MESSAGE]
    )
