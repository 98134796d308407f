"""A client whose server, or what is between them, breaks replies: it neither crashes nor hangs, whatever comes."""

from __future__ import annotations

import os
import random
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from shoal.cuda.api.answers import Mode
from shoal.cuda.api.messages import HEADER, messages
from shoal.cuda.environment import SERVERS
from tests.integration.cuda.servers import Server, build, serving

CLIENTS = int(os.environ.get("SHOAL_GARBLED_CLIENTS", "2000"))
PATIENCE = 0.02
"""Seconds that a client may wait for what does not come, before its connection ends."""
LENGTHS = (0, 1, 7, 15, 16, 17, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)


def received(connection: socket.socket, size: int) -> bytes:
    """Raises ConnectionError where it ends before."""
    found = b""
    while len(found) < size:
        if not (got := connection.recv(size - len(found))):
            raise ConnectionError
        found += got
    return found


def asked(connection: socket.socket) -> Iterator[tuple[bytes, int, bool]]:
    """A client's messages: the whole, its sequence number, and whether it waits for a reply."""
    while True:
        header = received(connection, HEADER.size)
        size, number, sequence, _ = HEADER.unpack(header)
        yield header + received(connection, size), sequence, messages()[number].mode is not Mode.POSTED


def reply_of(connection: socket.socket) -> bytes:
    header = received(connection, HEADER.size)
    return header + received(connection, HEADER.unpack(header)[0])


def recorded(server: Server, program: Path) -> dict[int, bytes]:
    """The true replies to one client, by the number of what they answer; 0 is the greeting."""
    replies: dict[int, bytes] = {}
    host, _, port = server.address.partition(":")
    with socket.create_server(("127.0.0.1", 0)) as listening, client(listening, server, program, 1) as process:
        connection, _ = listening.accept()
        with connection, socket.create_connection((host, int(port))) as true, suppress(ConnectionError):
            token = b""
            while not token.endswith(b"\n"):
                token += received(connection, 1)
            true.sendall(token)
            replies[0] = reply_of(true)
            connection.sendall(replies[0])
            for message, sequence, waits in asked(connection):
                true.sendall(message)
                if waits:
                    replies[sequence] = reply_of(true)
                    connection.sendall(replies[sequence])
        assert process.wait(60) == 0
    return replies


@contextmanager
def client(listening: socket.socket, server: Server, program: Path, times: int) -> Iterator[subprocess.Popen[bytes]]:
    address = f"127.0.0.1:{listening.getsockname()[1]}"
    environment = {**server.environment(), SERVERS: address}
    with subprocess.Popen(
        [program, str(times)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def broken(reply: bytes, made: random.Random) -> bytes:
    found = bytearray(reply)
    match made.randrange(6):
        case 0:  # another length
            near = max(len(reply) - HEADER.size + made.randrange(-3, 4), 0)
            found[:4] = made.choice([*LENGTHS, near]).to_bytes(4, "little")
        case 1:  # another field of the header
            at = made.choice([4, 8, 12])
            found[at : at + 4] = made.choice(LENGTHS).to_bytes(4, "little")
        case 2:  # cut short
            del found[made.randrange(len(found)) :]
        case 3:  # something more
            at = made.randrange(len(found))
            found[at:at] = made.randbytes(made.randrange(1, 40))
        case 4:  # a word of what is told, and not of the header
            if len(found) > HEADER.size:
                at = made.randrange(HEADER.size, len(found))
                found[at : at + 4] = made.choice(LENGTHS).to_bytes(4, "little")[: len(found) - at]
        case _:  # any bytes
            for _ in range(made.randrange(1, 5)):
                found[made.randrange(len(found))] = made.randrange(256)
    return bytes(found)


def garble(listening: socket.socket, replies: dict[int, bytes]) -> None:
    """Answer each client as the true server did, but for one reply or several."""
    for seed in range(CLIENTS):
        made = random.Random(seed)
        worst = set(made.sample(sorted(replies), made.choice([1, 1, 1, 3])))
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection, suppress(ConnectionError, TimeoutError, KeyError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while received(connection, 1) != b"\n":
                pass
            connection.sendall(broken(replies[0], made) if 0 in worst else replies[0])
            connection.settimeout(PATIENCE if 0 in worst else None)
            for _, sequence, waits in asked(connection):
                if waits:
                    connection.sendall(broken(replies[sequence], made) if sequence in worst else replies[sequence])
                    if sequence in worst:
                        connection.settimeout(PATIENCE)


def test_no_reply_crashes_a_client_or_has_it_wait_for_ever(folder: Path) -> None:
    program = build("garbled", folder)
    with serving() as server:
        replies = recorded(server, program)
        assert len(replies) > 10
        with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
            answering = Thread(target=garble, args=(listening, replies), daemon=True)
            answering.start()
            with client(listening, server, program, CLIENTS) as process:
                told, _ = process.communicate(timeout=280)
    assert process.returncode == 0, [line for line in told.splitlines() if line.startswith(b"client ")]
