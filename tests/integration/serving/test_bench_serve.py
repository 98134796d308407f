"""`shoal bench serve` against a real server, over both protocols: what it tells agrees with what the server counts."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.bench.load.engine import Engine, Plan
from shoal.bench.load.target import Target
from shoal.serving.client.protocol import CLASSES
from tests.integration.harness import SHOAL
from tests.integration.serving import models
from tests.integration.serving.server import ModelServer


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    folder = tmp_path_factory.mktemp("small")
    models.half_plus(2.0, folder / "half" / "1")
    server = ModelServer(folder / "log", str(folder / "half"))
    yield server.until_ready()
    server.close()


def words(server: ModelServer, protocol: str, *more: str) -> list[str]:
    at = f"http://127.0.0.1:{server.rest_port}" if protocol == "REST" else f"127.0.0.1:{server.grpc_port}"
    rows = server.log.parent / "rows.json"
    rows.write_text('{"instances": [1.0, 2.0]}')
    return [*SHOAL, "bench", "serve", "--at", at, "--input", str(rows), "--concurrency=4", "--warmup=0.2s", *more]


@pytest.mark.parametrize("protocol", ["REST", "gRPC"])
def test_every_request_is_answered_and_two_loads_compare(small: ModelServer, protocol: str, tmp_path: Path) -> None:
    for name, more in {"closed": [], "open": ["--rate=50", "--processes=2"]}.items():
        command = words(small, protocol, "--duration=2s", "-o", "json", "--save", str(tmp_path / name), *more)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["asked"]["protocol"], told["asked"]["rows"], told["failures"]) == (protocol, 2, {})
        assert told["answers"] > 50
        assert 0 < told["latency_ms"]["p50"] <= told["latency_ms"]["p99"] <= told["latency_ms"]["max"]
    assert told["answers"] == pytest.approx(100, abs=10)
    compared = [*SHOAL, "bench", "compare", str(tmp_path / "closed"), str(tmp_path / "open")]
    assert "second / first, requests/s: " in subprocess.run(compared, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("protocol", "kind"), [("REST", "HTTP 404"), ("gRPC", "NOT_FOUND")])
def test_what_the_server_refuses_is_told_by_kind(small: ModelServer, protocol: str, kind: str) -> None:
    grpc = protocol == "gRPC"
    body = CLASSES["PredictRequest"](model_spec={"name": "gone"}).SerializeToString() if grpc else b'{"instances": [1]}'
    path = "/tensorflow.serving.PredictionService/Predict" if grpc else "/v1/models/gone:predict"
    target = Target("127.0.0.1", small.grpc_port if grpc else small.rest_port, path, body, grpc)
    engine = Engine(Plan(target, in_flight=2, connections=2, duration=1, warmup=0, timeout=5))
    engine.connect()
    counts = engine.run(time.monotonic())
    assert set(counts.failures) == {kind}
    assert "gone" in counts.failures[kind].message


def test_large_requests_pass_the_windows_of_http2(small: ModelServer, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([0.5] * 100_000))
    command = [*words(small, "gRPC", "--duration=1s", "-o", "json"), "--input", str(rows)]
    first = command.index("--input")
    del command[first : first + 2]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    assert told["failures"] == {}
    assert told["answers"] > 10
    assert told["sent_bytes"] > 400_000 * 10


def test_an_interrupted_load_tells_what_it_has(small: ModelServer) -> None:
    command = words(small, "REST", "--duration=60s")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        running.stderr.readline()  # the load has begun
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.5)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=20)
    assert running.returncode == 130
    assert re.search(r"failed: 0 of [\d,]{2}", out)


def test_a_model_and_a_server_that_are_not_there_are_said_first(small: ModelServer) -> None:
    for more, said in ((["--model=nope"], "no model nope"), (["--at=127.0.0.1:1"], "127.0.0.1:1: no answer")):
        done = subprocess.run(words(small, "gRPC", *more), capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
