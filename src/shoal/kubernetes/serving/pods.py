"""The pods of a model server: the server's container, and whatever the user's template adds.

A pod that is to go is taken out of the Service first and told to end later: `preStop` waits while the last requests
come in, so that a rolling update fails none.
"""

from __future__ import annotations

import hashlib
from copy import deepcopy
from typing import Any

from shoal import __version__
from shoal.kubernetes.claims import pod_volumes
from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.gpu_names import GPUNames
from shoal.kubernetes.labels import MODEL_SERVER
from shoal.kubernetes.pods import ask_for_gpus
from shoal.kubernetes.security import restrict
from shoal.kubernetes.serving.config import (
    BATCHING,
    FOLDER,
    METRICS_PATH,
    MODELS,
    MONITORING,
    config_map_name,
    files,
)
from shoal.resources import ModelServer, ServerKind
from shoal.resources.model_server import SERVER_CONTAINER

TENSORFLOW_SERVING = "tensorflow/serving:2.19.1"
SHOAL = f"shoal/server:{__version__}"

GRPC, REST = 8500, 8501
"""Ports of the container."""

CONFIG_VOLUME = "shoal-model-config"
POLL_SECONDS = 10
"""How often the list of models is read again, once the kubelet has renewed it."""

DRAIN_SECONDS = 10
"""How long a pod that is to go still takes requests: until every proxy knows that it is to go."""

GRACE_SECONDS = 20
"""How long requests under way get after that."""

START_SECONDS = 1800
"""How long loading the first models may take."""

APPLIED_BATCHING = "shoal.dev/batching"
"""Annotation: digest of the file that a server reads once, so that a change of it makes new pods."""


def server_image(server: ModelServer) -> str:
    if server.spec.image:
        return server.spec.image
    if server.spec.serves_by is ServerKind.SHOAL:
        return SHOAL
    return f"{TENSORFLOW_SERVING}-gpu" if server.spec.gpu else TENSORFLOW_SERVING


def selector(server: ModelServer) -> dict[str, str]:
    return {MODEL_SERVER: server.name}


def pod_template(server: ModelServer, gpus: GPUNames) -> Object:
    """What each replica is made from."""
    template = deepcopy(server.spec.template or {})
    spec: Object = template.get("spec") or {}
    containers = spec.pop("containers", None) or []
    written: Object = next((each for each in containers if each["name"] == SERVER_CONTAINER), {})
    container = _container(server, written)
    spec["containers"] = [container, *(each for each in containers if each is not written)]
    volumes, mounts = pod_volumes(server)
    config: Object = {"name": CONFIG_VOLUME, "configMap": {"name": config_map_name(server)}}
    spec["volumes"] = [config, *volumes, *(spec.get("volumes") or [])]
    container["volumeMounts"] = [
        {"name": CONFIG_VOLUME, "mountPath": FOLDER, "readOnly": True},
        *({**mount, "readOnly": True} for mount in mounts),
        *(written.get("volumeMounts") or []),
    ]
    if server.spec.gpu:
        ask_for_gpus(spec, container, server.spec.gpu, gpus)
    spec.setdefault("automountServiceAccountToken", False)
    spec.setdefault("terminationGracePeriodSeconds", DRAIN_SECONDS + GRACE_SECONDS + 10)
    spec.setdefault("topologySpreadConstraints", [_spread(server)])
    restrict(spec)
    return {"metadata": _metadata(server, template.get("metadata") or {}), "spec": spec}


def _metadata(server: ModelServer, written: Object) -> Object:
    annotations = {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(REST),
        "prometheus.io/path": METRICS_PATH,
    }
    if batching := files(server).get(BATCHING):
        annotations[APPLIED_BATCHING] = hashlib.sha256(batching.encode()).hexdigest()[:16]
    return {
        "labels": {**(written.get("labels") or {}), **selector(server)},
        "annotations": {**annotations, **(written.get("annotations") or {})},
    }


def _container(server: ModelServer, written: Object) -> Object:
    made: Object = {
        "name": SERVER_CONTAINER,
        "image": server_image(server),
        "command": ["shoal", "serve"] if _is_shoal(server) else ["tensorflow_model_server"],
        "args": _arguments(server),
        "ports": [{"name": "grpc", "containerPort": GRPC}, {"name": "rest", "containerPort": REST}],
        **_probes(server),
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(DRAIN_SECONDS)]}}},
    }
    if server.spec.resources:
        made["resources"] = deepcopy(server.spec.resources)
    return {**made, **written, "args": [*made["args"], *(written.get("args") or [])]}


def _arguments(server: ModelServer) -> list[str]:
    """Flags of TensorFlow Serving's, which Shoal's server understands, too."""
    arguments = [
        f"--port={GRPC}",
        f"--rest_api_port={REST}",
        f"--model_config_file={FOLDER}/{MODELS}",
        f"--model_config_file_poll_wait_seconds={POLL_SECONDS}",
    ]
    if any(model.labels for model in server.spec.models):
        arguments.append("--allow_version_labels_for_unavailable_models=true")
    if server.spec.batching:
        arguments += ["--enable_batching=true", f"--batching_parameters_file={FOLDER}/{BATCHING}"]
    if _is_shoal(server):
        return [*arguments, "--host=0.0.0.0", f"--grace={GRACE_SECONDS}"]
    return [*arguments, f"--monitoring_config_file={FOLDER}/{MONITORING}"]


def _probes(server: ModelServer) -> dict[str, Any]:
    """TensorFlow Serving opens its ports once the first models are loaded; Shoal's server at once, and says when."""
    alive: Object
    if _is_shoal(server):
        alive = {"httpGet": {"path": "/healthz", "port": "rest"}}
        ready: Object = {"httpGet": {"path": "/readyz", "port": "rest"}}
    else:
        alive = ready = {"tcpSocket": {"port": "rest"}}
    return {
        "startupProbe": {**alive, "periodSeconds": 2, "failureThreshold": START_SECONDS // 2},
        # A server under load may answer late, and to restart it would help nobody.
        "livenessProbe": {**alive, "periodSeconds": 10, "timeoutSeconds": 10, "failureThreshold": 6},
        "readinessProbe": {**ready, "periodSeconds": 2, "timeoutSeconds": 5},
    }


def _spread(server: ModelServer) -> Object:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector(server)},
    }


def _is_shoal(server: ModelServer) -> bool:
    return server.spec.serves_by is ServerKind.SHOAL
