"""Who dies when, what is free then, and that nothing which a client sends disturbs another."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from shoal.cuda.api.messages import HEADER, messages
from tests.integration.cuda.servers import MEMORY_MIB, SECRET, Server, build, run, serving

SUCCESS, OUT_OF_MEMORY, DEVICE_UNAVAILABLE = 0, 2, 46


class Holder:
    """The program `holder`, which has so many MiB and says at each `ask` what it finds."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def heard(self) -> list[int]:
        """Result of its allocation, result of asking now, MiB free, MiB in all."""
        assert self.process.stdout is not None
        return [int(word) for word in self.process.stdout.readline().split()]

    def ask(self) -> list[int]:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.heard()


@contextmanager
def holding(server: Server, folder: Path, mebibytes: int) -> Iterator[Holder]:
    with subprocess.Popen(
        [build("holder", folder), str(mebibytes)],
        env=server.environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield Holder(process)
        finally:
            process.kill()


def test_clients_share_the_leases_memory_and_one_that_is_killed_frees_its_own(folder: Path) -> None:
    with serving() as server, holding(server, folder, 600) as first:
        assert first.heard() == [SUCCESS, SUCCESS, MEMORY_MIB - 600, MEMORY_MIB]
        with holding(server, folder, 600) as second:
            assert second.heard() == [OUT_OF_MEMORY, SUCCESS, MEMORY_MIB - 600, MEMORY_MIB]
            first.process.kill()
            killed_at = time.monotonic()
            while second.ask()[2] != MEMORY_MIB:
                assert time.monotonic() < killed_at + 2, "it is not free within 2 s"
                time.sleep(0.05)
        assert server.said() == {"used": True}


def test_a_server_that_is_killed_is_an_error_of_every_later_call(folder: Path) -> None:
    with serving() as server, holding(server, folder, 1) as holder:
        assert holder.heard()[:2] == [SUCCESS, SUCCESS]
        server.process.kill()
        server.process.wait()
        until = time.monotonic() + 10
        while (told := holder.ask()[1]) == SUCCESS:
            assert time.monotonic() < until
        assert told == holder.ask()[1] == DEVICE_UNAVAILABLE
        _, complaint = holder.process.communicate(timeout=60)
        assert complaint.count("shoal: the GPU server") == 1
        assert f"{server.address} is lost" in complaint


def garbage(seed: int) -> bytes:
    """A message that is nearly one, or nothing like it."""
    made = random.Random(seed)
    number, message = made.choice(list(messages().items()))
    body = made.randbytes(message.layout.size + (made.choice([0, 5, 100]) if message.data else 0))
    match seed % 4:
        case 0:
            return made.randbytes(made.randrange(1, 200))
        case 1:
            return HEADER.pack(len(body), made.randrange(1 << 32), 1, 0) + body
        case 2:
            return HEADER.pack(made.choice([0, 1, len(body) + 1, 1 << 31]), number, 1, 0) + body
    return b"".join(HEADER.pack(len(body), number, i, made.choice([0, 0x100, 1 << 31])) + body for i in range(3))


@pytest.mark.timeout(280)
def test_nothing_that_is_sent_harms_the_server_or_another_client(folder: Path) -> None:
    with serving() as server, holding(server, folder, 10) as holder:
        before = holder.heard()
        host, _, port = server.address.partition(":")
        for seed in range(60):
            with socket.create_connection((host, int(port)), timeout=60) as connection:
                connection.sendall(f"{SECRET}\n".encode())
                header = connection.recv(HEADER.size, socket.MSG_WAITALL)
                size, status, _, _ = HEADER.unpack(header)
                assert status == SUCCESS
                assert len(connection.recv(size, socket.MSG_WAITALL)) == size
                connection.sendall(garbage(seed))
                connection.settimeout(0.3)  # what is too short a message is waited for
                with suppress(TimeoutError, ConnectionResetError):
                    while connection.recv(1 << 16):
                        pass
        assert holder.ask() == before
        assert server.process.poll() is None
        assert run(build("saxpy", folder), server.environment()).returncode == 0
