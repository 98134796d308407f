"""One prediction from beginning to end: what the model takes, what the user gave, batch by batch, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from shoal.serving.client import inputs as reading
from shoal.serving.client.connection import DEFAULT_SIGNATURE, Asked, Connection, ModelVersion, Signature, TensorSpec
from shoal.serving.client.errors import ClientError, Refused, unknown
from shoal.serving.client.inputs import Given
from shoal.serving.status import Code

T = TypeVar("T")

TRIES = 3
"""How often a prediction begins anew because its version was taken out in the middle of it."""

Progress = Callable[[int, int], None]
"""Told after each batch: the rows that are done, and all rows."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model answered. One version has answered all of it."""

    model: str
    version: int
    signature: str
    outputs: Mapping[str, np.ndarray]


def predict(
    server: Connection,
    asked: Asked,
    given: Given,
    signature: str = "",
    outputs: Sequence[str] = (),
    batch_size: int | None = None,
    progress: Progress = lambda done, rows: None,
) -> Prediction:
    """Ask for the `outputs` (all, where there is none named) of what was given. More rows than `batch_size` are sent in
    several requests. Raises ClientError."""
    named = given.signature_name()
    if signature and named and signature != named:
        raise ClientError(f"--signature {signature}, but the file names {named}", "leave one of them out")
    for tried in range(1, TRIES + 1):
        metadata = explained(server, asked, lambda: server.metadata(asked))
        chosen = metadata.find(signature or named or DEFAULT_SIGNATURE)
        wanted = _outputs(chosen, outputs)
        arrays = reading.read(given, chosen)
        of_version = asked.of(metadata.version)
        try:
            answered = _in_batches(server, of_version, chosen, arrays, wanted, batch_size, progress)
        except Refused as fault:
            # A newer version may have taken over since the metadata was read.
            if fault.code is Code.NOT_FOUND and asked.version is None and tried < TRIES:
                continue
            raise
        return Prediction(asked.name, metadata.version, chosen.name, answered)
    raise AssertionError("the last try returns or raises")


def versions(server: Connection, asked: Asked) -> list[ModelVersion]:
    """The versions of a model, with their labels where the server tells them. Raises ClientError."""
    found = explained(server, asked, lambda: server.versions(asked))
    known = (server.models() or {}).get(asked.name, [])
    labels = {each.version: each for each in known}
    return [labels.get(each.version, each) for each in found]


def sole_model(server: Connection) -> str:
    """The model of a server that has one, for a user who named none. Raises ClientError."""
    models = server.models()
    if models is None:
        raise ClientError("which model? This server does not list its models", "name the model")
    if len(models) != 1:
        listed = f"there are {', '.join(models)}" if models else "the server has none yet"
        raise ClientError("which model?", listed)
    return next(iter(models))


def explained(server: Connection, asked: Asked, ask: Callable[[], T]) -> T:
    """What `ask` answers; where the server does not know the model, the error says which it knows."""
    try:
        return ask()
    except Refused as fault:
        try:
            models = server.models() if fault.code is Code.NOT_FOUND else None
        except ClientError:
            models = None
        if models is None:
            raise
        if asked.name not in models:
            raise unknown("model", asked.name, models) from None
        there = ", ".join(f"{each.version} ({each.state})" for each in models[asked.name]) or "none"
        raise Refused(fault.code, str(fault), f"versions of {asked.name}: {there}") from None


def _outputs(signature: Signature, wanted: Sequence[str]) -> list[str]:
    for name in wanted:
        if name not in signature.outputs:
            raise unknown("output", name, signature.outputs)
    return list(dict.fromkeys(wanted)) or list(signature.outputs)


def _has_rows(spec: TensorSpec, array: np.ndarray) -> bool:
    return array.ndim > 0 and (spec.shape is None or spec.shape[0] is None)


def _in_batches(
    server: Connection,
    asked: Asked,
    signature: Signature,
    arrays: Mapping[str, np.ndarray],
    outputs: Sequence[str],
    batch_size: int | None,
    progress: Progress,
) -> dict[str, np.ndarray]:
    split = {name: array for name, array in arrays.items() if _has_rows(signature.inputs[name], array)}
    sizes = {name: len(array) for name, array in split.items()}
    rows = max(sizes.values(), default=0)
    if batch_size is None or rows <= batch_size:
        return server.predict(asked, signature, arrays, outputs)
    if len(set(sizes.values())) > 1:
        counted = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ClientError(f"--batch-size: inputs differ in their number of rows: {counted}", "leave it out")
    parts = []
    for begin in range(0, rows, batch_size):
        batch = {name: array[begin : begin + batch_size] for name, array in split.items()}
        answer = server.predict(asked, signature, {**arrays, **batch}, outputs)
        count = min(batch_size, rows - begin)
        for name, output in answer.items():
            if output.shape[:1] != (count,):
                raise ClientError(
                    f"--batch-size: output {name} has shape {list(output.shape)} for {count} rows: it cannot be put "
                    "together from batches",
                    "leave it out, or choose outputs with --output-filter",
                )
        parts.append(answer)
        progress(begin + count, rows)
    return {name: np.concatenate([part[name] for part in parts]) for name in outputs}
