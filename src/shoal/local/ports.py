"""Free ports on 127.0.0.1 that stay free for a replica that is started again.

The kernel hands ports of its ephemeral range to any outgoing connection, so a server's port from that range can be
taken while the server is down. Ports are therefore chosen outside of it.
"""

from __future__ import annotations

import fcntl
import secrets
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
LOWEST, HIGHEST = 10240, 65535
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
ANSWER_SECONDS = 0.2


class NoPortsError(Exception):
    """There are not enough free ports."""


def choose(count: int, taken: Collection[int] = ()) -> list[int]:
    """`count` free ports, none of them in `taken`. Raises NoPortsError."""
    candidates = [port for port in _stable_ports() if port not in taken]
    # Not by `random`: programs that seed it alike would all begin at the same port.
    begin = secrets.randbelow(len(candidates)) if candidates else 0
    chosen: list[int] = []
    for port in candidates[begin:] + candidates[:begin]:
        if len(chosen) == count:
            break
        if is_free(port):
            chosen.append(port)
    if len(chosen) < count:
        raise NoPortsError(f"{count} ports are wanted, and {len(chosen)} are free on {HOST}")
    return chosen


def free_port() -> int:
    """One free port."""
    return choose(1)[0]


def answers(address: str) -> bool:
    """Whether something accepts connections at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold the lock file: from looking for ports until they are written down, no other run looks."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _stable_ports() -> list[int]:
    """Ports that the kernel gives to nobody by itself."""
    try:
        first, last = map(int, EPHEMERAL_RANGE.read_text().split())
    except (OSError, ValueError):
        first, last = 32768, 65535
    return [*range(LOWEST, min(first, HIGHEST)), *range(last + 1, HIGHEST + 1)]


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As a TensorFlow server does; without it a port in TIME_WAIT would look taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
