"""Commands that borrow GPUs or show the pool, against a real broker and a real agent."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path

import httpx2
import psutil
import pytest

from shoal.gpu.keeper import NoShell, keep
from tests.integration.gpu.brokers import TOKENS, bearer, states
from tests.integration.gpu.test_agent import until
from tests.integration.harness import SHOAL

GREET = """
import os, socket, struct, sys
host, _, port = os.environ["SHOAL_GPU_SERVERS"].partition(":")
with socket.create_connection((host, int(port))) as connection:
    connection.sendall((os.environ["SHOAL_LEASE_TOKEN"] + "\\n").encode())
    size, status, *_ = struct.unpack("<IIII", connection.recv(16))
    print("hello" if size and status != 800 else "refused")
sys.exit(7)
"""


def test_a_command_runs_with_a_lease_that_is_released_and_its_exit_code_is_kept(
    pool: tuple[httpx2.Client, dict[str, str]],
) -> None:
    client, environment = pool
    command = [*SHOAL, "gpu", "run", "-p", "50", "--wait", "2m", "--", "python3", "-c", GREET]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (7, "hello\n"), done.stderr
    assert set(states(client)) == {"released"}
    listed = subprocess.run(
        [*SHOAL, "gpu", "list", "-o", "json"], env=environment, capture_output=True, text=True, timeout=120
    )
    told = json.loads(listed.stdout)
    assert [host["name"] for host in told["hosts"]] == ["h"]
    assert {lease["state"] for lease in told["leases"]} == {"released"}


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


def test_a_shell_has_gpus_until_it_releases_them_or_ends(pool: tuple[httpx2.Client, dict[str, str]]) -> None:
    client, environment = pool
    shoal = shlex.join([*SHOAL, "gpu"])
    script = f"""
        eval "$({shoal} request -p 50 --wait 2m)"
        python3 -c {shlex.quote(GREET)}
        eval "$({shoal} release)"
        echo "lease: $SHOAL_LEASE$SHOAL_LEASE_TOKEN$SHOAL_GPU_SERVERS"
        eval "$({shoal} request -n 2 --wait 2m)"
        echo "$SHOAL_LEASE"
        read -r _
    """
    with subprocess.Popen(
        ["bash", "-c", script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["hello\n", "lease: \n"]
        second = process.stdout.readline().strip()
        where = f"/v1/leases/{second}"
        assert client.get(where, headers=bearer("vision")).json()["state"] == "running"
        assert not any(TOKENS["vision"] in str((each.cmdline(), each.environ())) for each in keepers())
        process.kill()
    until(lambda: client.get(where, headers=bearer("vision")).json()["state"] == "released")
    assert set(states(client)) == {"released"}
    until(lambda: not keepers())  # the first one's next renewal was refused


def keepers() -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["cmdline"]) if "shoal.gpu.keeper" in (each.info["cmdline"] or [])]


def test_a_shell_that_has_ended_gets_nothing() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with pytest.raises(NoShell, match=f"process {ended.pid}: No such process"):
        keep("http://127.0.0.1:1", "t", None, {}, ended.pid)


def test_the_pool_is_shown_with_what_is_used_waits_and_is_sick(pool: tuple[httpx2.Client, dict[str, str]]) -> None:
    client, environment = pool

    def shown(command: str, *flags: str) -> tuple[int, str]:
        done = subprocess.run(
            [*SHOAL, "gpu", command, *flags], env=environment, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout

    asked = [
        client.post("/v1/leases", json={"requests": [{"gpus": n, "percent": 50}]}, headers=bearer("vision")).json()
        for n in (1, 9)
    ]
    until(lambda: states(client).count("running") == 1)
    code, told = shown("top")
    assert code == 0
    assert re.search(rf"^h +0 +software +█████░░░░░ +50 % +ok +vision {asked[0]['id']} 50 %", told, re.M), told
    assert re.search(r"^h +1 +software +░░░░░░░░░░ +0 % +ok", told, re.M), told
    assert re.search(rf"^{asked[1]['id']} +vision +\d+ s +9 GPUs, 50 % each, asked for", told, re.M), told
    leases = json.loads(shown("top", "-o", "json")[1])["leases"]
    assert [lease["state"] for lease in leases] == ["running", "queued"]
    assert re.search(r"^vision +0.5, no limit +8192 MiB, no limit", shown("quota")[1], re.M)
    (quota,) = json.loads(shown("quota", "-o", "json")[1])
    assert quota["used_gpus"] == 0.5
    for lease in asked:
        client.delete(f"/v1/leases/{lease['id']}", headers=bearer("vision"))
    assert shown("health")[0] == 0
    unhealthy = Path(environment["SHOAL_TOKEN_FILE"]).with_name("unhealthy")
    unhealthy.write_text("software-1\n")
    until(lambda: shown("health")[0] == 1)
    assert [each["state"] for each in json.loads(shown("health", "-o", "json")[1])] == ["ok", "sick"]
    unhealthy.unlink()
