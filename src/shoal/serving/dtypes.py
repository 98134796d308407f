"""TensorFlow's element types and numpy's: the number in a TensorProto, the name in a message, the dtype in memory.

Strings are arrays of `bytes` objects. The numbers and names are those of tensorflow/core/framework/types.proto. Small
floats are ml_dtypes', and a quantised type is a structure of one integer, as in `tf.qint8.as_numpy_dtype`: the session
tells it from the plain integer by that alone.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

STRING = np.dtype(object)


def _quantised(name: str, dtype: type) -> tuple[np.dtype, str]:
    return np.dtype([(name, dtype)]), name


_TYPES: dict[int, tuple[np.dtype, str]] = {
    1: (np.dtype(np.float32), "float"),
    2: (np.dtype(np.float64), "double"),
    3: (np.dtype(np.int32), "int32"),
    4: (np.dtype(np.uint8), "uint8"),
    5: (np.dtype(np.int16), "int16"),
    6: (np.dtype(np.int8), "int8"),
    7: (STRING, "string"),
    8: (np.dtype(np.complex64), "complex64"),
    9: (np.dtype(np.int64), "int64"),
    10: (np.dtype(np.bool_), "bool"),
    11: _quantised("qint8", np.int8),
    12: _quantised("quint8", np.uint8),
    13: _quantised("qint32", np.int32),
    14: (np.dtype(ml_dtypes.bfloat16), "bfloat16"),
    15: _quantised("qint16", np.int16),
    16: _quantised("quint16", np.uint16),
    17: (np.dtype(np.uint16), "uint16"),
    18: (np.dtype(np.complex128), "complex128"),
    19: (np.dtype(np.float16), "half"),
    22: (np.dtype(np.uint32), "uint32"),
    23: (np.dtype(np.uint64), "uint64"),
    24: (np.dtype(ml_dtypes.float8_e5m2), "float8_e5m2"),
    25: (np.dtype(ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
    26: (np.dtype(ml_dtypes.float8_e4m3fnuz), "float8_e4m3fnuz"),
    27: (np.dtype(ml_dtypes.float8_e4m3b11fnuz), "float8_e4m3b11fnuz"),
    28: (np.dtype(ml_dtypes.float8_e5m2fnuz), "float8_e5m2fnuz"),
}
DATA_TYPES = {number: f"DT_{name.upper()}" for number, (_, name) in _TYPES.items()}
DATA_TYPES |= {20: "DT_RESOURCE", 21: "DT_VARIANT"}
"""The names in TensorFlow's `DataType`, by number; also of the two that no tensor on the wire has."""

_NUMBERS = {dtype: number for number, (dtype, _) in _TYPES.items()}


def from_number(number: int) -> np.dtype | None:
    """The dtype of a `DataType`; None where a tensor of that type cannot be sent."""
    return _TYPES[number][0] if number in _TYPES else None


def to_number(dtype: np.dtype) -> int | None:
    """The `DataType` of a dtype; None where there is none that can be sent."""
    return _NUMBERS.get(STRING if dtype.kind in "SU" else dtype)


def name(dtype: np.dtype) -> str:
    """What TensorFlow calls the type in messages: `float`, `double`, `int64`, `string`."""
    return _TYPES[_NUMBERS[dtype]][1] if dtype in _NUMBERS else dtype.name


def is_quantised(dtype: np.dtype) -> bool:
    """Whether the session answers tensors of that type as the plain integers in them."""
    return dtype.names is not None
