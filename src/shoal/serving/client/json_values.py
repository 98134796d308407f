"""Values of JSON as the tensor that an input takes, and where it is that they are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shoal.serving import dtypes
from shoal.serving.client.connection import TensorSpec
from shoal.serving.client.errors import ClientError
from shoal.serving.client.number_types import is_whole, to_type
from shoal.serving.json_faults import WHOLE, shape_of, shown
from shoal.serving.json_tensor import read_tensor
from shoal.serving.status import ServingError

SHOWN = 60
"""How many characters of a value a message quotes."""

Where = Callable[[tuple[int, ...]], str]
"""Names the element at some indices, for a message: `rows.json: instances[3].a[1]`."""


def read(value: object, dtype: np.dtype) -> np.ndarray | None:
    """The tensor in a value; None where lists differ in length, or values are not of that type."""
    if dtype == dtypes.STRING or dtype.kind == "b" or dtype in WHOLE or (dtype.kind == "f" and dtype.itemsize >= 4):
        try:
            return read_tensor(value, dtype)
        except ServingError:  # what should be base64 is none
            return None
    if dtype.kind == "c":
        return None
    # The narrow types that TensorFlow Serving does not read from JSON.
    wide = read_tensor(value, np.dtype(np.int64 if is_whole(dtype) else np.float32))
    return None if wide is None else to_type(wide, dtype)


def to_array(value: object, name: str, spec: TensorSpec, where: Where) -> np.ndarray:
    """The tensor in `value` for the input `name`. Raises ClientError that names the first element which is none."""
    array = read(value, sendable(name, spec))
    if array is None:
        raise next(_faults(value, (), shape_of(value), name, spec, where), ClientError(f"{where(())}: input {name}"))
    return array


def sendable(name: str, spec: TensorSpec) -> np.dtype:
    """The type of an input. Raises ClientError where there is no way to send it."""
    if spec.dtype is None:
        raise ClientError(f"input {name} is of type {spec.type}, which cannot be sent")
    return spec.dtype


def _faults(
    value: object, at: tuple[int, ...], shape: list[int], name: str, spec: TensorSpec, where: Where
) -> Iterator[ClientError]:
    def fault(expected: str) -> ClientError:
        return ClientError(f"{where(at)}: input {name} takes {expected}, found {shown(value)[:SHOWN]}")

    if isinstance(value, list):
        if len(at) == len(shape):
            yield fault(f"one {spec.type} here")
        elif len(value) != shape[len(at)]:
            yield fault(f"{shape[len(at)]} values here as before")
        else:
            for index, element in enumerate(value):
                yield from _faults(element, (*at, index), shape, name, spec, where)
    elif len(at) < len(shape):
        yield fault(f"a list of {shape[len(at)]} here")
    elif spec.dtype is not None and read(value, spec.dtype) is None:
        whole = " without a decimal point" if is_whole(spec.dtype) and isinstance(value, float) else ""
        yield fault(f"{spec.type}{whole}")
