"""The cluster spec as a ConfigMap, and TF_CONFIG as each pod's environment.

A dense spec of a thousand addresses is the same for every replica, so it stands once in the ConfigMap and every pod's
TF_CONFIG refers to it: the kubelet puts the value of `$(SHOAL_CLUSTER_SPEC)` in its place. A sparse spec is short and
each replica's own, and stands in the pod.
"""

from __future__ import annotations

import json
from typing import Any

from shoal.kubernetes.labels import metadata, namespace, object_name
from shoal.resources import Role, TFJob
from shoal.resources.tfjob import DEFAULT_PORT, PORT_NAME
from shoal.tf import protocol
from shoal.training import ReplicaId, cluster_spec, is_distributed, replica_ids, tf_config
from shoal.training.duties import leader

Object = dict[str, Any]

CLUSTER_SPEC = "SHOAL_CLUSTER_SPEC"
CONFIG_MAP_KEY = "cluster-spec.json"


def addresses(job: TFJob) -> dict[ReplicaId, str]:
    """`host:port` of each member of the cluster: its Service's name in the job's namespace."""
    members = [id for id in replica_ids(job) if id.role is not Role.EVALUATOR]
    return {id: f"{object_name(job, id)}.{namespace(job)}.svc:{port(job, id.role)}" for id in members}


def port(job: TFJob, role: Role) -> int:
    """The port that the container names `tfjob-port`, else 2222."""
    ports = job.replicas[role].container.get("ports") or []
    return next((int(each["containerPort"]) for each in ports if each.get("name") == PORT_NAME), DEFAULT_PORT)


def config_map(job: TFJob) -> Object | None:
    """`JOB-cluster-spec`; None for a job of one process, which has no cluster."""
    if not is_distributed(job):
        return None
    everyone = job.model_copy(update={"spec": job.spec.model_copy(update={"enable_dynamic_worker": None})})
    spec = cluster_spec(everyone, replica_ids(job)[0], addresses(job))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(job, object_name(job, "cluster-spec")),
        "data": {CONFIG_MAP_KEY: json.dumps(spec)},
    }


def environment(job: TFJob, id: ReplicaId) -> list[Object]:
    """Environment variables that tell a replica its place in the job."""
    told: list[Object] = [
        {"name": protocol.JOB, "value": job.name},
        {"name": protocol.REPLICA, "value": str(id)},
        {"name": protocol.LEADER, "value": str(leader(job))},
        {"name": protocol.STRATEGY, "value": job.strategy.value},
    ]
    if not is_distributed(job):
        return told
    if job.spec.enable_dynamic_worker:
        return [*told, {"name": protocol.TF_CONFIG, "value": tf_config(job, id, addresses(job))}]
    task = json.dumps({"type": id.role.value, "index": id.index})
    reference = {"name": object_name(job, "cluster-spec"), "key": CONFIG_MAP_KEY}
    return [
        *told,
        {"name": CLUSTER_SPEC, "valueFrom": {"configMapKeyRef": reference}},
        {"name": protocol.TF_CONFIG, "value": f'{{"cluster": $({CLUSTER_SPEC}), "task": {task}}}'},
    ]
