"""TensorFlow's element types and numpy's: the number in a TensorProto, the name in a message, the dtype in memory.

Strings are arrays of `bytes` objects. The numbers are those of tensorflow/core/framework/types.proto. `bfloat16` is no
type of numpy's own: it is known under its number and travels as its 16 bits.
"""

from __future__ import annotations

import numpy as np

STRING = np.dtype(object)

_NUMBERS: dict[int, np.dtype] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    4: np.dtype(np.uint8),
    5: np.dtype(np.int16),
    6: np.dtype(np.int8),
    7: STRING,
    8: np.dtype(np.complex64),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    17: np.dtype(np.uint16),
    18: np.dtype(np.complex128),
    19: np.dtype(np.float16),
    22: np.dtype(np.uint32),
    23: np.dtype(np.uint64),
}
_BY_DTYPE = {dtype: number for number, dtype in _NUMBERS.items()}
_NAMES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.float16): "half", STRING: "string"}


def from_number(number: int) -> np.dtype | None:
    """The dtype of a `DataType`; None where a tensor of that type cannot be sent."""
    return _NUMBERS.get(number)


def to_number(dtype: np.dtype) -> int | None:
    """The `DataType` of a dtype; None where there is none that can be sent."""
    return _BY_DTYPE.get(STRING if dtype.kind in "SU" else dtype)


def name(dtype: np.dtype) -> str:
    """What TensorFlow calls the type in messages: `float`, `double`, `int64`, `string`."""
    return _NAMES.get(dtype, dtype.name)
