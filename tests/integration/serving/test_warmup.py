"""Requests that come with a model, and are run before it answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from shoal.serving.model import Model
from shoal.serving.predict import predict
from shoal.serving.status import Code, ServingError
from shoal.serving.warmup import FILE, warm_up
from tests.integration.serving.configuration import configure, entry, specific, value
from tests.integration.serving.prediction_logs import predict_log, write_warmup
from tests.integration.serving.server import ModelServer


def example_logs() -> list[PredictionLog]:
    """One for each of the other ways to ask `half_plus`."""
    classify, regress, several = (PredictionLog() for _ in range(3))
    classify.classify_log.request.model_spec.signature_name = "classify_x_to_y"
    classify.classify_log.request.input.example_list.examples.add()
    regress.regress_log.request.model_spec.signature_name = "regress_x_to_y"
    regress.regress_log.request.input.example_list.examples.add()
    task = several.multi_inference_log.request.tasks.add(method_name="tensorflow/serving/regress")
    task.model_spec.signature_name = "regress_x_to_y"
    several.multi_inference_log.request.input.example_list.examples.add()
    return [classify, regress, several, PredictionLog()]


def test_a_version_answers_when_its_requests_have_been_run_and_not_if_it_was_replaced_meanwhile(
    running: ModelServer, versions: Path, tmp_path: Path
) -> None:
    base, begun, go = tmp_path / "base", tmp_path / "begun", tmp_path / "go"
    shutil.copytree(versions / "2.0", base / "1")
    configure(running, entry(base))
    shutil.copytree(versions / "many", base / "2")
    write_warmup(base / "2", predict_log("touch", file=str(begun)), predict_log("wait", file=str(go)))
    running.until(begun.exists, "the first request to be run")
    assert running.states("m") == {1: "AVAILABLE", 2: "LOADING"}
    (base / "2").rename(tmp_path / "old")
    shutil.copytree(versions / "3.0", base / "2")
    write_warmup(base / "2", predict_log(x=[1.0]), *example_logs())
    go.touch()
    running.until(lambda: value(running) == 3.0, "the version that is there now")
    assert "was changed while it was being loaded" in running.log.read_text()


@pytest.mark.parametrize(
    ("records", "code", "said"),
    [
        ([predict_log(x=[1.0]), predict_log(x=["a"])], Code.INVALID_ARGUMENT, "to be float but string is provided"),
        ([predict_log("nobody", x=[1.0])], Code.FAILED_PRECONDITION, 'Serving signature key "nobody" not found.'),
        ([b"\xff"], Code.INVALID_ARGUMENT, "Failed to parse warmup record: number 1 from"),
        ([PredictionLog()] * 1001, Code.INVALID_ARGUMENT, "Number of warmup records exceeds the maximum (1000) at"),
        ([PredictionLog(session_run_log={})], Code.UNIMPLEMENTED, "Unsupported log_type for warmup: 5"),
        (b"no TFRecord at all", Code.DATA_LOSS, "Please verify your warmup data is in TFRecord format."),
    ],
)
def test_a_record_that_cannot_be_run(
    versions: Path, tmp_path: Path, records: list[PredictionLog | bytes] | bytes, code: Code, said: str
) -> None:
    version = tmp_path / "1"
    shutil.copytree(versions / "2.0", version)
    write_warmup(version, *(records if isinstance(records, list) else ()))
    if isinstance(records, bytes):
        (version / FILE).write_bytes(records)
    with pytest.raises(ServingError) as fault:
        warm_up(Model(version), version)
    assert (fault.value.code, said in fault.value.message) == (code, True), fault.value


def test_a_model_that_cannot_be_warmed_up_does_not_answer(running: ModelServer, versions: Path, tmp_path: Path) -> None:
    for number in "12":
        shutil.copytree(versions / "2.0", tmp_path / number)
    write_warmup(tmp_path / "2", predict_log(x=["a"]))
    configure(running, entry(tmp_path, specific(1, 2)))
    running.until_states("m", {1: "AVAILABLE", 2: "END"})
    (status,) = running.rest("/v1/models/m/versions/2")[1]["model_version_status"]
    assert status["status"]["error_code"] == "INVALID_ARGUMENT"


def test_each_request_is_run_so_often(tmp_path: Path) -> None:
    counter = tf.Module()
    counter.count = tf.Variable(0.0)
    counter.run = tf.function(lambda: {"count": counter.count.assign_add(1.0)}, input_signature=[])
    tf.saved_model.save(counter, str(tmp_path), signatures=counter.run)
    write_warmup(tmp_path, predict_log(), predict_log())

    def runs(iterations: int) -> float:
        model = Model(tmp_path)
        warm_up(model, tmp_path, iterations)
        return float(predict(model, "", {})["count"]) - 1

    assert runs(3) - runs(1) == 2 * 2
