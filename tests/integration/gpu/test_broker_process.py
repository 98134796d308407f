"""`shoal gpu broker` as a process: TLS, its death, and what its successor knows."""

from __future__ import annotations

import re
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.integration.gpu.brokers import Agent, bearer, write_tenants
from tests.integration.harness import SHOAL


@contextmanager
def broker(folder: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    tenants = write_tenants(folder / "tenants.yaml")
    command = [*SHOAL, "gpu", "broker", "--tenants", str(tenants), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--tls-folder", str(folder / "tls")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = re.fullmatch(r"broker at (https://127.0.0.1:\d+)\n", process.stderr.readline())
            assert said
            context = ssl.create_default_context(cafile=str(folder / "tls" / "ca.crt"))
            with httpx2.Client(base_url=said[1], verify=context, timeout=60) as client:
                yield process, client
        finally:
            process.kill()


def talk(client: httpx2.Client, agent: Agent, times: int = 2) -> None:
    for _ in range(times):
        path, body = agent.report()
        agent.heed(client.post(path, content=body, headers=bearer(agent.name)))


def test_a_broker_that_was_killed_is_replaced_by_one_that_knows_its_leases(tmp_path: Path) -> None:
    agent = Agent("h")
    with broker(tmp_path) as (process, client):
        lease = client.post("/v1/leases", json={"requests": [{}]}, headers=bearer("vision")).json()
        talk(client, agent, 3)
        where, key = f"/v1/leases/{lease['id']}", bearer("vision", lease["token"])
        assert client.get(where, headers=key).json()["state"] == "running"
        process.kill()
    trusted = (tmp_path / "tls" / "ca.crt").read_bytes()
    with broker(tmp_path) as (process, client):
        assert (tmp_path / "tls" / "ca.crt").read_bytes() == trusted
        assert client.post(f"{where}/renew", headers=key).status_code == 503, "no agent has spoken"
        assert client.post("/v1/leases", json={"requests": [{}]}, headers=bearer("speech")).json()["state"] == "queued"
        talk(client, agent)
        assert client.post(f"{where}/renew", headers=key).json()["state"] == "running"
        assert client.post(f"{where}/renew", headers=bearer("vision", "x" * 43)).status_code == 403
        assert client.get(where, headers=bearer("speech")).status_code == 404
        process.terminate()
        assert process.wait(60) in (0, -15)
    assert oct((tmp_path / "tls" / "ca.key").stat().st_mode)[-3:] == "600"
