"""A prediction as people and programs read it: lines of a table, JSON, numpy's files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shoal.serving import dtypes, json_tensor
from shoal.serving.client.number_types import plain
from shoal.serving.client.prediction import Prediction
from shoal.serving.json_tensor import base64_of, jsonable

SHOWN_VALUES = 10
"""How many values of a tensor a cell of the table has."""

SHOWN_CHARACTERS = 60


def to_json(prediction: Prediction) -> str:
    """`{"model": …, "version": …, "signature": …, "outputs": {"NAME": tensor, …}}`; bytes that are no UTF-8 are
    `{"b64": …}`."""
    outputs = {name: _real(plain(output)) for name, output in prediction.outputs.items()}
    document = {
        "model": prediction.model,
        "version": prediction.version,
        "signature": prediction.signature,
        "outputs": {name: jsonable(output, _bytes) for name, output in outputs.items()},
    }
    return json_tensor.dump(document, outputs.values()).decode()


def to_npy(outputs: Mapping[str, np.ndarray]) -> bytes:
    """A `.npy` of one output, and a `.npz` of several. Strings become arrays of bytes of one length."""
    storable = {
        name: output.astype("S") if output.dtype == dtypes.STRING else plain(output) for name, output in outputs.items()
    }
    file = io.BytesIO()
    if len(storable) == 1:
        np.save(file, next(iter(storable.values())))
    else:
        # savez would do, but for an output that is called as one of its arguments.
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in storable.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
    return file.getvalue()


def to_lines(outputs: Mapping[str, np.ndarray]) -> Iterator[list[str]]:
    """The heading, then a line for each row. Outputs that have no rows in common have a line each."""
    outputs = {name: plain(output) for name, output in outputs.items()}
    sizes = {output.shape[:1] for output in outputs.values()}
    if len(sizes) == 1 and sizes != {()}:
        yield ["ROW", *outputs]
        for number, row in enumerate(zip(*outputs.values(), strict=True)):
            yield [
                str(number),
                *(_cell(np.asarray(each, output.dtype)) for each, output in zip(row, outputs.values(), strict=True)),
            ]
        return
    yield ["OUTPUT", "VALUE"]
    for name, output in outputs.items():
        yield [name, _cell(output)]


def _cell(tensor: np.ndarray) -> str:
    flat = tensor.ravel()
    text = " ".join(map(_text, flat[:SHOWN_VALUES]))
    if flat.size > SHOWN_VALUES:
        text += " …"
    if tensor.ndim > 1 or flat.size > SHOWN_VALUES:
        text = f"{list(tensor.shape)} {text}"
    return text


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return f"<{len(value)} bytes>"
        shown = text if text.isprintable() else repr(text)[1:-1]
        return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[: SHOWN_CHARACTERS - 1]}…"
    return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


def _real(output: np.ndarray) -> np.ndarray:
    """JSON has no complex numbers: they become pairs."""
    return np.stack([output.real, output.imag], axis=-1) if output.dtype.kind == "c" else output


def _bytes(element: bytes) -> Any:
    try:
        return element.decode()
    except UnicodeDecodeError:
        return base64_of(element)
