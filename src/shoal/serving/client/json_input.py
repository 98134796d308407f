"""Inputs in JSON: the body of a REST request, or the rows alone.

`{"instances": [row, …]}` and a bare list are rows; a row is an object of values by input, or the value itself where
there is one input. `{"inputs": {…}}` has whole tensors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from shoal.serving.client.connection import TensorSpec
from shoal.serving.client.errors import ClientError, unknown
from shoal.serving.client.json_values import to_array
from shoal.serving.client.sources import Source
from shoal.serving.json_faults import is_base64

_FORMS = 'write {"instances": [row, …]} or [row, …] for rows, or {"inputs": {"NAME": tensor, …}} for whole tensors'


def parse(source: Source) -> Any:
    """The document that a file holds; NaN and Infinity are numbers. Raises ClientError."""
    try:
        return orjson.loads(source.content)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(source.content)
    except json.JSONDecodeError as fault:
        raise ClientError(f"{source.name}:{fault.lineno}:{fault.colno}: no JSON: {fault.msg}") from None
    except UnicodeDecodeError:
        raise ClientError(f"{source.name}: no JSON: not in UTF-8") from None
    except RecursionError:
        raise ClientError(f"{source.name}: nested too deeply") from None


def signature_name(document: Any) -> str:
    """The signature that the body of a request names; empty where it names none."""
    named = document.get("signature_name", "") if isinstance(document, dict) else ""
    return named if isinstance(named, str) else ""


def read_tensor(source: Source, name: str, spec: TensorSpec) -> np.ndarray:
    """The document as one tensor. Raises ClientError."""
    return to_array(parse(source), name, spec, lambda at: f"{source.name}: {_indices(at) or 'the document'}")


def read(source: Source, inputs: Mapping[str, TensorSpec], free: Sequence[str]) -> dict[str, np.ndarray]:
    """The tensors that the document has for the signature's inputs; `free` are those that nothing else is given for.
    Raises ClientError."""
    document = parse(source)
    if isinstance(document, list):
        return _rows(source, document, "", inputs, free)
    keys = {"instances", "inputs"} & document.keys() if isinstance(document, dict) else set()
    if len(keys) != 1:
        raise ClientError(f"{source.name}: expected one of instances and inputs", _FORMS)
    if "inputs" in keys:
        return _columns(source, document["inputs"], inputs, free)
    if not isinstance(document["instances"], list):
        raise ClientError(f"{source.name}: instances: expected a list of rows", _FORMS)
    return _rows(source, document["instances"], "instances", inputs, free)


def sole(source: Source, free: Sequence[str]) -> str:
    """The one input that a tensor without a name is for. Raises ClientError."""
    if len(free) == 1:
        return free[0]
    if not free:
        raise ClientError(f"{source.name}: every input is given already")
    raise ClientError(
        f"{source.name}: for which input? There are {', '.join(free)}", f"--input {free[0]}={source.name}"
    )


def _columns(
    source: Source, value: Any, inputs: Mapping[str, TensorSpec], free: Sequence[str]
) -> dict[str, np.ndarray]:
    if isinstance(value, dict) and not is_base64(value):
        columns, named = value, True
    else:
        columns, named = {sole(source, free): value}, False
    arrays = {}
    for name, column in columns.items():
        if name not in inputs:
            raise _unknown(f"{source.name}: inputs", name, inputs)
        path = f"{source.name}: inputs{'.' + name if named else ''}"
        arrays[name] = to_array(column, name, inputs[name], lambda at, path=path: path + _indices(at))  # type: ignore[misc]
    return arrays


def _rows(
    source: Source, rows: list[Any], path: str, inputs: Mapping[str, TensorSpec], free: Sequence[str]
) -> dict[str, np.ndarray]:
    if not rows:
        raise ClientError(f"{source.name}: {path or 'the list'}: there is no row", _FORMS)
    named = isinstance(rows[0], dict) and not is_base64(rows[0])
    if not named:
        name = sole(source, free)
        return {name: to_array(rows, name, inputs[name], lambda at: f"{source.name}: {path}{_indices(at)}")}
    for number, row in enumerate(rows):
        where = f"{source.name}: {path}[{number}]"
        if not isinstance(row, dict):
            raise ClientError(f"{where}: expected an object as in the first row")
        for name in row.keys() - rows[0].keys() if number else row:
            if name not in inputs:
                raise _unknown(where, name, inputs)
            if number:
                raise ClientError(f"{where}: input {name} is not in the first row")
        for name in rows[0].keys() - row.keys():
            raise ClientError(f"{where}: no value for input {name}")

    def read(name: str) -> np.ndarray:
        def where(at: tuple[int, ...]) -> str:
            return f"{source.name}: {path}{_indices(at[:1])}.{name}{_indices(at[1:])}"

        return to_array([row[name] for row in rows], name, inputs[name], where)

    return {name: read(name) for name in rows[0]}


def _unknown(where: str, name: str, inputs: Mapping[str, TensorSpec]) -> ClientError:
    fault = unknown("input", name, inputs)
    return ClientError(f"{where}: {fault}", fault.hint)


def _indices(at: tuple[int, ...]) -> str:
    return "".join(f"[{index}]" for index in at)
