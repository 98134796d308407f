"""Every example trains to its accuracy and exports a model, in real TensorFlow processes."""

from __future__ import annotations

import pytest

from tests.integration.harness import Job
from tests.integration.tensorflow.examples import GOOD_ENOUGH, MNIST, Example, accuracy, signature

EXAMPLES = sorted(path.stem for path in MNIST.glob("*.yaml"))


def test_none_is_missing():
    assert {
        "all-reduce",
        "between-graph-async",
        "between-graph-sync",
        "elastic",
        "evaluator",
        "fit",
        "in-graph",
        "parameter-server-large",
        "parameter-server-medium",
        "parameter-server-small",
    } <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(shoal, name):
    result = shoal("run", str(MNIST / f"{name}.yaml"), timeout=240)
    job = Job(shoal, f"mnist-{name}")
    assert result.returncode == 0, result.stderr + job.logs()
    assert job.phase == "Succeeded"
    assert job.retries == 0
    assert accuracy(job) >= GOOD_ENOUGH
    assert f"accuracy {accuracy(job):.4g}" in result.stderr
    models = list((job.folder / "volumes/train/model").iterdir())
    assert [model.name for model in models] == ["1"]
    assert signature(models[0]) == {"classes": ["int64", [2]], "probabilities": ["float32", [2, 10]]}
    assert "serve it: " in result.stderr
    job.assert_nothing_left()


def test_without_prefork(shoal):
    result = shoal("run", str(MNIST / "parameter-server-small.yaml"), "--no-prefork", timeout=240)
    job = Job(shoal, "mnist-parameter-server-small")
    assert result.returncode == 0, result.stderr + job.logs()
    assert accuracy(job) >= GOOD_ENOUGH
    assert not (job.folder / "logs/prefork.log").exists()
    job.assert_nothing_left()


def test_workers_join_a_job_that_runs(shoal, tmp_path):
    """Elastic: two more workers train beside those that are there, and nobody is started again for it."""
    job = Example("elastic", ("--steps", "100000")).start(shoal, tmp_path)
    job.until(lambda: job.step >= 20, 120)
    before = {name: job.replica(name)["pid"] for name in ("chief-0", "ps-0", "worker-0", "worker-1")}
    assert shoal("scale", job.name, "--workers", "4").returncode == 0
    job.until(lambda: job.replica("worker-3").get("state") == "Running", 60)
    at = job.step
    job.until(lambda: job.step >= at + 100, 60)
    assert {name: job.replica(name)["pid"] for name in before} == before
    assert shoal("scale", job.name, "--workers", "1").returncode == 0
    job.until(lambda: {r["name"] for r in job.snapshot["replicas"]} == {"chief-0", "ps-0", "worker-0"}, 30)
    assert job.retries == 0
    assert shoal("stop", job.name).returncode == 0
    job.assert_nothing_left()
