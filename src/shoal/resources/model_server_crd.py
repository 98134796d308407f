"""The CustomResourceDefinition of ModelServer."""

from __future__ import annotations

from typing import Any

from shoal.resources.definition import HOST_NAME, STORAGE, Names, Rules, definition, stored_schema
from shoal.resources.schema import model_server_schema
from shoal.resources.tfjob import SHOAL_API


def _one_of(*fields: str) -> str:
    return f"{' + '.join(f'(has(self.{field}) ? 1 : 0)' for field in fields)} == 1"


RULES: Rules = {
    "": [HOST_NAME],
    "spec": [
        ("!has(self.autoscaling) || !has(self.replicas)", "replicas: autoscaling decides how many there are"),
        (
            "!has(self.autoscaling) || !has(self.autoscaling.requestsInFlight)"
            " || (has(self.server) && self.server == 'Shoal')",
            "autoscaling.requestsInFlight: TensorFlow Serving does not count them",
        ),
    ],
    "spec.models.[].versionPolicy": [
        (_one_of("latest", "all", "specific"), "give exactly one of latest, all and specific"),
    ],
    "spec.autoscaling": [
        (_one_of("cpuUtilization", "requestsInFlight"), "give exactly one of cpuUtilization and requestsInFlight"),
        ("!has(self.minReplicas) || self.minReplicas <= self.maxReplicas", "minReplicas is more than maxReplicas"),
    ],
    "spec.podDisruptionBudget": [
        (_one_of("maxUnavailable", "minAvailable"), "give exactly one of maxUnavailable and minAvailable"),
    ],
    "spec.storage.[]": STORAGE,
}

COLUMNS = (
    ("State", "string", ".status.phase", 0),
    ("Ready", "integer", ".status.readyReplicas", 0),
    ("Versions", "string", ".status.servedVersions", 0),
    ("URL", "string", ".status.url", 0),
    ("Models", "string", ".spec.models[*].name", 1),
    ("Message", "string", ".status.message", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)

SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def model_server_crd() -> dict[str, Any]:
    """`modelservers.shoal.dev`."""
    schema = stored_schema(model_server_schema(), RULES)
    return definition(SHOAL_API, Names("ModelServer", "modelservers", "ms"), schema, COLUMNS, SCALE)
