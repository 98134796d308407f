"""Inputs in numpy's own files: `.npy` with one tensor, `.npz` with several by name."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np

from shoal.serving import dtypes
from shoal.serving.client.connection import TensorSpec
from shoal.serving.client.errors import ClientError
from shoal.serving.client.json_values import sendable
from shoal.serving.client.number_types import is_whole, to_type
from shoal.serving.client.sources import Source


def read_npy(source: Source) -> np.ndarray:
    """The array of a `.npy`. Raises ClientError."""
    array = _load(source)
    if not isinstance(array, np.ndarray):
        raise ClientError(f"{source.name}: a .npz, where one tensor is wanted")
    return array


def read_npz(source: Source) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` by name. Raises ClientError."""
    archive = _load(source)
    if isinstance(archive, np.ndarray):
        raise ClientError(f"{source.name}: a .npy, where a .npz is wanted")
    try:
        return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as fault:
        raise _unreadable(source, fault) from None


def fitted(array: np.ndarray, name: str, spec: TensorSpec, place: str) -> np.ndarray:
    """The array in the type that the input takes. Numbers may become wider or lose digits; a float never becomes a
    whole number by itself. Raises ClientError."""
    dtype = sendable(name, spec)
    fitted: np.ndarray | None = None
    if dtype == dtypes.STRING:
        if array.dtype.kind in "SU":
            fitted = np.empty(array.size, dtypes.STRING)
            fitted[:] = [each.encode() if isinstance(each, str) else each for each in array.ravel().tolist()]
            fitted = fitted.reshape(array.shape)
    elif array.dtype.kind == "b" or dtype.kind == "b":
        fitted = array if array.dtype == dtype else None
    elif is_whole(dtype):
        fitted = to_type(array, dtype) if array.dtype.kind in "iu" else None
    elif array.dtype.kind in "iuf" or array.dtype.kind == dtype.kind:
        fitted = to_type(array, dtype)
    if fitted is None:
        raise ClientError(f"{place}: input {name} takes {spec.type}, found {array.dtype}", "convert it with astype")
    return fitted


def _load(source: Source) -> Any:
    try:
        return np.load(io.BytesIO(source.content), allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as fault:
        raise _unreadable(source, fault) from None


def _unreadable(source: Source, fault: Exception) -> ClientError:
    if "pickle" in str(fault):
        return ClientError(
            f"{source.name}: holds Python objects, or is no {source.form.value}",
            "save text as an array of bytes: dtype S",
        )
    return ClientError(f"{source.name}: cannot be read as {source.form.value}: {fault}")
