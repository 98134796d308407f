"""`shoal gpu serve` beside a broker: a lease's server answers its holder, and who of them dies when."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from shoal.cuda.api.messages import HEADER
from shoal.cuda.server.listener import NOT_PERMITTED
from tests.integration.gpu.brokers import TOKENS, bearer
from tests.integration.gpu.test_broker_process import broker
from tests.integration.harness import SHOAL


@contextmanager
def agent(folder: Path, client: httpx2.Client) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "token").write_text(TOKENS["h"])
    command = [*SHOAL, "gpu", "serve", "--broker", str(client.base_url), "--token-file", str(folder / "token")]
    command += ["--state", str(folder / "state"), "--name", "h", "--software-gpus", "2"]
    command += ["--ca", str(folder / "tls" / "ca.crt")]
    command += ["--unhealthy-file", str(folder / "unhealthy"), "--check-seconds", "0.2"]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def until(found: Callable[[], Any], seconds: float = 120) -> Any:
    """What is found in the end."""
    give_up = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < give_up, "it did not come"
        time.sleep(0.05)
    return result


def lets_in(address: str, token: str) -> bool:
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"{token}\n".encode())
        header = connection.recv(HEADER.size, socket.MSG_WAITALL)
        return HEADER.unpack(header)[1] != NOT_PERMITTED


def closed(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=60).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_lease_has_a_server_for_as_long_as_it_lives_whoever_is_killed(tmp_path: Path) -> None:
    with broker(tmp_path) as (_, client):
        leases = [client.post("/v1/leases", json={"requests": [{}]}, headers=bearer("vision")).json() for _ in range(2)]
        where = [f"/v1/leases/{lease['id']}" for lease in leases]
        keys = [bearer("vision", lease["token"]) for lease in leases]

        def address(i: int) -> str:
            seen = client.get(where[i], headers=keys[i]).json()
            return str(seen["shares"][0]["address"]) if seen["state"] == "running" else ""

        with agent(tmp_path, client) as process:
            first, second = (until(lambda i=i: address(i)) for i in range(2))
            assert lets_in(first, leases[0]["token"])
            assert not lets_in(first, leases[1]["token"])
            client.delete(where[1], headers=keys[1])
            until(lambda: closed(second))
            process.kill()
            until(lambda: closed(first))
        with agent(tmp_path, client):
            moved = until(lambda: address(0) not in ("", first) and address(0))
            assert lets_in(moved, leases[0]["token"])
            hosts = client.get("/v1/hosts", headers=bearer("vision")).json()
            assert sorted(gpu["free_percent"] for gpu in hosts[0]["gpus"]) == [0, 100]
            (tmp_path / "unhealthy").write_text("software-1\n")

            def healthy() -> list[bool]:
                (host,) = client.get("/v1/hosts", headers=bearer("vision")).json()
                return [gpu["healthy"] for gpu in host["gpus"]]

            until(lambda: healthy() == [True, False])


def test_an_agent_goes_on_while_the_broker_is_killed_and_replaced(tmp_path: Path) -> None:
    port = _free_port()
    with ExitStack() as stack:
        with broker(tmp_path, port) as (_, client):
            lease = client.post("/v1/leases", json={"requests": [{}]}, headers=bearer("vision")).json()
            where, key = f"/v1/leases/{lease['id']}", bearer("vision", lease["token"])
            process = stack.enter_context(agent(tmp_path, client))
            until(lambda: client.get(where, headers=key).json()["state"] == "running")
            before = client.get(where, headers=key).json()["shares"]
        assert lets_in(before[0]["address"], lease["token"])
        _, client = stack.enter_context(broker(tmp_path, port))
        until(lambda: client.get(where, headers=key).json().get("state") == "running")
        assert client.get(where, headers=key).json()["shares"] == before
        process.terminate()
        assert process.wait(60) == 0
        assert closed(before[0]["address"])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
