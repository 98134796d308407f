"""TensorProto to numpy and back, without a Python loop over numbers.

A TensorProto holds its values either in `tensor_content`, the raw little-endian array, or in a repeated field by type.
The packed bytes of `float_val`, `double_val` and the complex fields on the wire are raw values too, so they are read
and written there. A typed field may hold fewer values than the shape has elements: the last one then stands for the
rest (tensorflow/core/framework/tensor.proto).
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
from google.protobuf.internal import encoder
from tensorflow.core.framework.tensor_pb2 import TensorProto

from shoal.serving import dtypes
from shoal.serving.status import invalid

LARGEST_FILL_BYTES = 1 << 30
"""A few bytes of a request may not claim more memory than this by leaving out values."""

MOST_DIMENSIONS = 64
"""numpy's limit; TensorFlow's is 254."""

_RAW_FIELDS = {
    np.dtype(np.float32): "float_val",
    np.dtype(np.float64): "double_val",
    np.dtype(np.complex64): "scomplex_val",
    np.dtype(np.complex128): "dcomplex_val",
}
_INT64, _UINT32, _UINT64 = map(np.dtype, (np.int64, np.uint32, np.uint64))
_BOOL, _HALF, _BFLOAT16 = map(np.dtype, (np.bool_, np.float16, ml_dtypes.bfloat16))
_FIELDS: dict[np.dtype, tuple[str, np.dtype]] = {
    _BOOL: ("bool_val", _BOOL),
    _HALF: ("half_val", np.dtype(np.int32)),
    _BFLOAT16: ("half_val", np.dtype(np.int32)),
    _INT64: ("int64_val", _INT64),
    _UINT32: ("uint32_val", _UINT32),
    _UINT64: ("uint64_val", _UINT64),
}
"""The field that holds the values of a type, and the type that it has there. All others are in `int_val`."""

_IN_INT_VAL: tuple[str, np.dtype] = ("int_val", np.dtype(np.int32))


def to_array(tensor: TensorProto, name: str) -> np.ndarray:
    """The values of a tensor. Raises ServingError where they do not fit its shape; `name` is said in the message."""
    dtype = dtypes.from_number(tensor.dtype)
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    unreadable = invalid(f"tensor parsing error: {name}")
    if dtype is None or tensor.tensor_shape.unknown_rank or not _is_shape(shape, dtype):
        raise unreadable
    size = math.prod(shape)
    flat: np.ndarray | None
    if tensor.tensor_content:
        flat = _from_content(tensor.tensor_content, dtype, size)
        if flat is None:
            raise unreadable
    else:
        flat = _from_field(tensor, dtype)
        if flat.size < size and size * dtype.itemsize > LARGEST_FILL_BYTES:
            raise unreadable
        flat = _filled(flat, size)
    return flat.reshape(shape)


def from_array(array: np.ndarray, as_content: bool = False) -> TensorProto:
    """A TensorProto with the values in the field of their type or, where `as_content`, in `tensor_content`."""
    number = dtypes.to_number(array.dtype)
    if number is None:
        raise invalid(f"a tensor of type {array.dtype} cannot be sent")
    tensor = TensorProto(dtype=number)
    tensor.tensor_shape.SetInParent()
    for size in array.shape:
        tensor.tensor_shape.dim.add().size = size
    if number == dtypes.to_number(dtypes.STRING):
        tensor.string_val.extend(array.ravel().tolist())
    elif as_content:
        tensor.tensor_content = array.tobytes()
    elif array.size:
        _to_field(tensor, np.ascontiguousarray(array).ravel())
    return tensor


def _is_shape(shape: list[int], dtype: np.dtype) -> bool:
    """Whether an array may have that shape. numpy refuses what could not be addressed even where there are no elements,
    as in `[0, 1 << 62]`."""
    if len(shape) > MOST_DIMENSIONS or min(shape, default=0) < 0:
        return False
    return math.prod(filter(None, shape)) * dtype.itemsize < 1 << 63


def _from_content(content: bytes, dtype: np.dtype, size: int) -> np.ndarray | None:
    if dtype == dtypes.STRING:
        return _strings(content, size)
    if len(content) != size * dtype.itemsize:
        return None
    if dtype == _BOOL:
        # One that is neither 0 nor 1 would be neither true nor false to C.
        return np.frombuffer(content, np.uint8).astype(_BOOL)
    return np.frombuffer(content, dtype)


def _from_field(tensor: TensorProto, dtype: np.dtype) -> np.ndarray:
    if field := _RAW_FIELDS.get(dtype):
        values: Any = getattr(tensor, field)
        if not values:
            return np.empty(0, dtype)
        alone = TensorProto()
        getattr(alone, field).MergeFrom(values)
        wire = alone.SerializeToString()
        parts = 2 if dtype.kind == "c" else 1
        bytes_of_values = len(values) * dtype.itemsize // parts
        return np.frombuffer(wire, dtype, len(values) // parts, offset=len(wire) - bytes_of_values)
    if dtype == dtypes.STRING:
        flat = np.empty(len(tensor.string_val), dtypes.STRING)
        flat[:] = list(tensor.string_val)
        return flat
    if _is_float8(dtype):
        return np.frombuffer(tensor.float8_val, dtype)
    field, held = _FIELDS.get(dtype, _IN_INT_VAL)
    values = getattr(tensor, field)
    flat = np.fromiter(values, held, len(values)).astype(_bits(dtype), copy=False)
    return flat.view(dtype)


def _to_field(tensor: TensorProto, flat: np.ndarray) -> None:
    field = _RAW_FIELDS.get(flat.dtype)
    if field is not None:
        number = TensorProto.DESCRIPTOR.fields_by_name[field].number
        raw = flat.tobytes()
        tensor.MergeFromString(encoder.TagBytes(number, 2) + _varint(len(raw)) + raw)  # 2: length-delimited
    elif _is_float8(flat.dtype):
        tensor.float8_val = flat.tobytes()
    else:
        field, _ = _FIELDS.get(flat.dtype, _IN_INT_VAL)
        getattr(tensor, field).extend(flat.view(_bits(flat.dtype)).tolist())


def _bits(dtype: np.dtype) -> np.dtype:
    """The plain type that a field holds values as: the bits of a small float, the integer in a quantised."""
    if dtype in (_HALF, _BFLOAT16):
        return np.dtype(np.uint16)
    return dtype[0] if dtypes.is_quantised(dtype) else dtype


def _is_float8(dtype: np.dtype) -> bool:
    return dtypes.name(dtype).startswith("float8_")


def _filled(flat: np.ndarray, size: int) -> np.ndarray:
    if flat.size >= size:
        return flat[:size]
    filled = np.empty(size, flat.dtype)
    filled[: flat.size] = flat
    filled[flat.size :] = flat[-1] if flat.size else (b"" if flat.dtype == dtypes.STRING else np.zeros((), flat.dtype))
    return filled


def _strings(content: bytes, size: int) -> np.ndarray | None:
    """Strings in `tensor_content`: the lengths as varints, then all their bytes."""
    lengths, at = [], 0
    for _ in range(size):
        length = shift = 0
        while True:
            if at >= len(content) or shift > 63:
                return None
            byte = content[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        lengths.append(length)
    if at + sum(lengths) != len(content):
        return None
    flat = np.empty(size, dtypes.STRING)
    for index, length in enumerate(lengths):
        flat[index] = content[at : at + length]
        at += length
    return flat


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
