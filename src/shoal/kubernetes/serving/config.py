"""What a model server is told in files, in TensorFlow Serving's text formats. Shoal's server reads the same.

It reads the list of models again as it changes; the other files it reads once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import metadata, object_name
from shoal.resources import ModelServer, ServerKind
from shoal.resources.model_server import Batching, ServedModel

FOLDER = "/etc/shoal"
MODELS = "models.config"
BATCHING = "batching.config"
MONITORING = "monitoring.config"
METRICS_PATH = "/monitoring/prometheus/metrics"


def config_map_name(server: ModelServer) -> str:
    return object_name(server, "models")


def config_map(server: ModelServer) -> Object:
    """`SERVER-models`: the files that the server's pods mount."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(server, config_map_name(server)),
        "data": files(server),
    }


def files(server: ModelServer) -> dict[str, str]:
    """The text of each file, by its name."""
    found = {MODELS: model_list(server.spec.models)}
    if server.spec.batching:
        found[BATCHING] = batching_parameters(server.spec.batching)
    if server.spec.serves_by is ServerKind.TENSORFLOW_SERVING:  # Shoal's has metrics without being told to
        found[MONITORING] = f"prometheus_config {{ enable: true path: {_text(METRICS_PATH)} }}\n"
    return found


def model_list(models: list[ServedModel]) -> str:
    """A `ModelServerConfig`."""
    lines = ["model_config_list {"]
    for model in models:
        lines += ["  config {", *(f"    {line}" for line in _model(model)), "  }"]
    return "\n".join([*lines, "}", ""])


def batching_parameters(batching: Batching) -> str:
    """A `BatchingParameters`."""
    lines = []
    for field in ("max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads"):
        if (value := getattr(batching, field)) is not None:
            lines.append(f"{field} {{ value: {value} }}")
    lines += [f"allowed_batch_sizes: {size}" for size in batching.allowed_batch_sizes or []]
    if batching.pad_variable_length_inputs:
        lines.append("pad_variable_length_inputs: true")
    return "".join(f"{line}\n" for line in lines)


def _model(model: ServedModel) -> Iterator[str]:
    yield f"name: {_text(model.name)}"
    yield f"base_path: {_text(model.base_path)}"
    yield 'model_platform: "tensorflow"'
    policy = model.version_policy
    if policy and policy.latest:
        yield f"model_version_policy {{ latest {{ num_versions: {policy.latest.count or 1} }} }}"
    elif policy and policy.all_versions:
        yield "model_version_policy { all {} }"
    elif policy and policy.specific:
        versions = " ".join(f"versions: {version}" for version in policy.specific.versions)
        yield f"model_version_policy {{ specific {{ {versions} }} }}"
    for label, version in (model.labels or {}).items():
        yield f"version_labels {{ key: {_text(label)} value: {version} }}"


def _text(value: str) -> str:
    """Quoted as the text format has it, whose escapes are C's."""
    return json.dumps(value, ensure_ascii=False)
