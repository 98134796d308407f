"""What is wrong with a tensor in JSON, said in the words that TensorFlow Serving's clients know.

Everything here walks the document element by element, and only for a document that is to be refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shoal.serving import dtypes
from shoal.serving.status import ServingError, invalid

SHOWN_BYTES = 256
"""How much of a JSON value a message quotes."""

WHOLE = frozenset(map(np.dtype, ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")))
"""The integer types that JSON is read and written as."""

IN_JSON = WHOLE | {np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_), dtypes.STRING}
"""All types that are; others are refused, as TensorFlow Serving does."""


def is_fitting(kind: type, dtype: np.dtype) -> bool:
    """Whether JSON values of this kind are read as that type."""
    if dtype == dtypes.STRING:
        return kind in (str, dict)
    if dtype.kind == "b":
        return kind is bool
    return kind is int or (kind is float and dtype.kind == "f")


def is_base64(value: Any) -> bool:
    """Whether a value is `{"b64": "…"}` and nothing else."""
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def shown(value: Any) -> str:
    """The beginning of a value's JSON, for a message."""
    text = ""
    try:
        for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
            text += part
            if len(text) >= SHOWN_BYTES:
                return text[:SHOWN_BYTES]
    except RecursionError:
        return text[:SHOWN_BYTES]
    return text


def type_name(value: Any) -> str:
    """What TensorFlow Serving calls the type of a JSON value."""
    match value:
        case None:
            return "Null"
        case bool():
            return str(value)
        case dict():
            return "Object"
        case list():
            return "Array"
        case str():
            return "String"
        case _:
            return "Number"


def explain_rows(instances: list[Any], inputs: Mapping[str, np.dtype]) -> ServingError:
    """What is wrong with `instances`, a list of rows."""
    first: dict[str, tuple[list[int], int]] = {}
    named = isinstance(instances[0], dict) and not is_base64(instances[0])
    for number, row in enumerate(instances):
        is_object = isinstance(row, dict) and not is_base64(row)
        if named and not is_object:
            return invalid(f"Expecting object but got list at item {number} of input list")
        if is_object and not named:
            return invalid(f"Expecting value/list but got object at item {number} of input list")
        for name, value in row.items() if named else [(min(inputs), row)]:
            key = f" key: {name}" if named else ""
            fault = _fault_of_row(name, value, inputs, first)
            if fault:
                return invalid(
                    f"Failed to process element: {number}{key} of 'instances' list. Error: INVALID_ARGUMENT: {fault}"
                )
        if named and row.keys() != inputs.keys():
            return invalid(
                f"Failed to process element: {number} of 'instances' list. JSON object: {shown(row)} keys must be "
                f"equal to: {','.join(sorted(inputs))}"
            )
    return invalid("'instances' cannot be read as tensors of the signature's types")


def explain_column(value: Any, dtype: np.dtype) -> ServingError:
    """What is wrong with `value`, a whole tensor of `inputs`."""
    return invalid(_fault(value, dtype) or "'inputs' cannot be read as tensors of the signature's types")


def _fault_of_row(
    name: str, value: Any, inputs: Mapping[str, np.dtype], first: dict[str, tuple[list[int], int]]
) -> str | None:
    if name not in inputs:
        return f"JSON object: does not have named input: {name}"
    if fault := _fault(value, inputs[name]):
        return fault
    shape, size = shape_of(value), sum(1 for _ in _leaves(value))
    expected_shape, expected_size = first.setdefault(name, (shape, size))
    if size != expected_size:
        return f"Expecting tensor size: {expected_size} but got: {size}"
    if shape != expected_shape:
        return f"Expecting shape {_dims(expected_shape)} but got: {_dims(shape)}"
    return None


def _fault(value: Any, dtype: np.dtype) -> str | None:
    """The first fault of one tensor, in the order of its elements. Its shape is that of its first elements."""
    return next(_faults(value, 0, shape_of(value), dtype), None)


def _faults(value: Any, level: int, shape: list[int], dtype: np.dtype) -> Iterator[str]:
    if not isinstance(value, list):
        if level != len(shape):
            yield (
                f"JSON Value: {shown(value)} found at incorrect level: {level + 1} in the JSON DOM. "
                f"Expected at level: {len(shape)}"
            )
        elif not is_fitting(type(value), dtype) or not _in_range(value, dtype):
            yield (f"JSON Value: {shown(value)} Type: {type_name(value)} is not of expected type: {dtypes.name(dtype)}")
    elif level >= len(shape):
        yield f"Encountered list at unexpected level: {level} expected < {len(shape)}"
    elif len(value) != shape[level]:
        yield f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}"
    else:
        for element in value:
            yield from _faults(element, level + 1, shape, dtype)


def _in_range(value: Any, dtype: np.dtype) -> bool:
    if dtype not in WHOLE:
        return True
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max)


def shape_of(value: Any) -> list[int]:
    """The shape that the first elements of nested lists have."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for element in value:
            yield from _leaves(element)
    else:
        yield value


def _dims(shape: list[int]) -> str:
    return f"[{','.join(map(str, shape))}]"
