from __future__ import annotations

import fcntl
import random
import socket
from pathlib import Path

import pytest

from shoal.local.ports import EPHEMERAL_RANGE, HOST, LOWEST, NoPortsError, answers, choose, free_port, one_at_a_time


def listener(port: int = 0) -> socket.socket:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((HOST, port))
    server.listen()
    return server


def test_ports_are_distinct_and_can_be_bound():
    ports = choose(20)
    assert len(set(ports)) == 20
    for port in ports:
        listener(port).close()


def test_no_port_is_one_that_the_kernel_gives_away_by_itself():
    first, last = map(int, EPHEMERAL_RANGE.read_text().split())
    assert not [port for port in choose(50) if first <= port <= last]
    assert min(choose(50)) >= LOWEST


def test_a_port_in_use_or_taken_is_passed_over():
    ports = set(choose(30))
    with listener(min(ports)):
        for _ in range(20):
            chosen = choose(5, taken=ports - {min(ports)})
            assert not ports & set(chosen)


def test_too_many_ports_are_refused():
    with pytest.raises(NoPortsError, match=r"^100000 ports are wanted, and 0 are free on 127\.0\.0\.1$"):
        choose(100_000, taken=range(1, 65536))
    assert choose(0, taken=range(1, 65536)) == []


def test_whether_something_answers():
    port = free_port()
    assert not answers(f"{HOST}:{port}")
    with listener(port):
        assert answers(f"{HOST}:{port}")
    assert not answers(f"{HOST}:{port}")
    assert not answers("no.such.host.invalid:1")


def test_one_looks_for_ports_at_a_time(tmp_path):
    lock = tmp_path / "lock"
    with one_at_a_time(lock):
        assert not free(lock)
    assert free(lock)
    with pytest.raises(ValueError, match="within"), one_at_a_time(lock):
        raise ValueError("within")
    assert free(lock)


def free(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_programs_that_seed_the_same_choose_each_its_own() -> None:
    """`random` belongs to the program: a training script or a notebook that seeds it, as many do."""
    chosen = []
    for _ in range(8):
        random.seed(1)
        chosen.append(choose(1)[0])
    assert len(set(chosen)) > 1
