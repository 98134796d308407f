"""How a prediction is written: lines of a table, JSON, numpy's files."""

from __future__ import annotations

import io
import json

import numpy as np

from shoal.serving.client import rendering
from shoal.serving.client.prediction import Prediction


def text(*values: bytes) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def test_rows_side_by_side():
    outputs = {
        "label": text(b"cat", b"two\nlines", b"\xff\xfe", b"x" * 90),
        "score": np.array([0.5, 1 / 3, 1e-9, np.nan], np.float32),
        "probabilities": np.arange(4 * 12, dtype=np.int64).reshape(4, 12),
        "matrix": np.eye(2)[[0, 1, 0, 1]].reshape(4, 1, 2),
    }
    heading, *lines = rendering.to_lines(outputs)
    assert heading == ["ROW", "label", "score", "probabilities", "matrix"]
    assert lines[0] == ["0", "cat", "0.5", "[12] 0 1 2 3 4 5 6 7 8 9 …", "[1, 2] 1 0"]
    assert [line[1] for line in lines[1:]] == ["two\\nlines", "<2 bytes>", "x" * 59 + "…"]
    assert [line[2] for line in lines[1:]] == ["0.333333", "1e-09", "nan"]


def test_outputs_without_rows_in_common():
    assert list(rendering.to_lines({"loss": np.array(0.25), "y": np.array([1, 2])})) == [
        ["OUTPUT", "VALUE"],
        ["loss", "0.25"],
        ["y", "1 2"],
    ]
    assert list(rendering.to_lines({"y": np.zeros((0, 3))})) == [["ROW", "y"]]


def test_json_is_exact():
    outputs = {
        "half": np.array([0.1], np.float16),
        "float": np.array([0.1, np.inf], np.float32),
        "whole": np.array(2**63 - 1),
        "complex": np.array([1 + 2j, np.inf], np.complex64),
        "text": text("dög".encode(), b"\xff"),
        "flag": np.array([True]),
    }
    told = json.loads(rendering.to_json(Prediction("m", 3, "serving_default", outputs)))
    assert np.float16(told["outputs"].pop("half")).tolist() == outputs["half"].tolist()
    assert told == {
        "model": "m",
        "version": 3,
        "signature": "serving_default",
        "outputs": {
            "float": [0.1, float("inf")],
            "whole": 2**63 - 1,
            "complex": [[1.0, 2.0], [float("inf"), 0.0]],
            "text": ["dög", {"b64": "/w=="}],
            "flag": [True],
        },
    }
    finite = rendering.to_json(Prediction("m", 3, "s", {"y": np.array([0.1, 1 / 3], np.float32)}))
    assert finite == '{"model":"m","version":3,"signature":"s","outputs":{"y":[0.1,0.33333334]}}'


def test_numpy_files():
    one = np.load(io.BytesIO(rendering.to_npy({"y": np.array([1.5], np.float32)})))
    assert (one.dtype, one.tolist()) == (np.float32, [1.5])
    several = np.load(io.BytesIO(rendering.to_npy({"y": np.array([1]), "file": text(b"a", b"bc")})))
    assert {name: several[name].tolist() for name in several.files} == {"y": [1], "file": [b"a", b"bc"]}
