"""What a run has trained is served: by the run itself where the job says so, and by a ModelServer's manifest."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from shoal.local.ports import choose
from tests.integration.harness import Job, Shoal


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x / 2 + 2, by a model of Keras 3 as training scripts export one."""
    import keras
    import tensorflow as tf

    import shoal.tf

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.set_weights([np.array([[0.5]]), np.array([2.0])])
    given = [tf.TensorSpec([None], tf.float32, name="x")]
    signature = tf.function(lambda x: {"y": model(x[:, None])[:, 0]}, input_signature=given)
    folder = shoal.tf.export(model, tmp_path_factory.mktemp("exported"), {"serving_default": signature})
    assert folder is not None
    return folder


@pytest.fixture
def manifest(exported: Path, tmp_path: Path) -> Path:
    """A job that exports a model, and has it served."""
    container = {"name": "tensorflow", "image": "example/train", "command": ["sh", "-c"]}
    container["args"] = [f"mkdir -p /train/model && cp -r {exported} /train/model/1"]  # type: ignore[assignment]
    worker = {"template": {"spec": {"containers": [container]}}}
    job = {
        "apiVersion": "shoal.dev/v1",
        "kind": "TFJob",
        "metadata": {"name": "half"},
        "spec": {
            "tfReplicaSpecs": {"Worker": worker},
            "storage": [{"name": "train", "mountPath": "/train", "existingClaim": "shared"}],
            "serve": {"modelName": "half_plus_two", "basePath": "/train/model"},
        },
    }
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    return file


def listed(shoal: Shoal) -> dict[str, str]:
    return {each["name"]: each["phase"] for each in json.loads(shoal("ps", "--all", "--output", "json").stdout)}


def url_of(told: str) -> str:
    return next(word for word in told.split() if word.startswith("http://"))


def predict(url: str) -> Any:
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [1.0, 2.0]}).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def answers(url: str) -> bool:
    try:
        return bool(predict(url) == {"predictions": [2.5, 3.0]})
    except OSError:
        return False


def test_a_run_in_the_background_serves_until_it_is_stopped(shoal: Shoal, manifest: Path) -> None:
    job = shoal.detach(manifest)
    job.until(lambda: listed(shoal) == {"half": "Serving"})
    url = url_of(job.status["message"])
    assert url.endswith("/v1/models/half_plus_two")
    job.until(lambda: answers(url))
    assert shoal("wait", "half", "--timeout", "5").returncode == 0
    assert "half_plus_two version 1: available" in shoal("logs", "half", "--replica", "model-server").stdout
    refused = shoal("run", str(manifest), "--replace")
    assert (refused.returncode, "is running" in refused.stderr) == (2, True)
    stopped = shoal("stop", "half")
    assert stopped.stderr == "half has stopped\n"
    assert listed(shoal) == {"half": "Succeeded"}
    assert job.status["message"] == "the model is no longer served"
    job.assert_nothing_left()


def test_a_run_in_the_foreground_serves_until_ctrl_c_and_has_succeeded(shoal: Shoal, manifest: Path) -> None:
    process = shoal.begin("run", str(manifest))
    assert process.stdout is not None
    told = next(line for line in process.stdout if "serving http" in line)
    job = Job(shoal, "half")
    job.until(lambda: answers(url_of(told)))
    os.kill(process.pid, signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait(30) == 0, rest
    assert "half succeeded" in rest
    job.assert_nothing_left()


def test_a_server_that_ends_by_itself_is_told_and_the_job_has_succeeded(shoal: Shoal, manifest: Path) -> None:
    value = yaml.safe_load(manifest.read_text())
    value["spec"]["serve"]["basePath"] = "/train/elsewhere"
    manifest.write_text(yaml.safe_dump(value))
    result = shoal("run", str(manifest))
    assert result.returncode == 0
    assert "the model server has ended with exit code 2; see " in result.stderr
    Job(shoal, "half").assert_nothing_left()


def test_the_end_of_the_supervisor_is_the_end_of_the_server(shoal: Shoal, manifest: Path) -> None:
    job = shoal.detach(manifest)
    job.until(lambda: listed(shoal) == {"half": "Serving"})
    os.kill(job.snapshot["supervisor"], signal.SIGKILL)
    job.assert_nothing_left()
    assert listed(shoal) == {"half": "Succeeded"}


def test_a_model_server_is_served_here(shoal: Shoal, manifest: Path, tmp_path: Path) -> None:
    value = yaml.safe_load(manifest.read_text())
    del value["spec"]["serve"]
    manifest.write_text(yaml.safe_dump(value))
    server = tmp_path / "server.yaml"
    grpc, rest = choose(2)
    spec = {
        "models": [{"name": "half", "basePath": "/models/model", "labels": {"stable": 1}}],
        "ports": {"grpc": grpc, "rest": rest},
        "storage": [{"name": "models", "mountPath": "/models", "existingClaim": "shared"}],
    }
    about = {"apiVersion": "shoal.dev/v1", "kind": "ModelServer", "metadata": {"name": "half"}}
    server.write_text(yaml.safe_dump({**about, "spec": spec}))
    early = shoal("run", str(server))
    assert early.returncode == 2
    assert "half: no run here has model on its volume shared" in early.stderr
    assert shoal("run", str(manifest)).returncode == 0
    process = shoal.begin("run", str(server))
    assert process.stdout is not None
    next(line for line in process.stdout if "half version 1: available" in line)
    assert shoal("wait", "modelserver/half").stderr == "half ready\n"
    assert answers(f"http://127.0.0.1:{rest}/v1/models/half/labels/stable")
    (told,) = (each for each in json.loads(shoal("ps", "--output", "json").stdout) if each["kind"] == "ModelServer")
    assert (told["name"], told["phase"], told["process"], told["status"]["url"]) == (
        "half",
        "Ready",
        str(process.pid),
        f"http://127.0.0.1:{rest}",
    )
    assert shoal("rm", "modelserver/half").stderr == "half is removed\n"
    assert process.wait(30) == 0
    assert "ModelServer" not in shoal("ps", "--output", "json").stdout
