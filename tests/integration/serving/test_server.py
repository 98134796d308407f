"""The process: how it begins, what it says of what it cannot do, how it ends."""

from __future__ import annotations

import shutil
import socket
import threading
from pathlib import Path

import grpc
import pytest

from tests.integration.harness import Shoal
from tests.integration.serving.server import ModelServer


def test_the_ports_are_open_before_a_model_is_there_and_the_end_waits_for_requests(made: Path, tmp_path: Path) -> None:
    base = tmp_path / "late"
    base.mkdir()
    server = ModelServer(tmp_path / "log", str(base), "--model_name", "late").until_listening()
    try:
        assert server.http.get("/readyz").status_code == 503
        assert server.rest("/v1/models/late")[0] == 404
        shutil.copytree(made / "many" / "7", base / "1")
        server.until_ready()
        answers: list[float] = []

        def ask() -> None:
            answers.append(
                server.predict("late", signature_name="wait", file=str(tmp_path / "go")).model_spec.version.value
            )

        asking = threading.Thread(target=ask)
        asking.start()
        server.until(lambda: server.metric("shoal_serving_requests_in_progress"), "the request to be under way")
        server.tell_to_end()
        server.until(lambda: not server.takes_requests(), "the server to take no more requests")
        (tmp_path / "go").touch()
        asking.join()
        assert answers == [1]
        assert server.process.wait(60) == 0
    finally:
        server.close()


def test_the_end_does_not_wait_for_ever(made: Path, tmp_path: Path) -> None:
    server = ModelServer(tmp_path / "log", str(made / "many"), "--grace=0.5").until_ready()
    refused: list[object] = []

    def ask() -> None:
        with pytest.raises(grpc.RpcError) as fault:
            server.predict("many", signature_name="wait", file=str(tmp_path / "never"))
        refused.append(fault.value.code())

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        server.until(lambda: server.metric("shoal_serving_requests_in_progress"), "the request to be under way")
        server.tell_to_end()
        assert server.process.wait(60) == 1
        asking.join()
        assert refused
        assert "left with 1 requests unanswered" in server.log.read_text()
    finally:
        server.close()


def test_a_config_file_is_followed(made: Path, tmp_path: Path) -> None:
    file = tmp_path / "models.config"

    def write(name: str) -> None:
        file.write_text(f'model_config_list {{ config {{ name: "{name}" base_path: "{made / name}" }} }}')

    write("half_plus_two")
    server = ModelServer(
        tmp_path / "log", f"--model_config_file={file}", "--model_config_file_poll_wait_seconds=0.1"
    ).until_ready()
    try:
        file.write_text("no config")
        server.until(lambda: "Error parsing text-format" in server.log.read_text(), "a word on the broken file")
        file.write_text("# none yet")
        server.until(lambda: "has no model_config_list" in server.log.read_text(), "a word on the empty file")
        assert server.states("half_plus_two") == {123: "AVAILABLE"}
        write("half_plus_three")
        server.until_states("half_plus_three", {123: "AVAILABLE"})
        assert server.states("half_plus_two") == {}
    finally:
        server.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "which model?"),
        (("nowhere",), "nowhere: no such folder"),
        (("{made}/many/7",), "is a SavedModel itself"),
        (("{made}/many", "--platform_config_file=x"), "--platform_config_file: not built yet"),
        (("{made}/many", "--grpc_socket_path=x", "--workers=2"), "one process alone can listen there"),
        (("{made}/many", "--batching_parameters_file=x"), "is set without --enable-batching"),
        (("{made}/many", "--enable_batching=true", "--batching_parameters_file=x"), "x: No such file"),
        (("{made}/many", "--rest_api_enable_cors_support=maybe"), "expected true or false, found maybe"),
        (("--model_config_file={made}/nothing",), "No such file"),
        (("{made}/many", "--request-log={made}"), "--request-log: {made}: Is a directory"),
        (("{made}/many", "--rest-tls"), "--rest-tls: with which certificate?"),
        (("{made}/many", "--port=0", "--rest_api_port=0"), "nobody could ask"),
    ],
)
def test_what_cannot_be_served(shoal: Shoal, made: Path, words: tuple[str, ...], said: str) -> None:
    refused = shoal("serve", *(word.format(made=made) for word in words))
    assert refused.returncode == 2
    assert said.format(made=made) in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("flag", ["--port", "--rest_api_port"])
def test_a_port_that_is_taken(shoal: Shoal, made: Path, flag: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        other = "--rest_api_port" if flag == "--port" else "--port"
        refused = shoal("serve", str(made / "many"), f"{flag}={port}", f"{other}=0")
    assert refused.returncode == 2
    assert f"cannot listen at 127.0.0.1:{port}" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_publish_takes_the_next_version_and_refuses_what_is_no_model(shoal: Shoal, made: Path, tmp_path: Path) -> None:
    source, base = made / "tf1" / "1", tmp_path / "base"
    (base / "00000007").mkdir(parents=True)
    first = shoal("publish", str(source), str(base))
    assert first.stdout.strip() == str(base / "8")
    assert (base / "8" / "saved_model.pb").read_bytes() == (source / "saved_model.pb").read_bytes()
    given = shoal("publish", str(source), str(base), "--version=8")
    assert (given.returncode, "that version is there already" in given.stderr) == (2, True)
    none = shoal("publish", str(tmp_path), str(base))
    assert (none.returncode, "there is no saved_model.pb in it" in none.stderr) == (2, True)
    assert sorted(path.name for path in base.iterdir()) == ["00000007", "8"]
