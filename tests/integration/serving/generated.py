"""Requests that no client would write, from a seed: JSON of any shape, tensors of any type, changed bytes."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message
from tensorflow.core.framework import types_pb2
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    predict_pb2,
    regression_pb2,
)

SIGNATURES = {
    "half_plus_two": ("", "serving_default", "regress_x_to_y", "classify_x_to_y", "scores"),
    "many": ("", "look_up", "not_finite", "bool", "half", "int8", "uint64", "bfloat16", "qint8", "complex64"),
    "tf1": ("",),
    "nobody": ("",),
    "": ("",),
}
LIKELY = {
    "look_up": types_pb2.DT_STRING,
    "half": types_pb2.DT_HALF,
    **{
        name: types_pb2.DataType.Value(f"DT_{name.upper()}")
        for name in ("bool", "int8", "uint64", "bfloat16", "qint8", "complex64")
    },
}
INPUTS = ("x", "a", "b", "words", "inputs", "", "é")
DTYPES = [*types_pb2.DataType.values(), 999]
FIELDS = {
    "half_val": [0, 1, 65535, 1 << 20],
    "float_val": [0.0, 1.5, math.nan, -math.inf],
    "double_val": [0.0, 1e308, math.nan],
    "int_val": [0, -1, 300, 2**31 - 1, -(2**31)],
    "string_val": [b"", b"dog", b"\xff\x00"],
    "scomplex_val": [0.0, 1.0],
    "int64_val": [0, 2**63 - 1, -(2**63)],
    "bool_val": [True, False],
    "dcomplex_val": [0.0, 1.0],
    "uint32_val": [0, 2**32 - 1],
    "uint64_val": [0, 2**64 - 1],
    "float8_val": [b"\x00\x7f\xff"],
}
DIMS = (0, 0, 1, 1, 1, 2, 2, 3, 3, 7, -1, 1 << 20, 1 << 31, 1 << 62, 2**63 - 1, -(2**63))


class Generator:
    """The same requests again for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def rest(self) -> tuple[str, str, bytes, dict[str, str]]:
        """Method, path, body and headers."""
        pick = self._random
        name = pick.choice(list(SIGNATURES))
        where = pick.choices(
            ["", "/versions/123", f"/versions/{pick.getrandbits(80)}", "/labels/stable"], [8, 1, 1, 1]
        )[0]
        api = pick.choices(["predict", "classify", "regress", "explain"], [8, 3, 3, 1])[0]
        method = pick.choices(["POST", "GET", "PUT", "DELETE"], [20, 1, 1, 1])[0]
        headers = {}
        body = pick.choices([self._document, self._changed_document, self._noise], [5, 4, 1])[0](name)
        if pick.random() < 0.1:
            headers["Content-Encoding"] = "gzip"
            body = pick.choice([gzip.compress, self._cut, bytes])(body)
        return method, f"/v1/models/{name}{where}:{api}", body, headers

    def message(self) -> tuple[str, bytes]:
        """A method of PredictionService or ModelService, and its request on the wire."""
        method, request = self._random.choices(
            [self._predict, self._examples, self._metadata, self._status], [8, 3, 1, 1]
        )[0]()
        wire = request.SerializeToString()
        return method, self._changed(wire) if self._random.random() < 0.3 else wire

    def tensor(self, likely: int) -> TensorProto:
        """Any type, though the `likely` one often, any shape, and content in any field."""
        pick = self._random
        dtype = pick.choice([likely, likely, likely, 7, pick.choice(DTYPES)])
        tensor = TensorProto(dtype=dtype)  # type: ignore[arg-type]
        for size in pick.choices(
            DIMS[:10] if pick.random() < 0.8 else DIMS, k=pick.choice([0, 1, 1, 1, 2, 2, 3, 70, 300])
        ):
            tensor.tensor_shape.dim.add().size = size
        tensor.tensor_shape.unknown_rank = pick.random() < 0.02
        for field in pick.sample(list(FIELDS), pick.choice([0, 1, 1, 1, 2])):
            values = pick.choices(FIELDS[field], k=pick.choice([1, 1, 2, 3, 8]))
            if field == "float8_val":
                tensor.float8_val = values[0]
            else:
                getattr(tensor, field).extend(values)
        if pick.random() < 0.3:
            tensor.tensor_content = pick.randbytes(pick.choice([1, 3, 4, 8, 12, 16]))
        return tensor

    def _value(self, depth: int = 0) -> Any:
        pick = self._random
        leaves: list[Callable[[], Any]] = [
            lambda: pick.choice([0, 1, -1, 2, 127, 128, 2**31, 2**63, 2**64, -(2**70), 10**400]),
            lambda: pick.choice([0.5, 1.0, -0.0, 1e38, 1e39, 1e308, math.nan, math.inf, -math.inf]),
            lambda: pick.choice(["", "dog", "\u0000", "é", "b64", "NaN"]),
            lambda: pick.choice([{"b64": "ZG9n"}, {"b64": "%"}, {"b64": 1}, {"b64": "ZG9n", "more": 1}]),
            lambda: pick.choice([True, False, None]),
        ]
        if depth < 4 and pick.random() < 0.6:
            one = self._value(depth + 1)
            return [one if pick.random() < 0.8 else self._value(depth + 1) for _ in range(pick.choice([0, 1, 2, 3]))]
        if depth < 4 and pick.random() < 0.3:
            return {pick.choice(INPUTS): self._value(depth + 1) for _ in range(pick.choice([0, 1, 2]))}
        return pick.choices(leaves, [4, 4, 3, 2, 1])[0]()

    def _body(self, name: str) -> dict[str, Any]:
        pick = self._random
        keys = pick.choices(
            ["instances", "inputs", "examples", "context", "other"], [5, 4, 5, 1, 1], k=pick.choice([1, 1, 2])
        )
        body = {key: self._value() for key in keys}
        signature = pick.choice(SIGNATURES[name]) if pick.random() < 0.9 else self._value(3)
        if pick.random() < 0.5:
            values = {"look_up": ["dog"], "bool": [True], "int8": [1], "uint64": [2**64 - 1]}
            default = [{"a": [1, 2, 3], "b": 4}] if name == "many" else [1.0, 2.0]
            body = {
                "instances": values.get(str(signature), default),
                "examples": pick.choice([[{"x": 1.0}, {"x": [2.0]}], [{}], [{"x": "dog"}]]),
            }
        if signature:
            body["signature_name"] = signature
        return body

    def _document(self, name: str) -> bytes:
        return json.dumps(self._body(name)).encode()

    def _changed_document(self, name: str) -> bytes:
        return self._changed(self._document(name))

    def _noise(self, name: str) -> bytes:
        pick = self._random
        some = [b"", b"{", b"[" * 100_000, b'{"a":' * 5000, b"\xff\xfe{\x00", b"\xef\xbb\xbf{}", b'"\\ud800"', b"null"]
        return pick.choice([*some, b"1e999999999", pick.randbytes(40)])

    def _changed(self, data: bytes) -> bytes:
        pick = self._random
        changed = bytearray(data)
        for _ in range(pick.choice([1, 1, 2, 5])):
            at = pick.randrange(len(changed) + 1)
            match pick.randrange(4):
                case 0 if changed:
                    changed[at % len(changed)] = pick.randrange(256)
                case 1:
                    del changed[at : at + pick.choice([1, 4, 1000])]
                case 2:
                    changed[at:at] = pick.choice([b"0", b",", b"[", b"}", b'"', b"\\u", b"\x80", b"9" * 50])
                case 3:
                    changed[at:at] = changed[pick.randrange(len(changed) + 1) :][:20]
        return bytes(changed)

    def _cut(self, body: bytes) -> bytes:
        whole = gzip.compress(body)
        return whole[: self._random.randrange(len(whole))]

    def _spec(self, request: Any) -> None:
        pick = self._random
        if pick.random() < 0.03:
            return
        name = pick.choices(list(SIGNATURES), [4, 4, 1, 1, 1])[0]
        spec = request.model_spec
        spec.name, spec.signature_name = name, pick.choice(SIGNATURES[name])
        match pick.randrange(12):
            case 0:
                spec.version.value = pick.choice([123, 7, -1, 2**63 - 1])
            case 1:
                spec.version_label = pick.choice(["stable", "é", ""])

    def _predict(self) -> tuple[str, Message]:
        pick = self._random
        request = predict_pb2.PredictRequest()
        self._spec(request)
        signature = request.model_spec.signature_name
        names = ["words"] if signature == "look_up" else ["x"]
        for name in pick.sample(INPUTS, pick.choice([0, 1, 1, 1, 2])) if pick.random() < 0.3 else names:
            request.inputs[name].CopyFrom(self.tensor(LIKELY.get(signature, types_pb2.DT_FLOAT)))
        if pick.random() < 0.2:
            request.output_filter.extend(pick.choices(["y", "ids", "upper", "", "é"], k=pick.choice([1, 2])))
        return "tensorflow.serving.PredictionService/Predict", request

    def _examples(self) -> tuple[str, Message]:
        pick = self._random
        request: Any
        match pick.randrange(3):
            case 0:
                method, request = "Classify", classification_pb2.ClassificationRequest()
                self._spec(request)
            case 1:
                method, request = "Regress", regression_pb2.RegressionRequest()
                self._spec(request)
            case _:
                method, request = "MultiInference", inference_pb2.MultiInferenceRequest()
                for _ in range(pick.choice([0, 1, 2])):
                    name = pick.choice(["classify", "regress", "predict", ""])
                    self._spec(request.tasks.add(method_name=f"tensorflow/serving/{name}"))
        kind = pick.choice([request.input.example_list, request.input.example_list_with_context])
        for _ in range(pick.choice([0, 1, 1, 2])):
            feature = kind.examples.add().features.feature[pick.choice(["x", "y"])]
            match pick.randrange(4):
                case 0:
                    feature.float_list.value.extend([1.0] * pick.choice([0, 1, 1, 2]))
                case 1:
                    feature.int64_list.value.append(2**62)
                case 2:
                    feature.bytes_list.value.append(b"\xff")
        return f"tensorflow.serving.PredictionService/{method}", request

    def _metadata(self) -> tuple[str, Message]:
        request = get_model_metadata_pb2.GetModelMetadataRequest()
        request.metadata_field.extend(self._random.choices(["signature_def", "é"], k=self._random.choice([0, 1, 1, 2])))
        self._spec(request)
        return "tensorflow.serving.PredictionService/GetModelMetadata", request

    def _status(self) -> tuple[str, Message]:
        request = get_model_status_pb2.GetModelStatusRequest()
        self._spec(request)
        return "tensorflow.serving.ModelService/GetModelStatus", request
