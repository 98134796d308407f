"""Replicas that serve: parameter servers always, workers where a chief drives them."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

from shoal.tf.cluster import Cluster, ClusterError

_running: list[Any] = []
"""The server of this process: one that nobody holds is taken down."""


def serve() -> None:
    """Serve until ended, in a replica whose duty that is; in any other, return at once.

    Never returns in a parameter server, nor in a worker under `ParameterServer` and `InGraph`: the process ends with
    code 0 on SIGTERM, which Shoal sends when training is done.
    """
    cluster = Cluster.from_environment()
    if cluster.serves:
        _serve_for_ever(cluster)


def server() -> Any:
    """This replica's `tf.distribute.Server`, started: the master of sessions of TensorFlow 1's style.

    Give sessions the `session_config()`. Raises ClusterError for a replica that stands in no cluster.
    """
    cluster = Cluster.from_environment()
    if cluster.address is None:
        raise ClusterError(f"TF_CONFIG names no address for {cluster.role} {cluster.index}, so it cannot serve")
    return _start(cluster)


def session_config() -> Any:
    """The `tf.compat.v1.ConfigProto` for a session by which this replica sees only what it works with.

    That is the parameter servers and itself; for the client of an in-graph job, the servers. Without such filters a
    session waits for every task of the cluster, so one that is being restarted holds up all others. Where workers come
    and go nobody was told of this one: its session tells the parameter servers where it is.
    """
    import tensorflow as tf

    cluster = Cluster.from_environment()
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    if cluster.strategy == "InGraph":
        config.device_filters.extend(["/job:ps", "/job:worker"])
    elif cluster.role in ("chief", "worker"):
        config.device_filters.extend(["/job:ps", f"/job:{cluster.role}/task:{cluster.index}"])
    if cluster.sparse:
        known = {role: dict(tasks) for role, tasks in cluster.tasks.items() if role in ("ps", cluster.role)}
        config.cluster_def.CopyFrom(tf.train.ClusterSpec(known).as_cluster_def())
    return config


def _start(cluster: Cluster) -> Any:
    import tensorflow as tf

    if cluster.sparse and cluster.role != "ps":
        # A session that brings its own cluster must not name a task as its server was named
        # (tensorflow/core/distributed_runtime/master.cc): this one is only known as the session calls it.
        return tf.distribute.Server({"local": [cluster.address]}, job_name="local", task_index=0)
    spec = tf.train.ClusterSpec({role: dict(tasks) for role, tasks in cluster.tasks.items()})
    return tf.distribute.Server(spec, job_name=cluster.role, task_index=cluster.index)


def _serve_for_ever(cluster: Cluster) -> NoReturn:
    os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")
    _running.append(server())
    print(f"{cluster.role} {cluster.index} serves at {cluster.address}", flush=True)
    # Not Server.join(): it holds up Python's signal handlers, so the process could only be torn down.
    signal.signal(signal.SIGTERM, _leave)
    while True:
        signal.pause()


def _leave(number: int, frame: object) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a server's destructor waits for calls that may never come back
