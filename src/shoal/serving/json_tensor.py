"""Tensors in JSON, as TensorFlow Serving's REST API has them: what a request's body says, and the answer's text.

A request gives its tensors by row (`instances`: one element an example, batched here) or by column (`inputs`: whole
tensors). The signature says which types to read. Numbers are read as the signature's type would hold them, so a float
may lose digits but an integer may not be written `1.0`; `NaN` and `Infinity` are read and written though JSON has none;
bytes are `{"b64": …}` (https://www.tensorflow.org/tfx/serving/api_rest).

A list as large as an image is walked by C code only: nesting is flattened level by level, types are looked at as a set.
Only what turns out to be wrong is walked again, element by element, to say where (`json_faults`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import orjson

from shoal.serving import dtypes
from shoal.serving.json_faults import IN_JSON, explain_column, explain_rows, is_base64, is_fitting, shown, type_name
from shoal.serving.status import Code, ServingError, invalid

_HALF_OF_A_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escape of a surrogate; Python's json takes one without the other."""

Inputs = Mapping[str, np.dtype]
"""The names and types of a signature's inputs."""


@dataclass(frozen=True, slots=True)
class PredictBody:
    """What the body of a `:predict` says. `by_row` tells how the answer is to be written."""

    signature: str
    inputs: dict[str, np.ndarray]
    by_row: bool


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of an example: `bytes`, `float` or `int64`, and its values."""

    kind: str
    values: list[Any]


@dataclass(frozen=True, slots=True)
class ExamplesBody:
    """What the body of a `:classify` or `:regress` says. Features of `context` belong to every example."""

    signature: str
    examples: list[dict[str, Feature]]
    context: dict[str, Feature] | None


def read_predict(body: bytes, inputs_of: Callable[[str], Inputs]) -> PredictBody:
    """Read the body of a `:predict`. `inputs_of` answers the inputs of a signature by its name, which is empty for the
    default one. Raises ServingError."""
    document = parse(body)
    signature = _signature(document)
    inputs = inputs_of(signature)
    if not inputs:
        raise invalid(f"Failed to get input map for signature: {signature or 'DEFAULT'}")
    if "instances" in document and "inputs" in document:
        raise _wrong(document, "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ")
    if "instances" in document:
        instances = document["instances"]
        if not isinstance(instances, list):
            raise _wrong(document, "Expecting 'instances' to be an list/array")
        if not instances:
            raise _wrong(document, "No values in 'instances' array")
        return PredictBody(signature, _rows(instances, inputs), True)
    if "inputs" in document:
        return PredictBody(signature, _columns(document["inputs"], inputs), False)
    raise invalid("Missing 'inputs' or 'instances' key")


def write_predict(outputs: Mapping[str, np.ndarray], by_row: bool) -> bytes:
    """The body of the answer. A single output stands there without its name. Raises ServingError for outputs that have
    no common first dimension where rows are wanted, and for types that JSON has no form for."""
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    for output in outputs.values():
        if output.dtype not in IN_JSON:
            raise invalid(f"Failed to write JSON value for tensor type: {dtypes.name(output.dtype)}")
    if by_row:
        _check_batch(outputs)
    values = {
        name: jsonable(outputs[name], base64_of if name.endswith("_bytes") else _text) for name in sorted(outputs)
    }
    if len(values) == 1:
        result: Any = next(iter(values.values()))
    elif by_row:
        result = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    else:
        result = values
    return dump({"predictions" if by_row else "outputs": result}, list(outputs.values()))


def read_examples(body: bytes) -> ExamplesBody:
    """Read the body of a `:classify` or `:regress`. Raises ServingError."""
    document = parse(body)
    signature = _signature(document)
    context = _example(document["context"]) if "context" in document else None
    if "examples" not in document:
        raise _wrong(document, "When method is classify, key 'examples' is expected and was not found")
    examples = document["examples"]
    if not isinstance(examples, list):
        raise _wrong(document, "Expecting 'examples' value to be an list/array")
    if not examples:
        raise _wrong(document, "'examples' value is an empty array")
    return ExamplesBody(signature, [_example(example) for example in examples], context)


def write_classifications(results: list[list[tuple[str, float]]]) -> bytes:
    """The answer to `:classify`: for each example its classes, a label and a score (as float32) each."""
    if not results:
        raise invalid("Cannot convert empty ClassificationResults to JSON")
    scores = np.array([score for classes in results for _, score in classes], np.float32)
    rest = iter(_numbers(scores))
    return dump({"results": [[[label, next(rest)] for label, _ in classes] for classes in results]}, [scores])


def write_regressions(values: list[float]) -> bytes:
    """The answer to `:regress`: a value (as float32) for each example."""
    if not values:
        raise invalid("Cannot convert empty RegressionResults to JSON")
    array = np.array(values, np.float32)
    return dump({"results": array}, [array])


def write_error(message: str) -> bytes:
    """The body of an answer that tells an error."""
    return orjson.dumps({"error": message.encode("utf-8", "replace").decode()})


def parse(body: bytes) -> dict[str, Any]:
    """The object that a body holds. What follows it is ignored, as TensorFlow Serving does. Raises ServingError."""
    if not body.strip():
        raise invalid("JSON Parse error: The document is empty")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = _parse_leniently(body)  # orjson knows neither NaN nor Infinity
    if not isinstance(document, dict):
        raise _wrong(document, "Is not object")
    return document


def _parse_leniently(body: bytes) -> Any:
    try:
        document = json.JSONDecoder().raw_decode(body.decode().lstrip())[0]
        if _HALF_OF_A_PAIR.search(body):
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except UnicodeEncodeError:
        raise invalid("JSON Parse error: The surrogate pair in string is invalid.") from None
    except json.JSONDecodeError as fault:
        raise invalid(f"JSON Parse error: {fault.msg} at offset: {fault.pos}") from None
    except UnicodeDecodeError as fault:
        raise invalid(f"JSON Parse error: Invalid encoding in string. at offset: {fault.start}") from None
    except RecursionError:
        raise invalid("JSON Parse error: The document is nested too deeply") from None


def _signature(document: dict[str, Any]) -> str:
    signature = document.get("signature_name", "")
    if not isinstance(signature, str):
        raise _wrong(document, "not formatted correctly. 'signature_name' key must be a string value.")
    return signature


def _rows(instances: list[Any], inputs: Inputs) -> dict[str, np.ndarray]:
    first = instances[0]
    named = isinstance(first, dict) and not is_base64(first)
    if len(inputs) > 1 and not isinstance(first, dict):
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
            "tensorinfo_map"
        )
    if named:
        if any(not isinstance(row, dict) or row.keys() != inputs.keys() for row in instances):
            raise explain_rows(instances, inputs)
        columns = {name: [row[name] for row in instances] for name in inputs}
    else:
        columns = {min(inputs): instances}
    arrays = {name: read_tensor(column, inputs[name]) for name, column in columns.items()}
    if any(array is None for array in arrays.values()):
        raise explain_rows(instances, inputs)
    return {name: array for name, array in arrays.items() if array is not None}


def _columns(value: Any, inputs: Inputs) -> dict[str, np.ndarray]:
    if isinstance(value, dict) and not is_base64(value):
        for name in inputs:
            if name not in value:
                raise invalid(f"Missing named input: {name} in 'inputs' object.")
        columns = {name: value[name] for name in inputs}
    elif len(inputs) > 1:
        raise invalid(
            "inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
            "tensorinfo_map"
        )
    else:
        columns = {min(inputs): value}
    arrays = {}
    for name, column in columns.items():
        array = read_tensor(column, inputs[name])
        if array is None:
            raise explain_column(column, inputs[name])
        arrays[name] = array
    return arrays


def read_tensor(value: Any, dtype: np.dtype) -> np.ndarray | None:
    """The tensor in `value`; None where lists differ in length, or values are not of that type."""
    shape: list[int] = []
    level = [value]
    while level and list in (kinds := set(map(type, level))):
        lengths = set(map(len, level)) if kinds == {list} else ()
        if len(lengths) != 1:
            return None
        shape.extend(lengths)
        level = list(chain.from_iterable(level))
    if level and dtype not in IN_JSON:
        raise ServingError(
            Code.UNIMPLEMENTED, f"Conversion of JSON Value: {shown(value)} to type: {dtypes.name(dtype)}"
        )
    if not all(is_fitting(kind, dtype) for kind in set(map(type, level))):
        return None
    if dtype == dtypes.STRING:
        flat = np.empty(len(level), dtypes.STRING)
        flat[:] = [_bytes(leaf) for leaf in level]
        return flat.reshape(shape)
    try:
        with np.errstate(over="ignore"):  # beyond the largest float32 lies infinity
            return np.array(level, dtype).reshape(shape)
    except OverflowError:
        return None


def _bytes(leaf: Any) -> bytes:
    if isinstance(leaf, str):
        return leaf.encode()
    if not is_base64(leaf):
        raise invalid(f"JSON Value: {shown(leaf)} not formatted correctly for base64 data")
    text = leaf["b64"].rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


def _example(value: Any) -> dict[str, Feature]:
    if not isinstance(value, dict):
        raise invalid(f"Example must be JSON object but got JSON {type_name(value)}")
    return {
        name: _feature(name, content if isinstance(content, list) else [content]) for name, content in value.items()
    }


def _feature(name: str, elements: list[Any]) -> Feature:
    kind = "UNKNOWN"
    values: list[Any] = []
    found: str
    read: Any
    for element in elements:
        match element:
            case bool() | int():
                found, read = "int64", int(element)
            case float():
                found, read = "float", element
            case str():
                found, read = "bytes", element.encode()
            case {"b64": str()} if is_base64(element):
                found, read = "bytes", _bytes(element)
            case _:
                raise invalid(f"Feature: {name} has element with unexpected JSON type: {type_name(element)}")
        if kind not in ("UNKNOWN", found):
            raise invalid(f"Unexpected element type in feature: {name} expecting type: {kind}")
        if found == "int64" and read >= 2**63:
            raise invalid(f"Feature: {name} has uint64_t element. Only int64_t is supported.")
        kind = found
        values.append(read)
    return Feature(kind, values)


def _check_batch(outputs: Mapping[str, np.ndarray]) -> None:
    size: int | None = None
    for name, output in outputs.items():
        if output.ndim == 0:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if size is not None and len(output) != size:
            raise invalid(f"Tensor name: {name} has inconsistent batch size: {len(output)} expecting: {size}")
        size = len(output)


def jsonable(array: np.ndarray, element: Callable[[bytes], Any]) -> Any:
    """The array as `dump` takes it; `element` says what becomes of each of a tensor's strings."""
    if array.dtype != dtypes.STRING:
        return np.ascontiguousarray(array) if array.ndim else array[()]
    flat = np.empty(array.size, dtypes.STRING)
    flat[:] = [element(each) for each in array.ravel()]
    return flat.reshape(array.shape).tolist()


def base64_of(element: bytes) -> dict[str, str]:
    """Bytes in JSON."""
    return {"b64": base64.b64encode(element).decode()}


def _text(element: bytes) -> str:
    return element.decode("utf-8", "replace")


def _numbers(array: np.ndarray) -> Any:
    """The values of an array; of float32, those that read back to the same float32 with the fewest digits."""
    if array.dtype == np.float32:
        array = array.astype("U").astype(np.float64)
    return array.tolist()


def dump(document: Mapping[str, Any], arrays: Iterable[np.ndarray]) -> bytes:
    """A document in JSON, in which those arrays of numbers stand; NaN and Infinity are written as such."""
    if all(array.dtype.kind != "f" or np.isfinite(array).all() for array in arrays):
        return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    # orjson writes null for what JSON has no word for.
    return json.dumps(document, default=lambda value: _numbers(np.asarray(value)), separators=(",", ":")).encode()


def _wrong(document: Any, problem: str) -> ServingError:
    return invalid(f"JSON Value: {shown(document)} {problem}")
