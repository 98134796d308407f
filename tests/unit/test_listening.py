from __future__ import annotations

import socket

import pytest

from shoal.listening import ListenError, check, listen


def test_connections_send_small_answers_at_once() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_named() -> None:
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ListenError, match=f"cannot listen at 127.0.0.1:{port}: Address already in use"):
            check("127.0.0.1", port)
