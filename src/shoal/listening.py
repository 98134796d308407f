"""Sockets to listen at, and what is said where that cannot be."""

from __future__ import annotations

import socket

BACKLOG = 512


class ListenError(Exception):
    """A server cannot listen where it is told to."""


def listen(host: str, port: int, shared: bool = False) -> socket.socket:
    """A socket that listens; port 0 is any free one. Other processes may listen there too if all say `shared`. Raises
    ListenError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=shared)
    except OSError as fault:
        raise ListenError(f"cannot listen at {host}:{port}: {fault.strerror}") from None
    # Connections inherit it. Else each answer, sent as head and body, waits 40 ms for the client's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def check(host: str, port: int) -> None:
    """Raise ListenError where nobody could listen now: before TensorFlow is imported, which takes seconds."""
    listen(host, port).close()
