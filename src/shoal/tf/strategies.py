"""The `tf.distribute` strategy that the job asks for."""

from __future__ import annotations

import os
import time
from typing import Any

import tensorflow as tf

from shoal.tf.cluster import Cluster, ClusterError

GRAPH_STRATEGIES = ("BetweenGraphAsync", "BetweenGraphSync", "InGraph")

LONGEST_WAIT_SECONDS = 120.0
"""For a worker's connection to a parameter server: gRPC itself tries again after this long at the latest
(https://github.com/grpc/grpc/blob/master/doc/connection-backoff.md)."""


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
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        driver = tf.distribute.ParameterServerStrategy(resolver, **options)
        _connect_workers_to_parameter_servers(resolver.cluster_spec())
        return driver
    return tf.distribute.MultiWorkerMirroredStrategy(**options)


def _connect_workers_to_parameter_servers(cluster: tf.train.ClusterSpec) -> None:
    """Wait until each worker reaches every parameter server.

    A worker outlives a parameter server that dies, and may just have tried to call it in vain: then it refuses all
    calls for a second or more without trying, though the server is back, and the first step would fail. What is not
    mended by waiting is left to the training to meet.
    """

    def call_each() -> list[tf.Tensor]:
        answers = []
        for index in cluster.task_indices("ps"):
            with tf.device(f"/job:ps/replica:0/task:{index}/device:CPU:0"):
                answers.append(tf.constant(index))
        return answers

    call = tf.function(call_each)
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    for index in cluster.task_indices("worker"):
        while True:
            try:
                with tf.device(f"/job:worker/replica:0/task:{index}/device:CPU:0"):
                    call()
            except tf.errors.OpError as error:
                lost_server = isinstance(error, tf.errors.UnavailableError) and "/job:ps/" in str(error)
                if lost_server and time.monotonic() < deadline:
                    time.sleep(0.1)
                    continue
            break


def _alone(options: dict[str, Any]) -> tf.distribute.Strategy:
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy(**options)
    return tf.distribute.get_strategy()
