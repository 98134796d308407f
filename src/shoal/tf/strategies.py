"""The `tf.distribute` strategy that the job asks for."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from shoal.tf.cluster import Cluster, ClusterError

GRAPH_STRATEGIES = ("BetweenGraphAsync", "BetweenGraphSync", "InGraph")


def strategy(**options: Any) -> tf.distribute.Strategy:
    """The strategy for this replica, by the manifest's `strategy` (else by the roles in TF_CONFIG).

    `AllReduce` gives MultiWorkerMirroredStrategy, `ParameterServer` gives ParameterServerStrategy; a process alone
    gets MirroredStrategy over its GPUs, or the default strategy where it has none or one. `options` go to the
    constructor. Call it early: TensorFlow wants the strategy before any operation has run.

    Raises ClusterError for a strategy that is a program in TensorFlow 1's style, without a `tf.distribute` strategy.
    """
    cluster = Cluster.from_environment()
    wanted = cluster.strategy
    if wanted in GRAPH_STRATEGIES:
        raise ClusterError(f"strategy {wanted} has no tf.distribute strategy; use shoal.tf.server() and a session")
    if not cluster.distributed or cluster.role == "evaluator" or wanted == "Independent":
        return _alone(options)
    if wanted == "ParameterServer":
        # As TensorFlow's guide asks: else the death of a parameter server is noticed late.
        os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")
        return tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.TFConfigClusterResolver(), **options
        )
    return tf.distribute.MultiWorkerMirroredStrategy(**options)


def _alone(options: dict[str, Any]) -> tf.distribute.Strategy:
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy(**options)
    return tf.distribute.get_strategy()
