"""TensorProto to numpy and back, without a Python loop over numbers.

A TensorProto holds its values either in `tensor_content`, the raw little-endian array, or in a repeated field by type.
The packed bytes of `float_val`, `double_val` and the complex fields on the wire are raw values too, so they are read
and written there. A typed field may hold fewer values than the shape has elements: the last one then stands for the
rest (tensorflow/core/framework/tensor.proto). The messages are handed in, since the server has TensorFlow's class for
them and the client, which does without TensorFlow, one of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.internal import encoder

from shoal.serving import dtypes
from shoal.serving.status import invalid

TensorProto = Any
"""A message that has the fields of TensorProto."""

LARGEST_FILL_BYTES = 1 << 30
"""A few bytes of a request may not claim more memory than this by leaving out values."""

_RAW_FIELDS = {"f": "float_val", "d": "double_val", "F": "scomplex_val", "D": "dcomplex_val"}


def to_array(tensor: TensorProto, name: str) -> np.ndarray:
    """The values of a tensor. Raises ServingError where they do not fit its shape; `name` is said in the message."""
    dtype = dtypes.from_number(tensor.dtype)
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    if dtype is None or tensor.tensor_shape.unknown_rank or min(shape, default=0) < 0:
        raise invalid(f"tensor parsing error: {name}")
    size = int(np.prod(shape, dtype=object))
    flat: np.ndarray | None
    if tensor.tensor_content:
        flat = _from_content(tensor.tensor_content, dtype, size)
    else:
        flat = _from_field(tensor, dtype)
        if flat.size < size and size * dtype.itemsize > LARGEST_FILL_BYTES:
            raise invalid(f"tensor parsing error: {name}")
        flat = _filled(flat, size)
    if flat is None or flat.size != size:
        raise invalid(f"tensor parsing error: {name}")
    return flat.reshape(shape)


def write(array: np.ndarray, tensor: TensorProto, as_content: bool = False) -> None:
    """Put an array into an empty TensorProto: the values into the field of their type or, where `as_content`, into
    `tensor_content`."""
    number = dtypes.to_number(array.dtype)
    if number is None:
        raise invalid(f"a tensor of type {array.dtype} cannot be sent")
    tensor.dtype = number
    tensor.tensor_shape.SetInParent()
    for size in array.shape:
        tensor.tensor_shape.dim.add().size = size
    if number == dtypes.to_number(dtypes.STRING):
        tensor.string_val.extend(array.ravel().tolist())
    elif as_content:
        tensor.tensor_content = array.tobytes()
    elif array.size:
        _to_field(tensor, np.ascontiguousarray(array).ravel())


def _from_content(content: bytes, dtype: np.dtype, size: int) -> np.ndarray | None:
    if dtype == dtypes.STRING:
        return _strings(content, size)
    if len(content) != size * dtype.itemsize:
        return None
    return np.frombuffer(content, dtype)


def _from_field(tensor: TensorProto, dtype: np.dtype) -> np.ndarray:
    if field := _RAW_FIELDS.get(dtype.char):
        values: Any = getattr(tensor, field)
        if not values:
            return np.empty(0, dtype)
        alone = type(tensor)()
        getattr(alone, field).MergeFrom(values)
        wire = alone.SerializeToString()
        part = dtype.itemsize // (2 if dtype.kind == "c" else 1)
        return np.frombuffer(wire, dtype, offset=len(wire) - len(values) * part)
    if dtype == dtypes.STRING:
        flat = np.empty(len(tensor.string_val), dtypes.STRING)
        flat[:] = list(tensor.string_val)
        return flat
    values = getattr(tensor, _field(dtype))
    if dtype == np.float16:
        return np.fromiter(values, np.uint16, len(values)).view(np.float16)
    if dtype.kind == "b":
        return np.fromiter(values, np.bool_, len(values))
    return np.fromiter(values, np.int64 if dtype.kind == "i" else np.uint64, len(values)).astype(dtype)


def _to_field(tensor: TensorProto, flat: np.ndarray) -> None:
    field = _RAW_FIELDS.get(flat.dtype.char)
    if field is None:
        values = flat.view(np.uint16) if flat.dtype == np.float16 else flat
        getattr(tensor, _field(flat.dtype)).extend(values.tolist())
        return
    number = tensor.DESCRIPTOR.fields_by_name[field].number
    raw = flat.tobytes()
    tensor.MergeFromString(encoder.TagBytes(number, 2) + _varint(len(raw)) + raw)  # 2: length-delimited


def _field(dtype: np.dtype) -> str:
    match dtype.kind, dtype.itemsize:
        case "b", _:
            return "bool_val"
        case "f", _:
            return "half_val"
        case "i", 8:
            return "int64_val"
        case "u", 4:
            return "uint32_val"
        case "u", 8:
            return "uint64_val"
        case _:
            return "int_val"


def _filled(flat: np.ndarray, size: int) -> np.ndarray:
    if flat.size >= size:
        return flat[:size]
    filled = np.empty(size, flat.dtype)
    filled[: flat.size] = flat
    filled[flat.size :] = flat[-1] if flat.size else (b"" if flat.dtype == dtypes.STRING else 0)
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
