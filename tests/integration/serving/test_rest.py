"""What the REST API answers: TensorFlow Serving's paths, bodies, statuses and messages."""

from __future__ import annotations

import gzip
import math
import subprocess
from typing import Any

import numpy as np
import pytest

from tests.integration.serving.server import ModelServer

HALF = "/v1/models/half_plus_two"


def test_predict_by_row_and_by_column(server: ModelServer) -> None:
    assert server.rest(f"{HALF}:predict", {"instances": [2.0, 3.0, 4.0]}) == (200, {"predictions": [3.0, 3.5, 4.0]})
    assert server.rest(f"{HALF}:predict", {"inputs": [2.0, 3.0, 4.0]}) == (200, {"outputs": [3.0, 3.5, 4.0]})


@pytest.mark.parametrize("where", ["/versions/123", "/labels/stable"])
def test_a_version_and_a_label_in_the_path(server: ModelServer, where: str) -> None:
    assert server.rest(f"{HALF}{where}:predict", {"instances": [2.0]}) == (200, {"predictions": [3.0]})
    assert server.rest(f"{HALF}{where}")[1]["model_version_status"][0]["version"] == "123"
    assert server.rest(f"{HALF}{where}/metadata")[1]["model_spec"]["version"] == "123"


def test_the_path_is_read_in_any_case_and_percent_encoded(server: ModelServer) -> None:
    assert server.rest("/V1/Models/half%5Fplus_two:Predict", {"instances": [2.0]})[0] == 200


def test_several_inputs_and_outputs(server: ModelServer) -> None:
    rows = [{"a": [1, 0, 0], "b": 1}, {"a": [0, 0, 1], "b": 2}]
    assert server.rest("/v1/models/many:predict", {"instances": rows}) == (
        200,
        {"predictions": [{"doubled": 2, "product": [1.0, 2.0]}, {"doubled": 4, "product": [5.0, 6.0]}]},
    )
    columns = {"a": [[1, 0, 0]], "b": [3]}
    assert server.rest("/v1/models/many:predict", {"inputs": columns}) == (
        200,
        {"outputs": {"doubled": [6], "product": [[1.0, 2.0]]}},
    )


def test_strings_and_bytes(server: ModelServer) -> None:
    body = {"signature_name": "look_up", "instances": ["dog", {"b64": "Y293"}]}
    assert server.rest("/v1/models/many:predict", body) == (
        200,
        {
            "predictions": [
                {"ids": 2, "raw_bytes": {"b64": "ZG9n"}, "upper": "DOG"},
                {"ids": -1, "raw_bytes": {"b64": "Y293"}, "upper": "COW"},
            ]
        },
    )


def test_nan_and_infinity_both_ways(server: ModelServer) -> None:
    body = '{"signature_name": "not_finite", "instances": [1.0, 0.0, -1.0, NaN, Infinity]}'
    status, answer = server.rest("/v1/models/many:predict", body)
    assert status == 200
    assert answer["predictions"][:2] == [0.0, -math.inf]
    assert [math.isnan(each) for each in answer["predictions"][2:4]] == [True, True]
    assert answer["predictions"][4] == math.inf


def test_a_float_is_written_so_that_it_reads_back(server: ModelServer) -> None:
    values = np.random.default_rng(1).normal(size=50).astype(np.float32)
    _, answer = server.rest(f"{HALF}:predict", {"instances": values.astype(float).tolist()})
    assert np.float32(answer["predictions"]).tolist() == (values * np.float32(0.5) + np.float32(2)).tolist()


def test_classify_and_regress(server: ModelServer) -> None:
    body: dict[str, Any] = {"signature_name": "classify_x_to_y", "examples": [{"x": 2.0}]}
    assert server.rest(f"{HALF}:classify", body) == (200, {"results": [[["3.000000", 3.0]]]})
    body = {"signature_name": "scores", "examples": [{"x": 2.0}]}
    assert server.rest(f"{HALF}:classify", body) == (200, {"results": [[["", 3.0]]]})
    body = {"signature_name": "regress_x_to_y", "context": {"x": 2.0}, "examples": [{}, {"x": [20.0]}]}
    assert server.rest(f"{HALF}:regress", body) == (200, {"results": [3.0, 12.0]})


def test_the_status(server: ModelServer) -> None:
    assert server.rest(HALF) == (
        200,
        {
            "model_version_status": [
                {"version": "123", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
            ]
        },
    )


def test_the_metadata(server: ModelServer) -> None:
    status, answer = server.rest(f"{HALF}/metadata")
    assert status == 200
    assert answer["model_spec"] == {"name": "half_plus_two", "signature_name": "", "version": "123"}
    signature = answer["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["method_name"] == "tensorflow/serving/predict"
    assert signature["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert signature["inputs"]["x"]["tensor_shape"] == {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/v1/models/half:predict", {"instances": [1.0, 5.0]}, 404, "Servable not found for request: Latest(half)"),
        (f"{HALF}/versions/9:predict", {"instances": [1]}, 404, "not found for request: Specific(half_plus_two, 9)"),
        (f"{HALF}/labels/x:predict", {"instances": [1]}, 400, "Unrecognized servable version label: x"),
        (f"{HALF}:predict", {"signature_name": "x", "instances": [1]}, 400, 'name: "x" not found in signature def'),
        (f"{HALF}:predict", "", 400, "JSON Parse error: The document is empty"),
        (f"{HALF}:predict", {"instances": ["a"]}, 400, "is not of expected type: float"),
        (f"{HALF}:explain", {"instances": [1]}, 400, "Malformed request: POST /v1/models/half_plus_two:explain"),
        (f"{HALF}/versions/x:predict", {}, 400, "Malformed request: POST"),
        (f"{HALF}/versions/99999999999999999999:predict", {}, 400, "Failed to convert version"),
        ("/v1/models/many:predict", {"signature_name": "half", "inputs": 1.0}, 501, "to type: half"),
        ("/v1/models/many:predict", {"inputs": {"a": [[1]], "b": [1]}}, 400, "Matrix size-incompatible"),
        (f"{HALF}:regress", {"examples": [{"x": 2.0}]}, 400, "No regression inputs found in SignatureDef"),
        ("/v1/models", None, 400, "Missing model name in request."),
        ("/v1/models/nobody", None, 404, "Could not find any versions of model nobody"),
        (f"{HALF}/versions/9", None, 404, "Could not find version 9 of model half_plus_two"),
        ("/v1/models/nobody/metadata", None, 404, "Servable not found for request: Latest(nobody)"),
        ("/v1/nothing", None, 400, "Malformed request: GET /v1/nothing"),
        ("/nothing", None, 404, "Not found"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_request(server: ModelServer, path: str, body: Any, status: int, said: str) -> None:
    code, answer = server.rest(path, body)
    assert (code, list(answer)) == (status, ["error"])
    assert said in answer["error"]


def test_another_method_is_malformed(server: ModelServer) -> None:
    answer = server.http.put(f"{HALF}:predict", json={})
    assert (answer.status_code, answer.json()) == (400, {"error": f"Malformed request: PUT {HALF}:predict"})


def test_bodies_and_answers_may_be_compressed(server: ModelServer) -> None:
    body = gzip.compress(b'{"instances": [' + b",".join([b"2.0"] * 5000) + b"]}")
    answer = server.http.post(f"{HALF}:predict", content=body, headers={"Content-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json() == {"predictions": [3.0] * 5000}
    broken = server.http.post(f"{HALF}:predict", content=b"no gzip", headers={"Content-Encoding": "gzip"})
    assert broken.status_code == 400


def test_a_web_page_of_another_origin_may_ask(server: ModelServer) -> None:
    preflight = server.http.options(f"{HALF}:predict", headers={"Origin": "http://example.org"})
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-methods"] == "POST, GET"
    assert server.http.get(HALF).headers["access-control-allow-origin"] == "*"
    assert server.http.options(f"{HALF}:predict").status_code == 400


def test_curl_is_answered(server: ModelServer) -> None:
    url = f"http://127.0.0.1:{server.rest_port}{HALF}:predict"
    asked = ["curl", "--silent", "--fail", "--data", '{"instances": [1.0, 2.0, 5.0]}', url]
    assert subprocess.run(asked, check=True, capture_output=True, timeout=60).stdout == b'{"predictions":[2.5,3.0,4.5]}'


def test_metrics_have_the_names_that_dashboards_know(server: ModelServer) -> None:
    counted = ':tensorflow:serving:request_count{model_name="half_plus_three",status="%s"}'
    latency = ':tensorflow:serving:request_latency_count{API="%s",entrypoint="%s",model_name="half_plus_three"}'
    runtime = ':tensorflow:serving:runtime_latency_count{API="Predict",model_name="half_plus_three",runtime="TF1"}'
    before = [server.metric(line) for line in (counted % "OK", latency % ("predict", "REST"), runtime)]
    assert server.rest("/v1/models/half_plus_three:predict", {"instances": [2.0]}) == (200, {"predictions": [4.0]})
    server.rest("/v1/models/half_plus_three:predict", {"instances": ["a"]})
    server.predict("half_plus_three", x=[1.0])
    after = [server.metric(line) for line in (counted % "OK", latency % ("predict", "REST"), runtime)]
    assert [new - old for new, old in zip(after, before, strict=True)] == [2, 1, 2]
    assert server.metric(counted % "INVALID_ARGUMENT") == 1
    assert server.metric(latency % ("Predict", "GRPC")) == 1
    assert server.metric('shoal_serving_version_state{model_name="half_plus_three",version="123"}') == 30
