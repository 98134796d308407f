"""Models that come, change and go while the server runs."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import model_management_pb2

from shoal.serving.versions import SETTLE_SECONDS
from tests.integration.harness import Shoal
from tests.integration.serving import models
from tests.integration.serving.configuration import configure, entry, specific, value
from tests.integration.serving.prediction_logs import predict_log, write_warmup
from tests.integration.serving.server import RPC_SECONDS, ModelServer


def test_the_newest_version_takes_over_and_no_request_fails_meanwhile(
    running: ModelServer, versions: Path, tmp_path: Path, shoal: Shoal
) -> None:
    base = tmp_path / "base"
    shutil.copytree(versions / "2.0", base / "1")
    configure(running, entry(base))
    assert value(running) == 2.0
    done = threading.Event()
    failed: list[object] = []

    def ask() -> None:
        while not done.is_set():
            status, answer = running.rest("/v1/models/m:predict", {"instances": [0.0]})
            if status != 200:
                failed.append(answer)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        published = shoal("publish", str(versions / "3.0"), str(base))
        assert published.stdout.strip() == str(base / "2")
        running.until(lambda: value(running) == 3.0, "the new version to answer")
        running.until_states("m", {1: "END", 2: "AVAILABLE"})
    finally:
        done.set()
        asking.join()
    assert not failed


def test_a_request_is_answered_by_the_version_that_it_was_read_for(running: ModelServer, tmp_path: Path) -> None:
    """Of two versions that take different types, none is given what was read for the other."""
    models.plus_one(tf.float32, tmp_path / "1")
    models.plus_one(tf.int32, tmp_path / "2")
    configure(running, entry(tmp_path, specific(1)))
    done = threading.Event()
    failed: list[object] = []

    def ask() -> None:
        while not done.is_set():
            status, answer = running.rest("/v1/models/m:predict", {"instances": [1] * 2000})
            if status != 200:
                failed.append(answer)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for each in asking:
        each.start()
    try:
        for number in (2, 1) * 10:
            configure(running, entry(tmp_path, specific(number)))
            running.until_states("m", {number: "AVAILABLE", 3 - number: "END"})
    finally:
        done.set()
        for each in asking:
            each.join()
    assert not failed


def test_a_version_that_is_gone_gives_way_to_the_one_before(
    running: ModelServer, versions: Path, tmp_path: Path
) -> None:
    for number, made in (("1", "2.0"), ("2", "3.0")):
        shutil.copytree(versions / made, tmp_path / number)
    configure(running, entry(tmp_path))
    assert value(running) == 3.0
    shutil.rmtree(tmp_path / "2")
    running.until(lambda: value(running) == 2.0, "version 1 to answer")


def test_a_folder_that_is_being_copied_is_not_served(running: ModelServer, versions: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(versions / "2.0", base / "1")
    configure(running, entry(base))
    half = base / "2"
    half.mkdir()
    shutil.copytree(versions / "3.0", base / ".hidden")
    shutil.copy(versions / "3.0" / "saved_model.pb", half)
    for again in range(20):  # ten looks of the server's
        wrote = time.monotonic()
        (half / f"part{again}").write_text("more is coming")
        time.sleep(0.05)
        states = running.states("m")
        assert states == {1: "AVAILABLE"} or time.monotonic() - wrote > SETTLE_SECONDS / 2
    shutil.copytree(versions / "3.0", half, dirs_exist_ok=True)
    running.until(lambda: value(running) == 3.0, "the whole version to answer")


def test_a_version_that_is_named_while_it_is_copied_takes_over_when_it_is_whole(
    running: ModelServer, versions: Path, tmp_path: Path
) -> None:
    shutil.copytree(versions / "2.0", tmp_path / "1")
    configure(running, entry(tmp_path, specific(1)))
    shutil.copytree(versions / "3.0", tmp_path / "2")
    configure(running, entry(tmp_path, specific(2)))
    running.until(lambda: value(running) == 3.0, "version 2 to answer")  # and some version always does


def test_a_version_that_cannot_be_loaded_leaves_the_old_one_and_the_other_models_alone(
    running: ModelServer, versions: Path, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    shutil.copytree(versions / "2.0", good / "1")
    (bad / "1").mkdir(parents=True)
    (bad / "1" / "saved_model.pb").write_bytes(b"no model")
    with pytest.raises(grpc.RpcError) as fault:
        configure(running, entry(bad, name="bad"), entry(good, name="good"))
    assert "bad" in fault.value.details()
    assert value(running, name="good") == 2.0
    running.until_states("bad", {1: "END"})
    _, answer = running.rest("/v1/models/bad")
    assert answer["model_version_status"][0]["status"]["error_code"] != "OK"
    assert answer["model_version_status"][0]["status"]["error_message"]
    assert running.http.get("/readyz").status_code == 200
    shutil.copytree(versions / "3.0", good / "2")
    (good / "2" / "saved_model.pb").write_bytes(b"no model")
    running.until_states("good", {1: "AVAILABLE", 2: "END"})
    assert value(running, name="good") == 2.0
    shutil.copy(versions / "3.0" / "saved_model.pb", good / "2")
    running.until(lambda: value(running, name="good") == 3.0, "the mended version to answer")


def test_versions_by_policy_and_labels(running: ModelServer, versions: Path, tmp_path: Path) -> None:
    for number, made in (("1", "2.0"), ("2", "3.0"), ("3", "2.0")):
        shutil.copytree(versions / made, tmp_path / number)
    configure(running, entry(tmp_path, specific(1, 2)))
    running.until_states("m", {1: "AVAILABLE", 2: "AVAILABLE"})
    labels = 'version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 }'
    configure(running, entry(tmp_path, specific(1, 2) + labels))
    assert (value(running, label="stable"), value(running, label="canary")) == (2.0, 3.0)
    assert (value(running, 1), value(running)) == (2.0, 3.0)
    with pytest.raises(grpc.RpcError) as fault:
        configure(running, entry(tmp_path, specific(1, 2) + 'version_labels { key: "stable" value: 3 }'))
    assert fault.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    said = "Request to assign label to version 3 of model m, which is not currently available for inference"
    assert fault.value.details() == said
    assert value(running, label="stable") == 2.0
    configure(running, entry(tmp_path, "model_version_policy { all {} }"))
    running.until_states("m", dict.fromkeys((1, 2, 3), "AVAILABLE"))


def test_a_model_that_is_not_in_the_configuration_any_more_is_gone(
    running: ModelServer, versions: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        shutil.copytree(versions / "2.0", tmp_path / name / "1")
    configure(running, entry(tmp_path / "a", name="a"), entry(tmp_path / "b", name="b"))
    configure(running, entry(tmp_path / "b", name="b"))
    assert running.rest("/v1/models/a:predict", {"instances": [0.0]})[0] == 404
    assert value(running, name="b") == 2.0


def test_how_metrics_grew_while_it_was_configured(running: ModelServer, versions: Path, tmp_path: Path) -> None:
    """One request more is under way when the new model has been warmed up, which waits for a file."""
    for name in "mn":
        shutil.copytree(versions / "many", tmp_path / name / "1")
    write_warmup(tmp_path / "n" / "1", predict_log("wait", file=str(tmp_path / "warm")))
    configure(running, entry(tmp_path / "m"))
    request = model_management_pb2.ReloadConfigRequest(metric_names=["shoal_serving_requests_in_progress", "/nothing"])
    for name in "mn":
        request.config.model_config_list.config.add(name=name, base_path=str(tmp_path / name))
    configuring = running.models.HandleReloadConfigRequest.future(request, RPC_SECONDS)
    running.until(lambda: running.states("n") == {1: "LOADING"}, "the new model to be loading")
    asking = threading.Thread(
        target=lambda: running.predict("m", signature_name="wait", file=str(tmp_path / "go")), daemon=True
    )
    asking.start()
    running.until(lambda: running.metric("shoal_serving_requests_in_progress"), "the request to be under way")
    (tmp_path / "warm").touch()
    grown = {each.name: each.int64_value_increase for each in configuring.result().metric}
    assert grown == {"shoal_serving_requests_in_progress": 1, "/nothing": 0}
    (tmp_path / "go").touch()
    asking.join()


def test_a_configuration_that_cannot_be_used_changes_nothing(
    running: ModelServer, versions: Path, tmp_path: Path
) -> None:
    shutil.copytree(versions / "2.0", tmp_path / "1")
    configure(running, entry(tmp_path))
    with pytest.raises(grpc.RpcError) as fault:
        configure(running, entry(tmp_path), entry(tmp_path))
    assert fault.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert fault.value.details() == "Illegal to list model m multiple times in config list"
    with pytest.raises(grpc.RpcError) as fault:
        running.models.HandleReloadConfigRequest(model_management_pb2.ReloadConfigRequest(), RPC_SECONDS)
    assert fault.value.details().startswith("ServerModelConfig type not supported by HandleReloadConfigRequest.")
    assert value(running) == 2.0


def test_a_request_ends_on_the_version_that_it_began_with(running: ModelServer, versions: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(versions / "many", base / "1")
    configure(running, entry(base))
    answers: list[float] = []

    def ask() -> None:
        response = running.predict("m", signature_name="wait", file=str(tmp_path / "go"))
        answers.append(response.model_spec.version.value)

    asking = threading.Thread(target=ask)
    asking.start()
    running.until(lambda: running.metric("shoal_serving_requests_in_progress"), "the request to be under way")
    shutil.copytree(versions / "many", base / "2")
    running.until_states("m", {1: "UNLOADING", 2: "AVAILABLE"})
    assert not answers
    (tmp_path / "go").touch()
    asking.join()
    assert answers == [1]
    running.until_states("m", {1: "END", 2: "AVAILABLE"})
