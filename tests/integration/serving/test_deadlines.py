"""A request that takes too long: its client is told, and the graph stops too."""

from __future__ import annotations

import shutil
from pathlib import Path

import grpc
import pytest

from tests.integration.serving.configuration import configure, entry
from tests.integration.serving.server import ModelServer


@pytest.fixture
def never(running: ModelServer, versions: Path, tmp_path: Path) -> str:
    """A file that the model `m` waits for when it is told to."""
    shutil.copytree(versions / "many", tmp_path / "base" / "1")
    configure(running, entry(tmp_path / "base"))
    return str(tmp_path / "never")


def test_the_deadline_of_a_grpc_client_ends_the_run(running: ModelServer, never: str) -> None:
    with pytest.raises(grpc.RpcError) as fault:
        running.predict("m", seconds=0.5, signature_name="wait", file=never)
    assert fault.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    running.until(lambda: not running.metric("shoal_serving_requests_in_progress"), "the run to end")
    assert running.metric(':tensorflow:serving:request_count{model_name="m",status="DEADLINE_EXCEEDED"}') >= 1


def test_rest_has_a_limit_for_all(running: ModelServer, never: str) -> None:
    status, answer = running.rest("/v1/models/m:predict", {"signature_name": "wait", "inputs": never})
    assert (status, list(answer)) == (504, ["error"])
    assert not running.metric("shoal_serving_requests_in_progress")
