"""Event files as TensorBoard's own writer makes them."""

from __future__ import annotations

import io
import struct
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_DOUBLE, DT_FLOAT
from tensorboard.summary.writer.record_writer import RecordWriter


def record(step: int, time: float, **scalars: float | TensorProto) -> bytes:
    """One framed event. `loss=0.5` is a scalar as TensorFlow 1 writes it; TensorFlow 2 writes tensors."""
    values = [
        Summary.Value(tag=tag, tensor=value)
        if isinstance(value, TensorProto)
        else Summary.Value(tag=tag, simple_value=value)
        for tag, value in scalars.items()
    ]
    return framed(Event(step=step, wall_time=time, summary=Summary(value=values)).SerializeToString())


def framed(data: bytes) -> bytes:
    buffer = io.BytesIO()
    RecordWriter(buffer).write(data)
    return buffer.getvalue()


def event_file(folder: Path, pid: int | str = 7, *records: bytes, serial: int = 0) -> Path:
    """A file as the process with that id would name it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"events.out.tfevents.1700000000.a.host-1.{pid}.{serial}.v2"
    path.write_bytes(framed(Event(wall_time=1.0, file_version="brain.Event:2").SerializeToString()) + b"".join(records))
    return path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def float_tensor(value: float) -> TensorProto:
    return TensorProto(dtype=DT_FLOAT, tensor_content=struct.pack("<f", value))


def double_tensor(value: float) -> TensorProto:
    return TensorProto(dtype=DT_DOUBLE, double_val=[value])
