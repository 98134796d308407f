"""Inputs in CSV: a row of the file is a row of the batch.

The header names inputs; columns of one name, or `NAME.0`, `NAME.1`, …, are the values of a vector in their order.
Where one input is asked for, the columns may have other names or none, and are its values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.serving import dtypes
from shoal.serving.client.connection import TensorSpec
from shoal.serving.client.errors import ClientError
from shoal.serving.client.json_input import sole
from shoal.serving.client.json_values import sendable
from shoal.serving.client.number_types import is_whole, to_type
from shoal.serving.client.sources import Source

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class _Row(NamedTuple):
    line: int
    cells: list[str]


def read(source: Source, inputs: Mapping[str, TensorSpec], free: Sequence[str]) -> dict[str, np.ndarray]:
    """The tensors that the columns make. `free` are the inputs that nothing else is given for. Raises ClientError."""
    rows = _rows(source)
    columns = [_input_of(cell, inputs) for cell in rows[0].cells]
    if all(columns):
        rows = rows[1:]
    elif len(free) != 1 and any(map(_is_no_number, rows[0].cells)):
        wrong = next(cell for cell, name in zip(rows[0].cells, columns, strict=True) if not name)
        raise ClientError(
            f"{source.name}:{rows[0].line}: no input {wrong}", f"the header names inputs: {', '.join(inputs)}"
        )
    else:
        name = sole(source, free)
        columns = [name] * len(columns)
        if sendable(name, inputs[name]).kind not in "Oc" and all(map(_is_no_number, rows[0].cells)):
            rows = rows[1:]  # what features are called
    if not rows:
        raise ClientError(f"{source.name}: there is no row below the header")
    return {
        name: _tensor(source, rows, [at for at, each in enumerate(columns) if each == name], name, inputs[name])
        for name in dict.fromkeys(columns)
    }


def _rows(source: Source) -> list[_Row]:
    try:
        text = source.content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = source.content.count(b"\n", 0, fault.start) + 1
        raise ClientError(f"{source.name}:{line}: neither JSON, .npy or an image, nor CSV in UTF-8") from None
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter="\t" if source.name.endswith(".tsv") else ",", strict=True
    )
    try:
        rows = [_Row(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as fault:
        raise ClientError(f"{source.name}:{reader.line_num}: {fault}") from None
    if not rows:
        raise ClientError(f"{source.name}: there is nothing in it")
    for row in rows:
        if len(row.cells) != len(rows[0].cells):
            raise ClientError(
                f"{source.name}:{row.line}: cells: {len(row.cells)}, where the first row has {len(rows[0].cells)}"
            )
    return rows


def _input_of(cell: str, inputs: Mapping[str, TensorSpec]) -> str:
    """The input that a column's heading names; empty where it is none."""
    name = cell.strip()
    vector, _, index = name.rpartition(".")
    return name if name in inputs else vector if vector in inputs and index.isdecimal() else ""


def _is_no_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() not in _BOOLEANS
    return False


def _tensor(source: Source, rows: list[_Row], columns: list[int], name: str, spec: TensorSpec) -> np.ndarray:
    dtype = sendable(name, spec)
    parse = _parser(dtype)
    values = np.empty(len(rows) * len(columns), dtype)
    try:
        if dtype == dtypes.STRING:
            values[:] = [parse(row.cells[column]) for row in rows for column in columns]
        else:
            values = _numbers([parse(row.cells[column]) for row in rows for column in columns], dtype)
    except (ValueError, OverflowError, KeyError):
        raise _wrong_cell(source, rows, columns, name, spec) from None
    return values.reshape(len(rows), *_row_shape(len(columns), spec))


def _parser(dtype: np.dtype) -> Callable[[str], Any]:
    match dtype.kind:
        case "O":
            return str.encode
        case "b":
            return lambda cell: _BOOLEANS[cell.strip().lower()]
        case "c":
            return complex
        case _:
            return int if is_whole(dtype) else float


def _numbers(values: list[Any], dtype: np.dtype) -> np.ndarray:
    if not is_whole(dtype):
        return np.array(values).astype(dtype)
    narrow = to_type(np.array(values, np.uint64 if dtype == np.uint64 else np.int64), dtype)
    if narrow is None:
        raise OverflowError
    return narrow


def _wrong_cell(source: Source, rows: list[_Row], columns: list[int], name: str, spec: TensorSpec) -> ClientError:
    dtype = sendable(name, spec)
    for row in rows:
        for column in columns:
            cell = row.cells[column]
            try:
                _numbers([_parser(dtype)(cell)], dtype)
            except (ValueError, OverflowError, KeyError):
                return ClientError(
                    f'{source.name}:{row.line}:{column + 1}: input {name} takes {spec.type}, found "{cell}"'
                )
    raise AssertionError("each cell alone is right")


def _row_shape(count: int, spec: TensorSpec) -> tuple[int, ...]:
    """The shape of a row of so many values: what the input asks for, where they fit."""
    if spec.shape is None:
        return () if count == 1 else (count,)
    if count == 1 and len(spec.shape) == 1:
        return ()
    sizes = tuple(size for size in spec.shape[1:] if size is not None)
    fits = len(sizes) == len(spec.shape) - 1 and np.prod(sizes, dtype=int) == count
    return sizes if fits else (count,)
