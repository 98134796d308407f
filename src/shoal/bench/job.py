"""A benchmark as a TFJob, for one machine or for Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.bench.options import TrainOptions, VariableUpdate, check_roles

STRATEGIES = {
    VariableUpdate.PARAMETER_SERVER: "ParameterServer",
    VariableUpdate.COLLECTIVE_ALL_REDUCE: "AllReduce",
    VariableUpdate.INDEPENDENT: "Independent",
}
"""What `spec.strategy` of a TFJob calls them."""

KEYS = {"ps": "PS", "worker": "Worker", "chief": "Chief"}


def manifest(
    name: str,
    options: TrainOptions,
    roles: Mapping[str, int],
    *,
    image: str,
    gpus: int = 0,
    gpu_resource: str = "shoal.dev/gpu",
) -> dict[str, Any]:
    """The TFJob in which each replica runs this benchmark's part. Parameter servers get a chief, who drives the
    workers. `gpus` are those of each replica that trains. Raises OptionError for roles that do not go with the
    options."""
    check_roles(options.variable_update, list(roles))
    roles = dict(roles)
    if options.variable_update is VariableUpdate.PARAMETER_SERVER:
        roles.setdefault("chief", 1)
    container = {
        "name": "tensorflow",
        "image": image,
        "command": ["shoal", "bench", "train", *options.flags, "--tell-result"],
    }
    limits = {"resources": {"limits": {gpu_resource: gpus}}} if gpus else {}
    # Workers that a chief drives never end by themselves; of others, each has a result to tell.
    ends = {} if "chief" in roles else {"successPolicy": "AllWorkers"}
    return {
        "apiVersion": "shoal.dev/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            "strategy": STRATEGIES[options.variable_update],
            **ends,
            "runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "Running"},
            "tfReplicaSpecs": {
                KEYS[role]: {
                    "replicas": number,
                    "restartPolicy": "Never",
                    "template": {"spec": {"containers": [container | (limits if role == "worker" else {})]}},
                }
                for role, number in roles.items()
            },
        },
    }
