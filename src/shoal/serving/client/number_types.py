"""Numbers as the types that a model has, and back: also those that numpy knows from elsewhere or not at all.

`bfloat16` and its like are types of kind `V` to numpy; a quantised type is a structure of one integer.
"""

from __future__ import annotations

import numpy as np


def is_whole(dtype: np.dtype) -> bool:
    """Whether a type has whole numbers only."""
    return dtype.kind in "iu" or dtype.names is not None


def to_type(wide: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Numbers as numbers of another type, whole ones where that has no others; None where some lie beyond it."""
    if dtype.names is not None:
        whole = to_type(wide, dtype[0])
        return None if whole is None else whole.view(dtype)
    if dtype.kind in "iu" and wide.size:
        limits = np.iinfo(dtype)
        if int(wide.min()) < limits.min or int(wide.max()) > limits.max:
            return None
    with np.errstate(over="ignore"):  # beyond the largest float lies infinity
        return wide.astype(dtype)


def plain(array: np.ndarray) -> np.ndarray:
    """The array in a type of numpy's own, with the same values."""
    if array.dtype.names is not None:
        return array.view(array.dtype[0])
    return array.astype(np.float32) if array.dtype.kind == "V" else array
