"""Manifests of Kubeflow's TFJob run here unchanged, where their second comment says that they do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal.resources import TFJob, load
from tests.integration.harness import Job

COMPAT = Path(__file__).parents[3] / "examples" / "compat"
MANIFESTS = sorted(path for path in COMPAT.iterdir() if path.suffix in (".yaml", ".json"))


def runs_here(manifest: Path) -> bool:
    return manifest.suffix == ".json" or bool(re.search(r"^# Runs on: one machine", manifest.read_text(), re.MULTILINE))


@pytest.mark.parametrize("manifest", [m for m in MANIFESTS if runs_here(m)], ids=lambda m: m.stem)
def test_it_runs_here(shoal, manifest):
    (job,) = (document.resource for document in load(manifest) if isinstance(document.resource, TFJob))
    result = shoal("run", str(manifest), timeout=120)
    run = Job(shoal, job.name)
    if job.spec.run_policy.suspend:
        assert run.phase == "Suspended"
        result = shoal("resume", job.name, timeout=120)
    assert result.returncode == 0, result.stderr + run.logs()
    assert run.phase == "Succeeded"
    run.assert_nothing_left()


def test_there_are_manifests_of_every_kind():
    assert len(MANIFESTS) >= 15
    assert sum(map(runs_here, MANIFESTS)) >= 10


@pytest.mark.parametrize("manifest", [m for m in MANIFESTS if not runs_here(m)], ids=lambda m: m.stem)
def test_it_renders(shoal, manifest):
    result = shoal("render", str(manifest))
    assert result.returncode == 0, result.stderr
    assert "kind: Pod" in result.stdout
