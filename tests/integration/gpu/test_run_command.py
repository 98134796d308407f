"""`shoal gpu run` and `shoal gpu list` against a real broker and a real agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator

import httpx2
import pytest

from tests.integration.gpu.brokers import TOKENS, bearer
from tests.integration.gpu.test_agent import agent, until
from tests.integration.gpu.test_broker_process import broker
from tests.integration.harness import SHOAL

ECHO = """
import os, socket, sys
host, _, port = os.environ["SHOAL_GPU_SERVERS"].partition(":")
with socket.create_connection((host, int(port))) as connection:
    connection.sendall((os.environ["SHOAL_LEASE_TOKEN"] + "\\nhello").encode())
    connection.shutdown(socket.SHUT_WR)
    print(connection.recv(100).decode())
sys.exit(7)
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx2.Client, dict[str, str]]]:
    """A broker with an agent of two GPUs, and the environment of who asks it."""
    folder = tmp_path_factory.mktemp("pool")
    with broker(folder) as (_, client), agent(folder, client):
        (folder / "tenant").write_text(TOKENS["vision"])
        until(lambda: client.get("/v1/hosts", headers=bearer("ops")).json())
        yield (
            client,
            {
                **os.environ,
                "SHOAL_BROKER": str(client.base_url),
                "SHOAL_TOKEN_FILE": str(folder / "tenant"),
                "SHOAL_BROKER_CA": str(folder / "tls" / "ca.crt"),
            },
        )


def states(client: httpx2.Client) -> list[str]:
    return [lease["state"] for lease in client.get("/v1/leases", headers=bearer("vision")).json()]


def test_a_command_runs_with_a_lease_that_is_released_and_its_exit_code_is_kept(
    pool: tuple[httpx2.Client, dict[str, str]],
) -> None:
    client, environment = pool
    command = [*SHOAL, "gpu", "run", "-p", "50", "--wait", "2m", "--", "python3", "-c", ECHO]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (7, "hello\n"), done.stderr
    assert set(states(client)) == {"released"}
    listed = subprocess.run(
        [*SHOAL, "gpu", "list", "-o", "json"], env=environment, capture_output=True, text=True, timeout=120
    )
    told = json.loads(listed.stdout)
    assert [host["name"] for host in told["hosts"]] == ["h"]
    assert [lease["state"] for lease in told["leases"]] == ["released"]


def test_what_interrupts_a_command_releases_its_lease(pool: tuple[httpx2.Client, dict[str, str]]) -> None:
    client, environment = pool
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        command = [*SHOAL, "gpu", "run", "--", "sleep", "1000"]
        with subprocess.Popen(command, env=environment) as process:
            until(lambda: "running" in states(client))
            process.send_signal(number)
            assert process.wait(60) == code
        assert set(states(client)) == {"released"}


def test_what_is_not_free_in_time_and_what_is_refused_says_why(pool: tuple[httpx2.Client, dict[str, str]]) -> None:
    _, environment = pool

    def run(*flags: str) -> tuple[int, str]:
        command = [*SHOAL, "gpu", "run", *flags, "--", "true"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr

    code, told = run("-n", "3", "--wait", "0")
    assert code == 124
    assert told.startswith("waiting: 3 GPUs asked for, and no model has more than 2 of them")  # before it waits
    assert "nothing was free within 0: 3 GPUs asked for, and no model has more than 2 of them" in told
    code, told = run("--wait", "soon")
    assert (code, told) == (2, "error: --wait soon: this is no duration\nhint: 30s, 10m and 2h are\n")
    code, told = run("--priority", "5")
    assert code == 2
    assert "tenant vision asks with priority 5, and may with 0 at most" in told


def test_a_command_ends_when_its_lease_does(pool: tuple[httpx2.Client, dict[str, str]]) -> None:
    client, environment = pool
    command = [*SHOAL, "gpu", "run", "--", "sleep", "1000"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: "running" in states(client))
        for lease in client.get("/v1/leases", headers=bearer("vision")).json():
            client.delete(f"/v1/leases/{lease['id']}", headers=bearer("ops"))
        told = process.communicate(timeout=120)[1]
    assert process.returncode == 1
    assert "error: the GPUs are gone: lease-" in told
