"""`scaling` on this machine: real processes are added, measured, and taken away again."""

from __future__ import annotations

import json

import yaml

from tests.integration.local.jobs import write_job


def test_workers_come_and_the_one_that_brings_nothing_goes(shoal, tmp_path):
    """Each worker counts for itself, so the furthest step gets on no faster with two of them than with one."""
    manifest = write_job(tmp_path, PS=1, Worker=1, steps=100000)
    text = yaml.safe_load(manifest.read_text())
    text["spec"] |= {"enableDynamicWorker": True, "scaling": {"maxWorkers": 3, "stabilizationSeconds": 3}}
    manifest.write_text(yaml.safe_dump(text))
    job = shoal.detach(manifest)
    job.until(lambda: job.replica("worker-1").get("state") == "Running")
    first = {name: job.replica(name)["pid"] for name in ("ps-0", "worker-0")}
    job.until(lambda: not job.replica("worker-1"))
    assert {name: job.replica(name)["pid"] for name in first} == first
    (told,) = json.loads(shoal("ps", "-o", "json").stdout)
    scaling = told["status"]["scaling"]
    assert scaling["desiredWorkers"] == 1
    assert scaling["lastScaleTime"]
    assert set(scaling["rates"]) == {"1", "2"}
    (scaled,) = [each for each in told["status"]["conditions"] if each["type"] == "Scaled"]
    assert scaled["reason"] == "TooLittleGain"
    assert scaled["message"].startswith("2 → 1 workers: ")
    assert "Scaling   1 worker: " in shoal("describe", "job").stdout
    assert shoal("scale", "job", "--workers", "3").returncode == 0
    job.until(lambda: job.replica("worker-2").get("state") == "Running")
    shoal("stop", "job")
