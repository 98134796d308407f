"""Pure decisions about training jobs: no clock is read, nothing is started, nothing is awaited."""

from shoal.training.cluster_spec import cluster_shape, cluster_spec, is_distributed, replica_ids, tf_config
from shoal.training.decide import decide
from shoal.training.decision import Action, Create, Decision, Delete, DeleteJob, Scale, Serve
from shoal.training.replica import (
    Cause,
    Observed,
    Replica,
    ReplicaId,
    ReplicaProgress,
    ReplicaState,
)

__all__ = [
    "Action",
    "Cause",
    "Create",
    "Decision",
    "Delete",
    "DeleteJob",
    "Observed",
    "Replica",
    "ReplicaId",
    "ReplicaProgress",
    "ReplicaState",
    "Scale",
    "Serve",
    "cluster_shape",
    "cluster_spec",
    "decide",
    "is_distributed",
    "replica_ids",
    "tf_config",
]
