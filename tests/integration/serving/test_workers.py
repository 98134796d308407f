"""Several processes at the same ports: to clients they are one server, whichever of them answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import httpx2
import psutil
import pytest
from google.protobuf import text_format
from tensorflow_serving.apis import model_management_pb2

from tests.integration.serving.server import RPC_SECONDS, ModelServer

ASKED = 40
"""Connections, each to whichever process the kernel chooses: that one of two gets none has a chance of 2 in 10**12."""


@pytest.fixture(scope="module")
def shared(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    server = ModelServer(tmp_path_factory.mktemp("shared") / "log", str(made / "half_plus_two"), "--workers=2")
    yield server.until_ready()
    server.close()


def workers(server: ModelServer) -> list[psutil.Process]:
    """The processes that listen."""
    listening = []
    for process in psutil.Process(server.process.pid).children():
        try:
            if any(each.laddr[1] == server.rest_port for each in process.net_connections("tcp4")):
                listening.append(process)
        except psutil.Error:
            continue
    return listening


def ask(server: ModelServer, path: str, body: Any = None) -> tuple[int, Any]:
    """Over a connection of its own."""
    return server.rest(path, body, headers={"Connection": "close"})


def answers(server: ModelServer, name: str) -> list[tuple[int, Any]]:
    """What so many connections are answered for x = 2."""
    return [ask(server, f"/v1/models/{name}:predict", {"instances": [2.0]}) for _ in range(ASKED)]


def configure(server: ModelServer, made: Path, label: str, labelled: int = 123, *more: str) -> None:
    """Serve half_plus_two, half_plus_three and `more`. A label that is refused leaves the models that came with it."""
    request = model_management_pb2.ReloadConfigRequest()
    models = "".join(
        f'config {{ name: "{name}" base_path: "{made / name}" version_labels {{ key: "{label}" value: {labelled} }} }} '
        for name in ("half_plus_two", "half_plus_three", *more)
    )
    text_format.Parse(f"config {{ model_config_list {{ {models} }} }}", request)
    server.models.HandleReloadConfigRequest(request, RPC_SECONDS)


def test_each_process_answers_and_their_counts_are_one(shared: ModelServer) -> None:
    line = ':tensorflow:serving:request_count{model_name="half_plus_two",status="OK"}'
    before = shared.metric(line)
    assert answers(shared, "half_plus_two") == [(200, {"predictions": [3.0]})] * ASKED
    assert len(workers(shared)) == 2
    shared.http.headers["Connection"] = "close"
    for _ in range(8):
        assert shared.metric(line) == before + ASKED
        assert shared.metric('shoal_serving_version_state{model_name="half_plus_two",version="123"}') == 30


def test_a_new_configuration_holds_in_each_process_when_it_returns(shared: ModelServer, made: Path) -> None:
    configure(shared, made, "stable")
    assert answers(shared, "half_plus_three") == [(200, {"predictions": [4.0]})] * ASKED
    assert answers(shared, "half_plus_two/labels/stable") == [(200, {"predictions": [3.0]})] * ASKED
    statuses = [ask(shared, "/v1/models/half_plus_three")[1] for _ in range(ASKED)]
    assert statuses == [statuses[0]] * ASKED
    assert statuses[0]["model_version_status"][0]["state"] == "AVAILABLE"
    configure(shared, made, "canary")
    assert {status for status, _ in answers(shared, "half_plus_two/labels/stable")} == {400}


def test_a_process_that_dies_comes_back_with_all_that_the_others_have(shared: ModelServer, made: Path) -> None:
    configure(shared, made, "stable")
    with pytest.raises(grpc.RpcError):
        configure(shared, made, "nowhere", 999, "tf1")
    first, second = workers(shared)
    failed: list[str] = []
    told_to_end = threading.Event()

    def ask_on() -> None:
        while not told_to_end.is_set():
            try:
                assert ask(shared, "/v1/models/half_plus_three:predict", {"instances": [2.0]})[0] == 200
            except (httpx2.TransportError, AssertionError) as fault:
                failed.append(repr(fault))

    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask_on) for _ in range(2)]
        first.kill()
        shared.until(lambda: len(workers(shared)) == 2 and first not in workers(shared), "another process to listen")
        told_to_end.set()
        for each in asking:
            each.result(RPC_SECONDS)
    assert len(failed) <= 4, failed  # of two clients: what was under way in it, and what came while it was taken down
    assert "has ended with -9; started again" in shared.log.read_text()
    second.kill()
    second.wait(RPC_SECONDS)
    (alone,) = workers(shared)
    assert answers(shared, "half_plus_three") == [(200, {"predictions": [4.0]})] * ASKED
    assert answers(shared, "half_plus_two/labels/stable") == [(200, {"predictions": [3.0]})] * ASKED
    assert ask(shared, "/v1/models/tf1:predict", {"instances": [[2.0]]})[0] == 200
    assert alone.is_running()


def test_the_end_waits_for_requests_in_each_process(made: Path, tmp_path: Path) -> None:
    server = ModelServer(tmp_path / "log", str(made / "many"), "--workers=2").until_ready()
    processes = workers(server)
    answered: list[int] = []

    def wait() -> None:
        body = {"signature_name": "wait", "inputs": {"file": str(tmp_path / "go")}}
        answered.append(ask(server, "/v1/models/many:predict", body)[0])

    asking = [threading.Thread(target=wait) for _ in range(4)]
    for each in asking:
        each.start()
    server.until(lambda: server.metric("shoal_serving_requests_in_progress") == 4, "the requests to be under way")
    server.tell_to_end()
    server.until(lambda: not server.takes_requests(), "the server to take no more requests")
    (tmp_path / "go").touch()
    for each in asking:
        each.join()
    assert answered == [200] * 4
    assert server.process.wait(60) == 0
    assert not any(process.is_running() for process in processes)
    server.close()


def test_no_process_outlives_the_one_that_decides(made: Path, tmp_path: Path) -> None:
    server = ModelServer(tmp_path / "log", str(made / "half_plus_two"), "--workers=2").until_ready()
    processes = workers(server)
    server.process.kill()
    _, alive = psutil.wait_procs(processes, 30)
    server.close()
    assert not alive


def test_a_process_that_cannot_be_started_ends_the_server(made: Path, tmp_path: Path) -> None:
    server = ModelServer(tmp_path / "log", str(made / "half_plus_two"), "--workers=2")
    parent = psutil.Process(server.process.pid)
    child, *_ = server.until(parent.children, "a process to be started")
    child.kill()
    assert server.process.wait(60) == 1
    assert "before it could serve" in server.log.read_text()
    server.close()
