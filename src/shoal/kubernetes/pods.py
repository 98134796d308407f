"""A replica as a pod: the user's template, with its place in the cluster, its volumes, its code and its GPUs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from shoal.kubernetes.claims import pod_volumes
from shoal.kubernetes.cluster_config import Object, environment, port
from shoal.kubernetes.code import add_code
from shoal.kubernetes.eviction import keep_from_eviction
from shoal.kubernetes.gang import mark
from shoal.kubernetes.gpu_names import GPU_NAMES, GPUNames
from shoal.kubernetes.labels import metadata, object_name, replica_labels
from shoal.kubernetes.security import restrict
from shoal.resources import SHOAL_API, GPURequest, ReplicaSpec, RestartPolicy, TFJob
from shoal.resources.tfjob import PORT_NAME
from shoal.training import ReplicaId


def pod(job: TFJob, id: ReplicaId, gpus: GPUNames = GPU_NAMES) -> Object:
    """The pod of one replica."""
    replica = job.replicas[id.role]
    template = deepcopy(replica.template)
    spec: Object = template["spec"]
    own = template.get("metadata") or {}
    made = metadata(job, object_name(job, id), {**(own.get("labels") or {}), **replica_labels(job, id)})
    if annotations := {**keep_from_eviction(job, id), **(own.get("annotations") or {})}:
        made["annotations"] = annotations
    container = _training_container(spec, replica)
    container["env"] = [*(container.get("env") or []), *environment(job, id)]
    _open_port(container, port(job, id.role))
    _mount(job, spec, container)
    add_code(job, spec, container)
    if replica.gpu:
        ask_for_gpus(spec, container, replica.gpu, gpus)
    spec["restartPolicy"] = _restart_policy(replica.restarts)
    if job.api_version == SHOAL_API:
        restrict(spec)
    mark(job, made, spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": spec}


def _training_container(spec: Object, replica: ReplicaSpec) -> Object:
    name = replica.container["name"]
    container: Object = next(each for each in spec["containers"] if each["name"] == name)
    return container


def _open_port(container: Object, number: int) -> None:
    ports = container.setdefault("ports", [])
    if not any(each.get("name") == PORT_NAME for each in ports):
        ports.append({"name": PORT_NAME, "containerPort": number})


def _mount(job: TFJob, spec: Object, container: Object) -> None:
    volumes, mounts = pod_volumes(job)
    if volumes:
        spec["volumes"] = [*(spec.get("volumes") or []), *volumes]
        container["volumeMounts"] = [*(container.get("volumeMounts") or []), *mounts]


def _restart_policy(policy: RestartPolicy) -> str:
    """A pod knows no ExitCode: whether an exit code is final is decided by whoever looks at it."""
    return "Never" if policy is RestartPolicy.EXIT_CODE else policy.value


def ask_for_gpus(spec: Object, container: Object, gpu: GPURequest, names: GPUNames) -> None:
    """Limit the container to GPUs of the cluster's, and the pod to nodes that have the models."""
    container.setdefault("resources", {}).setdefault("limits", {})[names.resource] = gpu.count
    if not gpu.models:
        return
    wanted: dict[str, Any] = {"key": names.model_label, "operator": "In", "values": gpu.models}
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": [{}]})
    # Terms are alternatives, so each of them must ask for the model.
    for term in required["nodeSelectorTerms"]:
        term.setdefault("matchExpressions", []).append(wanted)
