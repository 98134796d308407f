"""Whom a lease's server lets in, and how it shares out the lease's memory."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import sys
from threading import Thread

import pytest

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.server import listener
from shoal.cuda.server.budget import Budget
from shoal.cuda.server.layout import pairs, pieces, text
from shoal.cuda.server.offer import Offer

TOKEN = "t" * 43
HASH = hashlib.sha256(TOKEN.encode()).hexdigest()


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (TOKEN.encode() + b"\n", ""),
        (b"\n", "no token"),
        (b"", "no token"),
        (b"u" * 43 + b"\n", "not the token of this lease"),
        (TOKEN[:-1].encode() + b"\n", "not the token of this lease"),
        (TOKEN.encode() + b"t\n", "not the token of this lease"),
        (b"t" * (1 << 20), "no token, but what is none"),
        (b"\xff\n", "not the token of this lease"),
        (TOKEN.encode(), "no token within 0.2 s"),
    ],
)
def test_who_does_not_show_the_token_is_refused(shown: bytes, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "TOKEN_SECONDS", 0.2)
    here, there = socket.socketpair()

    def show() -> None:
        try:
            here.sendall(shown)
        except OSError:
            return  # it hung up on what is no token
        if not shown:
            here.shutdown(socket.SHUT_WR)

    with here, there:
        showing = Thread(target=show)
        showing.start()
        assert listener.refusal(there, HASH) == why
        there.close()
        showing.join()


def test_nothing_behind_the_token_is_read_with_it() -> None:
    here, there = socket.socketpair()
    with here, there:
        here.sendall(TOKEN.encode() + b"\nnext")
        assert listener.refusal(there, HASH) == ""
        assert there.recv(100) == b"next"


def test_clients_of_a_lease_share_its_memory_and_a_dead_ones_part_is_free() -> None:
    budget = Budget([100, 50], rows=4)
    assert budget.take(0, 0, 60)
    if not (pid := os.fork()):
        taken = [budget.take(1, 0, 41), budget.take(1, 0, 40), budget.take(1, 1, 50)]
        os._exit(0 if taken == [False, True, True] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (budget.free(0), budget.free(1)) == (0, 0)
    assert not budget.take(0, 0, 1)
    budget.clear(1)
    assert (budget.free(0), budget.free(1)) == (40, 50)
    budget.give(0, 0, 60)
    assert budget.free(0) == 100


def test_code_that_is_cut_short_is_refused() -> None:
    whole = b"".join(struct.pack("<Q", len(each)) + each for each in (b"one", b"", b"three"))
    assert pieces(memoryview(whole), 3) == [b"one", b"", b"three"]
    for cut in (whole[:-1], whole[:7], whole[:15]):
        with pytest.raises(DriverError) as refused:
            pieces(memoryview(cut), 3)
        assert refused.value.status == Status.INVALID_IMAGE
    with pytest.raises(DriverError):
        pieces(memoryview(struct.pack("<Q", 1 << 63)), 1)


def test_text_and_pairs_have_their_length_before_them() -> None:
    assert text("né") == b"\x03\x00n\xc3\xa9"
    assert pairs([(1, -2)]) == struct.pack("<Iii", 1, 1, -2)
    with pytest.raises(DriverError):
        text("x" * 70_000)


def test_a_host_without_the_software_gpus_libraries_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shoal.cuda.soft.driver", None)
    offered = Offer.of([{"id": "software-0", "model": "A", "memory_mib": 3}], "libcuda.so.1")
    offered.prepare()
    with pytest.raises(DriverError, match=r"software GPUs need shoal\[gpu\] there") as fault:
        offered.driver()
    assert fault.value.status == Status.NO_DEVICE


def test_a_lease_has_gpus_of_one_kind() -> None:
    offered = Offer.of([{"id": "software-1", "model": "A", "memory_mib": 3}], "libcuda.so.1")
    assert offered.software
    assert offered.gpus[0].memory == 3 << 20
    mixed = [{"id": id, "model": "A", "memory_mib": 1} for id in ("software-0", "GPU-1")]
    with pytest.raises(ValueError, match="either software GPUs or NVIDIA's"):
        Offer.of(mixed, "libcuda.so.1")
