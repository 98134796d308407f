"""Signatures for tests, as a server's metadata would name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.serving.client.connection import Signature, tensor_spec


def signature(optional: Sequence[str] = (), **inputs: tuple[str, Sequence[int] | None]) -> Signature:
    """A signature with these inputs: their `DataType` without `DT_`, and their sizes, -1 for any."""
    specs: Mapping = {name: tensor_spec(f"DT_{kind}", sizes) for name, (kind, sizes) in inputs.items()}
    return Signature("serving_default", specs, {"y": tensor_spec("DT_FLOAT", [-1])}, frozenset(optional))
