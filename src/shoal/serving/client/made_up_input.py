"""Inputs by chance, for a signature that is to be measured and not asked for anything."""

from __future__ import annotations

import numpy as np

from shoal.serving import dtypes
from shoal.serving.client.connection import Signature, TensorSpec
from shoal.serving.client.errors import ClientError

_GIVE = "give it with --input FILE"


def made_up(signature: Signature, rows: int, seed: int = 1) -> dict[str, np.ndarray]:
    """A tensor for each input that must be given: fractions from 0 to 1; bytes from 0 to 255; other whole numbers 0 or
    1, which are likely to be valid where they are indices. A first size that may vary is the number of rows. Raises
    ClientError where type or shape leave open what to send."""
    chance = np.random.default_rng(seed)
    wanted = {name: spec for name, spec in signature.inputs.items() if name not in signature.optional}
    return {name: _tensor(name, spec, rows, chance) for name, spec in wanted.items()}


def _tensor(name: str, spec: TensorSpec, rows: int, chance: np.random.Generator) -> np.ndarray:
    if spec.dtype is None or spec.dtype == dtypes.STRING:
        raise ClientError(f"input {name} is of type {spec.type}: no text is made up for it", _GIVE)
    if spec.shape is None:
        raise ClientError(f"input {name} may have any shape: none is made up for it", _GIVE)
    shape = tuple(rows if at == 0 and size is None else size for at, size in enumerate(spec.shape))
    if None in shape:
        raise ClientError(f"input {name} has shape {spec.shown_shape}: its sizes after the first are not known", _GIVE)
    sizes = [size for size in shape if size is not None]
    if spec.dtype == np.uint8:
        return chance.integers(0, 256, sizes, np.uint8)
    if spec.dtype.kind in "iub":
        return chance.integers(0, 2, sizes).astype(spec.dtype)
    return chance.random(sizes).astype(spec.dtype)
