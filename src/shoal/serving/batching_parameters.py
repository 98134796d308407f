"""How calls are joined: the text of `--batching_parameters_file`, TensorFlow Serving's `BatchingParameters`.

    max_batch_size { value: 128 }
    batch_timeout_micros { value: 1000 }
    allowed_batch_sizes: 32
    allowed_batch_sizes: 128

`tensorflow-serving-api` does not carry this message, so its fields are named here for protobuf's own reader of text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shoal.serving.status import ServingError, invalid

PER_MODEL_FILE = "batching_params.pbtxt"
"""In a version's folder, read where `--enable_per_model_batching_parameters` is given."""

_WRAPPED = {
    "max_batch_size": (1, "Int64Value"),
    "batch_timeout_micros": (2, "Int64Value"),
    "max_enqueued_batches": (3, "Int64Value"),
    "num_batch_threads": (4, "Int64Value"),
    "thread_pool_name": (5, "StringValue"),
    "enable_large_batch_splitting": (8, "BoolValue"),
    "max_execution_batch_size": (9, "Int64Value"),
}


def _processors() -> int:
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class BatchingParameters:
    """Sizes are rows. `batch_seconds` is how long a batch waits for more calls, `enqueued_batches` how many may wait in
    one queue. A call of up to `max_batch_size` rows is taken; a batch has up to `execution_size`, and a larger call is
    cut where `split`. Defaults are TensorFlow Serving's."""

    max_batch_size: int = 1000
    execution_size: int = 1000
    batch_seconds: float = 0.0
    enqueued_batches: int = 10
    threads: int = 1
    pool_name: str = "batch_threads"
    allowed_sizes: tuple[int, ...] = ()
    pad: bool = False
    split: bool = False

    def padded(self, rows: int) -> int:
        """The size in which a batch of so many rows is run."""
        return next((size for size in self.allowed_sizes if size >= rows), rows)


_DEFAULTS = BatchingParameters()


def default() -> BatchingParameters:
    """What holds without a file."""
    return BatchingParameters(threads=_processors(), pool_name="model_server_batch_threads")


def read(path: Path, say: Callable[[str], None], per_model: bool = False) -> BatchingParameters:
    """The parameters in a file. What has no effect is said. Raises ServingError, whose message names the file."""
    from google.protobuf import text_format

    message = _message_class()()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
    except OSError as fault:
        raise invalid(f"{path}: {fault.strerror}") from None
    except (text_format.ParseError, UnicodeDecodeError) as fault:
        raise invalid(f"{path}: Error parsing text-format tensorflow.serving.BatchingParameters: {fault}") from None
    given = {name: getattr(message, name).value for name in _WRAPPED if message.HasField(name)}
    given["allowed_batch_sizes"] = tuple(message.allowed_batch_sizes)
    given["pad_variable_length_inputs"] = message.pad_variable_length_inputs
    try:
        parameters = _checked(given)
    except ServingError as fault:
        raise ServingError(fault.code, f"{path}: {fault.message}") from None
    if "max_execution_batch_size" in given and not parameters.split:
        say(f"{path}: max_execution_batch_size has no effect without enable_large_batch_splitting")
    for name in ("num_batch_threads", "thread_pool_name") if per_model else ():
        if name in given:
            say(f"{path}: {name} has no effect here: all models share the threads of --batching_parameters_file")
    return parameters


def _checked(given: dict[str, Any]) -> BatchingParameters:
    for name in ("max_batch_size", "max_enqueued_batches", "num_batch_threads", "max_execution_batch_size"):
        if given.get(name, 1) < 1:
            raise invalid(f"{name} must be positive; was {given[name]}")
    if given.get("batch_timeout_micros", 0) < 0:
        raise invalid(f"batch_timeout_micros must be non-negative; was {given['batch_timeout_micros']}")
    largest = given.get("max_batch_size", _DEFAULTS.max_batch_size)
    split = given.get("enable_large_batch_splitting", False)
    execution = given.get("max_execution_batch_size", largest) if split else largest
    if execution > largest:
        raise invalid(
            "When enable_large_batch_splitting is true, max_batch_size must be greater than or equal to "
            f"max_execution_batch_size; they are {largest} and {execution}"
        )
    allowed = given["allowed_batch_sizes"]
    if any(after <= before for before, after in zip((0, *allowed), allowed, strict=False)):
        raise invalid(f"allowed_batch_sizes entries must be positive and increasing; they are {list(allowed)}")
    if allowed and allowed[-1] != largest:
        raise invalid(
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was "
            f"{allowed[-1]}; expected {largest}"
        )
    return BatchingParameters(
        max_batch_size=largest,
        execution_size=execution,
        batch_seconds=given.get("batch_timeout_micros", 0) / 1e6,
        enqueued_batches=given.get("max_enqueued_batches", _DEFAULTS.enqueued_batches),
        threads=given.get("num_batch_threads", _processors()),
        pool_name=given.get("thread_pool_name", _DEFAULTS.pool_name),
        allowed_sizes=allowed,
        pad=given["pad_variable_length_inputs"],
        split=split,
    )


@cache
def _message_class() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="shoal/batching_parameters.proto",
        package="shoal.serving",
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    message = file.message_type.add(name="BatchingParameters")
    for name, (number, kind) in _WRAPPED.items():
        message.field.add(
            name=name,
            number=number,
            type=kinds.TYPE_MESSAGE,
            label=kinds.LABEL_OPTIONAL,
            type_name=f".google.protobuf.{kind}",
        )
    message.field.add(name="allowed_batch_sizes", number=6, type=kinds.TYPE_INT64, label=kinds.LABEL_REPEATED)
    message.field.add(name="pad_variable_length_inputs", number=7, type=kinds.TYPE_BOOL, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.Default()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shoal.serving.BatchingParameters"))
