"""The cluster as each replica is told of it: `tf.train.ClusterSpec` and TF_CONFIG.

The evaluator belongs to the job but not to the cluster: it reads checkpoints and talks to no one
(https://www.tensorflow.org/guide/distributed_training, "TF_CONFIG"). A job of one process gets no TF_CONFIG.

With `enableDynamicWorker` the spec is sparse: a worker knows the parameter servers and itself alone, so workers
may come and go without anybody being told. Its one task keeps its own index: `{"worker": {"3": "host:2222"}}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from shoal.resources.roles import Role
from shoal.resources.tfjob import TFJob
from shoal.training.replica import ReplicaId

ClusterSpec = dict[str, list[str] | dict[str, str]]


def replica_ids(job: TFJob) -> list[ReplicaId]:
    """Every replica that the job asks for, in listing order."""
    return [ReplicaId(role, index) for role, spec in job.replicas.items() for index in range(spec.count)]


def cluster_spec(job: TFJob, replica: ReplicaId, addresses: Mapping[ReplicaId, str]) -> ClusterSpec:
    """The cluster as `replica` must know it. `addresses` gives `host:port` of each replica in the cluster."""
    spec: ClusterSpec = {
        role.value: [addresses[ReplicaId(role, index)] for index in range(count)]
        for role, count in _known_roles(job, replica).items()
    }
    if job.spec.enable_dynamic_worker and replica.role is Role.WORKER:
        spec[Role.WORKER.value] = {str(replica.index): addresses[replica]}
    return spec


def tf_config(job: TFJob, replica: ReplicaId, addresses: Mapping[ReplicaId, str]) -> str | None:
    """The value of TF_CONFIG for `replica`, or None where the job is one process."""
    if not is_distributed(job):
        return None
    task = {"type": replica.role.value, "index": replica.index}
    return json.dumps({"cluster": cluster_spec(job, replica, addresses), "task": task})


def is_distributed(job: TFJob) -> bool:
    """Whether the job has more than one process, the evaluator counted."""
    return sum(spec.count for spec in job.replicas.values()) > 1


def cluster_shape(job: TFJob, role: Role) -> str:
    """What TF_CONFIG says of the cluster's size to replicas of `role`: `chief=1,ps=2,worker=4`.

    Two replicas of a role with the same shape hold the same view of the cluster, so a change of shape tells which
    replicas must be started again when a job is scaled; comparing shapes costs nothing where comparing a thousand
    cluster specs of a thousand addresses would.
    """
    if not is_distributed(job):
        return ""
    return ",".join(f"{known.value}={count}" for known, count in _known_roles(job, ReplicaId(role, 0)).items())


def _known_roles(job: TFJob, replica: ReplicaId) -> dict[Role, int]:
    """Roles, with their sizes, that the replica's dense cluster spec lists."""
    sizes: dict[Role, int] = {
        role: spec.count for role, spec in job.replicas.items() if role is not Role.EVALUATOR and spec.count
    }
    if job.spec.enable_dynamic_worker:
        sizes.pop(Role.WORKER, None)
        if replica.role is Role.WORKER:
            # Between-graph workers meet only at the parameter servers; they need not know the chief.
            sizes.pop(Role.CHIEF, None)
    return sizes
