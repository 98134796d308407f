"""Tensors in JSON. The facts are those that TensorFlow Serving's own json_tensor_test.cc states."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from shoal.serving.dtypes import STRING
from shoal.serving.json_tensor import (
    PredictBody,
    parse,
    read_examples,
    read_predict,
    write_classifications,
    write_error,
    write_predict,
    write_regressions,
)
from shoal.serving.status import Code, ServingError

INT, FLOAT, DOUBLE = np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.float64)


def read(text: str | bytes, **inputs: np.dtype) -> PredictBody:
    return read_predict(text if isinstance(text, bytes) else text.encode(), lambda signature: inputs)


def fault(text: str | bytes, **inputs: np.dtype) -> str:
    with pytest.raises(ServingError) as refused:
        read(text, **inputs)
    assert refused.value.code is Code.INVALID_ARGUMENT
    return refused.value.message


def same(found: np.ndarray, expected: Any, dtype: np.dtype) -> None:
    wanted = np.array(expected, dtype)
    assert found.dtype == dtype
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def test_rows_of_one_input() -> None:
    body = read('{"instances": [[1,2],[3,4],[5,6]]}', x=INT)
    assert body.by_row
    assert body.signature == ""
    same(body.inputs["x"], [[1, 2], [3, 4], [5, 6]], INT)


def test_the_signature_is_asked_for_by_its_name() -> None:
    asked: list[str] = []

    def inputs_of(signature: str) -> Mapping[str, np.dtype]:
        asked.append(signature)
        return {"x": INT}

    body = read_predict(b'{"signature_name": "predict_images", "instances": [[1,2]]}', inputs_of)
    assert (asked, body.signature) == (["predict_images"], "predict_images")


def test_whole_and_decimal_numbers_mix_in_a_float() -> None:
    same(read('{"instances": [1, 2.0, 3, 5.003, 0.007, 0.0]}', x=FLOAT).inputs["x"], [1, 2, 3, 5.003, 0.007, 0], FLOAT)
    same(read('{"instances": [1.0, 2, 0.662, 0]}', x=DOUBLE).inputs["x"], [1, 2, 0.662, 0], DOUBLE)


def test_a_float_loses_digits_however_it_is_written() -> None:
    whole = read('{"instances": [1435774380]}', x=FLOAT).inputs["x"]
    decimal = read('{"instances": [1435774380.0]}', x=FLOAT).inputs["x"]
    assert whole.tobytes() == decimal.tobytes() == np.float32(1435774336).tobytes()


def test_beyond_the_largest_float_lies_infinity_and_below_the_least_zero() -> None:
    values = read('{"instances": [1.7e308, -1.7e308, 2.3e-308, -2.3e-308]}', x=FLOAT).inputs["x"]
    assert values.tolist() == [np.inf, -np.inf, 0.0, 0.0]
    assert np.signbit(values).tolist() == [False, True, False, True]


def test_nan_and_infinity_are_read() -> None:
    body = read('{"instances": [{"f": [1.0, NaN], "d": [NaN]}, {"f": [2.0, -Infinity], "d": [2]}]}', f=FLOAT, d=DOUBLE)
    same(body.inputs["f"], [[1, np.nan], [2, -np.inf]], FLOAT)
    same(body.inputs["d"], [[np.nan], [2]], DOUBLE)


def test_bytes_are_base64() -> None:
    body = read('{"instances": [{"b64": "aGVsbG8="}, {"b64": "d29ybGQ="}]}', x=STRING)
    same(body.inputs["x"], [b"hello", b"world"], STRING)
    same(read('{"instances": [[{"b64": "aGVsbG8"}]]}', x=STRING).inputs["x"], [[b"hello"]], STRING)
    named = read('{"instances": [{"x": [[{"b64": "aGVsbG8="}], [{"b64": "d29ybGQ="}]]}]}', x=STRING)
    same(named.inputs["x"], [[[b"hello"], [b"world"]]], STRING)


def test_an_input_may_be_called_b64() -> None:
    body = read('{"instances": [{"b64": "foo", "x": "bar"}]}', b64=STRING, x=STRING)
    assert (body.inputs["b64"].tolist(), body.inputs["x"].tolist()) == ([b"foo"], [b"bar"])


def test_rows_of_several_inputs() -> None:
    body = read(
        '{"instances": [{"i": [[1,2],[3,4]], "s": ["foo", "bar"]}, {"i": [[5,6],[7,8]], "s": ["baz", "bat"]}]}',
        i=INT,
        s=STRING,
    )
    same(body.inputs["i"], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], INT)
    same(body.inputs["s"], [[b"foo", b"bar"], [b"baz", b"bat"]], STRING)


def test_columns() -> None:
    body = read(
        '{"inputs": {"i": [[[1,2]]], "s": ["foo", "bar"], "b": {"b64": "aGVsbG8="}}}', i=INT, s=STRING, b=STRING
    )
    assert not body.by_row
    same(body.inputs["i"], [[[1, 2]]], INT)
    same(body.inputs["s"], [b"foo", b"bar"], STRING)
    assert body.inputs["b"].shape == ()
    assert body.inputs["b"].item() == b"hello"


def test_a_single_column_needs_no_name() -> None:
    same(read('{"inputs": [[1,2]]}', x=INT).inputs["x"], [[1, 2]], INT)
    assert read('{"inputs": 7}', x=INT).inputs["x"].shape == ()


def test_a_truth_value_is_no_number() -> None:
    assert "is not of expected type: int32" in fault('{"instances": [1, true]}', x=INT)
    same(read('{"instances": [true, false]}', x=np.dtype(bool)).inputs["x"], [True, False], np.dtype(bool))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "document is empty"),
        ("  \n", "document is empty"),
        ("{", "JSON Parse error"),
        ("[1]", "Is not object"),
        ('{"instances": ["\\ud800"]}', "surrogate pair in string is invalid"),
        ('{"instances": ["\\udc00"]}', "surrogate pair in string is invalid"),
        ('{"signature_name": 5, "instances": [1]}', "must be a string value"),
        ('{"instances": [1], "inputs": [1]}', "Not formatted correctly"),
        ('{"instances": 5}', "Expecting 'instances' to be an list/array"),
        ('{"instances": []}', "No values in 'instances' array"),
        ("{}", "Missing 'inputs' or 'instances' key"),
        ('{"instances": [[1,2],[3,4],[5,6,7]]}', "Expecting tensor size: 2 but got: 3"),
        ('{"instances": [[1,2],[3,4],[[5,6]]]}', "Expecting shape [2] but got: [1,2]"),
        ('{"instances": [1, [1]]}', "Expecting shape [] but got: [1]"),
        ('{"instances": [[1,2],["a","b"]]}', 'JSON Value: "a" Type: String is not of expected type: int32'),
        ('{"instances": [1.0]}', "is not of expected type: int32"),
        ('{"instances": [3000000000]}', "is not of expected type: int32"),
        ('{"instances": [[1,[2]]]}', "Encountered list at unexpected level: 1 expected < 1"),
        ('{"instances": [[[1],2]]}', "found at incorrect level: 2 in the JSON DOM. Expected at level: 2"),
        ('{"instances": [[[1],[2,3]]]}', "Encountered list at unexpected size: 2 at level: 1 expected size: 1"),
        ('{"instances": [1, {"x": 2}]}', "Expecting value/list but got object at item 1 of input list"),
        ('{"instances": [{"x": 1}, 2]}', "Expecting object but got list at item 1 of input list"),
        ('{"instances": [{"y": 1}]}', "JSON object: does not have named input: y"),
        ('{"instances": [null]}', "Type: Null is not of expected type: int32"),
        ('{"inputs": {"y": 1}}', "Missing named input: x in 'inputs' object."),
        ('{"inputs": [[1,2],[3]]}', "Encountered list at unexpected size: 1 at level: 1 expected size: 2"),
    ],
)
def test_what_is_wrong_with_one_input(text: str, said: str) -> None:
    assert said in fault(text, x=INT)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"instances": [[1], [2]]}', "instances is a plain list, but expecting list of objects"),
        ('{"inputs": [1]}', "inputs is a plain value/list, but expecting an object"),
        ('{"instances": [{"i": 1}]}', "keys must be equal to: i,s"),
        ('{"instances": [{"i": 1, "s": "a"}, {"i": [1], "s": "a"}]}', "element: 1 key: i of 'instances' list"),
    ],
)
def test_what_is_wrong_with_several_inputs(text: str, said: str) -> None:
    assert said in fault(text, i=INT, s=STRING)


def test_base64_that_is_none() -> None:
    assert "Unable to base64 decode" in fault('{"instances": [{"b64": "%%"}]}', x=STRING)
    assert "not formatted correctly for base64 data" in fault('{"inputs": [{"b64": 5}]}', x=STRING)


def test_a_document_nested_beyond_reason_is_refused() -> None:
    nested = "[" * 500_000 + "]" * 500_000
    assert "nested too deeply" in fault(f'{{"signature_name": {nested}}}', x=INT)


def test_what_follows_the_document_is_ignored() -> None:
    same(read('{"instances": [1]} trailing', x=INT).inputs["x"], [1], INT)


def test_a_type_that_json_has_no_form_for() -> None:
    with pytest.raises(ServingError) as refused:
        read('{"instances": [1.0]}', x=np.dtype(np.float16))
    assert refused.value.code is Code.UNIMPLEMENTED


def test_one_output_by_row_and_by_column() -> None:
    values = np.arange(6, dtype=np.int32).reshape(3, 2)
    assert parse(write_predict({"y": values}, True)) == {"predictions": [[0, 1], [2, 3], [4, 5]]}
    assert parse(write_predict({"y": values}, False)) == {"outputs": [[0, 1], [2, 3], [4, 5]]}


def test_several_outputs_by_row_and_by_column() -> None:
    outputs = {
        "d": np.array([8.0, 9.0]),
        "s": np.array([[b"foo"], [b"bar"]], STRING),
        "s_bytes": np.array([b"tf", b"\xff"], STRING),
    }
    assert parse(write_predict(outputs, True)) == {
        "predictions": [
            {"d": 8.0, "s": ["foo"], "s_bytes": {"b64": "dGY="}},
            {"d": 9.0, "s": ["bar"], "s_bytes": {"b64": "/w=="}},
        ]
    }
    assert parse(write_predict(outputs, False)) == {
        "outputs": {"d": [8.0, 9.0], "s": [["foo"], ["bar"]], "s_bytes": [{"b64": "dGY="}, {"b64": "/w=="}]}
    }


def test_an_empty_batch() -> None:
    outputs = {"a": np.zeros((0, 2), np.int32), "b": np.empty((0, 1), STRING)}
    assert parse(write_predict(outputs, True)) == {"predictions": []}


def test_outputs_that_have_no_common_batch_are_refused_by_row() -> None:
    with pytest.raises(ServingError, match="inconsistent batch size: 1 expecting: 2"):
        write_predict({"a": np.zeros((2, 3)), "b": np.zeros((1, 3))}, True)
    with pytest.raises(ServingError, match="no shape information"):
        write_predict({"a": np.array(1.0)}, True)
    assert parse(write_predict({"a": np.array(1.0, np.float32)}, False)) == {"outputs": 1.0}


def test_outputs_that_json_has_no_form_for() -> None:
    with pytest.raises(ServingError, match="empty tensor map"):
        write_predict({}, True)
    with pytest.raises(ServingError, match="tensor type: complex64"):
        write_predict({"y": np.zeros(2, np.complex64)}, True)


def test_numbers_that_are_not_finite_are_written_as_their_names() -> None:
    values = np.array([[np.nan, np.inf], [3, -np.inf], [0.1, 0.2]], np.float32)
    text = write_predict({"y": values}, True).decode()
    assert text == '{"predictions":[[NaN,Infinity],[3.0,-Infinity],[0.1,0.2]]}'
    several = {"a": values[:, 0], "b": np.array([1, 2, 3])}
    assert '{"a":NaN,"b":1}' in write_predict(several, True).decode()


@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.int8, np.uint8, np.int16, np.int64, np.uint64, np.bool_]),
        arrays.array_shapes(max_dims=4, max_side=4),
    )
)
def test_what_is_written_reads_back_to_the_same_values(values: np.ndarray) -> None:
    text = write_predict({"y": values}, True)
    values_read = json.loads(text)["predictions"]
    found = read(json.dumps({"instances": values_read}), x=values.dtype).inputs["x"]
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=3, max_side=3), elements=st.floats(width=32)))
def test_every_float_reads_back(values: np.ndarray) -> None:
    found = read(write_predict({"y": values}, True).replace(b"predictions", b"instances"), x=FLOAT).inputs["x"]
    np.testing.assert_array_equal(found, values)


@given(st.lists(st.binary(), min_size=1))
def test_any_bytes_read_back(values: list[bytes]) -> None:
    outputs = {"y_bytes": np.array(values, STRING)}
    listed = parse(write_predict(outputs, True))["predictions"]
    assert [base64.b64decode(each["b64"]) for each in listed] == values
    assert read(json.dumps({"instances": listed}), x=STRING).inputs["x"].tolist() == values


def test_examples_with_a_context() -> None:
    body = read_examples(
        b"""{"signature_name": "s", "context": {"query": "pizza"}, "examples": [
          {"names": ["foo", {"b64": "aGVsbG8="}], "ratings": [8.0, NaN, Infinity], "age": 20},
          {"mix": [1, true, false], "ratings": 6.0}]}"""
    )
    assert body.signature == "s"
    assert body.context is not None
    assert body.context["query"].values == [b"pizza"]
    first, second = body.examples
    assert (first["names"].kind, first["names"].values) == ("bytes", [b"foo", b"hello"])
    assert first["ratings"].kind == "float"
    assert np.isnan(first["ratings"].values[1])
    assert (first["age"].kind, first["age"].values) == ("int64", [20])
    assert second["mix"].values == [1, 1, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"signature_name": ["x"], "examples": [{}]}', "'signature_name' key must be a string"),
        ('{"context": [1]}', "Example must be JSON object but got JSON Array"),
        ("{}", "key 'examples' is expected"),
        ('{"examples": {"a": 1}}', "list/array"),
        ('{"examples": []}', "'examples' value is an empty array"),
        ('{"examples": [[1]]}', "Example must be JSON object"),
        ('{"examples": [{"names": [10, null]}]}', "names has element with unexpected JSON type: Null"),
        ('{"examples": [{"names": [10, 10.0]}]}', "feature: names expecting type: int64"),
        ('{"examples": [{"names": [10, {"test": 10}]}]}', "names has element with unexpected JSON type: Object"),
        ('{"examples": [{"names": [[10], 20]}]}', "names has element with unexpected JSON type: Array"),
        ('{"examples": [{"names": [20, 18446744073709551603]}]}', "Only int64_t is supported"),
    ],
)
def test_what_is_wrong_with_examples(text: str, said: str) -> None:
    with pytest.raises(ServingError) as refused:
        read_examples(text.encode())
    assert said in refused.value.message


def test_results_of_classify_and_regress() -> None:
    rows = [[("car", 0.2), ("bike", 0.7)], [("car", 0.7), ("bike", 0.1)]]
    assert parse(write_classifications(rows)) == {
        "results": [[["car", 0.2], ["bike", 0.7]], [["car", 0.7], ["bike", 0.1]]]
    }
    assert write_regressions([0.2, 0.9, 1.0]) == b'{"results":[0.2,0.9,1.0]}'
    assert write_regressions([0.2, np.inf, np.nan]) == b'{"results":[0.2,Infinity,NaN]}'
    with pytest.raises(ServingError, match="empty ClassificationResults"):
        write_classifications([])
    with pytest.raises(ServingError, match="empty RegressionResults"):
        write_regressions([])


def test_an_error_is_an_object() -> None:
    assert json.loads(write_error('Bad key: "key"')) == {"error": 'Bad key: "key"'}
