"""A worker that outlived a parameter server, and tried in vain to call it, serves the next chief from its first step.

The processes stand ready before the fault, so that the new chief's first step falls into the second in which the
worker refuses all calls to that server: chance alone makes it so once in ten times.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import socket
from contextlib import ExitStack
from multiprocessing.synchronize import Barrier, Event

import pytest

SPAWN = multiprocessing.get_context("spawn")
TIME = 60
CANNOT_CALL = 3
WORKERS = 2


def serve(cluster: dict[str, list[str]], role: str, index: int, start: Barrier | None = None) -> None:
    import_and_wait(cluster, role, index, start)
    import shoal.tf

    shoal.tf.serve()


def train(cluster: dict[str, list[str]], trains: Event, rounds: int, start: Barrier | None = None) -> None:
    """Ends with CANNOT_CALL when a step meets a server that cannot be reached."""
    import_and_wait(cluster, "chief", 0, start)
    import tensorflow as tf

    import shoal.tf

    strategy = shoal.tf.strategy()
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        variable = tf.Variable(0.0)

    @tf.function
    def step() -> tf.Tensor:
        return variable.assign_add(1.0, read_value=True)

    try:
        for _ in range(rounds):
            for _ in range(20):
                coordinator.schedule(step)
            coordinator.join()
            trains.set()
    except tf.errors.UnavailableError:
        os._exit(CANNOT_CALL)
    os._exit(0)


def import_and_wait(cluster: dict[str, list[str]], role: str, index: int, start: Barrier | None) -> None:
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})
    importlib.import_module("tensorflow")
    if start is not None:
        start.wait(TIME)  # ready
        start.wait(TIME)  # go


@pytest.fixture
def cluster() -> dict[str, list[str]]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(2 + WORKERS)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        chief, ps, *workers = (f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
    return {"chief": [chief], "ps": [ps], "worker": workers}


def test_the_first_step_after_a_parameter_server_came_back(cluster):
    restart, trains = SPAWN.Barrier(3), SPAWN.Event()
    workers = [SPAWN.Process(target=serve, args=(cluster, "worker", index)) for index in range(WORKERS)]
    server = SPAWN.Process(target=serve, args=(cluster, "ps", 0))
    chief = SPAWN.Process(target=train, args=(cluster, trains, 1_000_000))
    next_server = SPAWN.Process(target=serve, args=(cluster, "ps", 0, restart))
    next_chief = SPAWN.Process(target=train, args=(cluster, trains, 2, restart))
    everybody = [*workers, server, chief, next_server, next_chief]
    try:
        for process in everybody:
            process.start()
        restart.wait(TIME)
        assert trains.wait(TIME)
        os.kill(server.pid, signal.SIGKILL)
        chief.join(TIME)
        assert chief.exitcode == CANNOT_CALL
        restart.wait(TIME)
        next_chief.join(TIME)
        assert next_chief.exitcode == 0
        assert all(worker.is_alive() for worker in workers)
    finally:
        for process in everybody:
            if process.is_alive():
                process.kill()
            process.join()
