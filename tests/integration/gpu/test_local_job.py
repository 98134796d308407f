"""`shoal run` of a job whose replicas ask for GPUs, with a broker configured."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.integration.gpu.brokers import bearer, states
from tests.integration.gpu.test_agent import until
from tests.integration.harness import Shoal

SAY = 'echo "$SHOAL_LEASE $SHOAL_GPU_SERVERS $SHOAL_GPU_NUMBERS"'


def write_job(folder: Path, name: str, command: str, resource: str) -> Path:
    limits = {"resources": {"limits": {resource: 1}}}
    container = {"name": "tensorflow", "image": "x", "command": ["sh", "-c", f"{SAY}; {command}"], **limits}
    worker = {"replicas": 2, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    spec: dict[str, Any] = {"strategy": "Independent", "tfReplicaSpecs": {"Worker": worker}}
    job = {"apiVersion": "shoal.dev/v1", "kind": "TFJob", "metadata": {"name": name}, "spec": spec}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(job))
    return path


@pytest.fixture
def shoal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: tuple[httpx2.Client, dict[str, str]]) -> Any:
    for name in ("SHOAL_BROKER", "SHOAL_TOKEN_FILE", "SHOAL_BROKER_CA"):
        monkeypatch.setenv(name, pool[1][name])
    made = Shoal(tmp_path / "home")
    yield made
    made.close()


def test_replicas_get_their_gpus_together_get_others_when_they_lose_them_and_give_them_back(
    tmp_path: Path,
    shoal: Shoal,
    pool: tuple[httpx2.Client, dict[str, str]],
) -> None:
    client, _ = pool
    other = client.post("/v1/leases", json={"requests": [{}]}, headers=bearer("speech")).json()
    job = shoal.detach(write_job(tmp_path, "long", "exec sleep 1000", "bitfusion.io/gpu"))
    until(lambda: "with 1 of its 2 requests placed" in job.snapshot["status"]["message"])
    assert [each["state"] for each in job.snapshot["replicas"]] == ["Pending", "Pending"]
    client.delete(f"/v1/leases/{other['id']}", headers=bearer("speech"))

    def said(attempt: int) -> list[list[str]]:
        logs = [job.folder / "logs" / f"worker-{i}.{attempt}.log" for i in range(2)]
        return [log.read_text().split() for log in logs if log.exists()]

    first, second = until(lambda: len(found := said(0)) == 2 and all(found) and found)
    assert first[:2] == second[:2]
    assert (first[2], second[2]) == ("0", "1")
    client.delete(f"/v1/leases/{first[0]}", headers=bearer("ops"))
    again = until(lambda: len(found := said(1)) == 2 and all(found) and found)
    assert {lease for lease, *_ in again} != {first[0]}
    assert states(client).count("running") == 1
    os.kill(job.snapshot["supervisor"], signal.SIGKILL)
    until(lambda: set(states(client)) == {"released"})


def test_a_job_that_waits_can_be_stopped_and_one_that_ends_has_released_its_gpus(
    tmp_path: Path,
    shoal: Shoal,
    pool: tuple[httpx2.Client, dict[str, str]],
) -> None:
    client, _ = pool
    other = client.post("/v1/leases", json={"requests": [{"gpus": 2}]}, headers=bearer("speech")).json()
    job = shoal.detach(write_job(tmp_path, "short", "true", "shoal.dev/gpu"))
    until(lambda: "GPU asked for" in job.snapshot["status"]["message"])
    assert shoal("stop", "short").returncode == 0
    assert set(states(client)) == {"released"}
    client.delete(f"/v1/leases/{other['id']}", headers=bearer("speech"))
    done = shoal("resume", "short")
    assert done.returncode == 0, done.stderr
    assert set(states(client)) == {"released"}
