"""How far each replica has come, read from what it writes anyway: progress lines and TensorBoard event files.

A replica that writes progress lines is taken at its word; event files count for the others. Files are read from where
the last look ended; a record that is still being written waits for the next look. An event file belongs to the replica
whose process wrote it: its name ends in `…HOST.PID.SERIAL`; where that tells nothing (a process of a process, say) it
belongs to the leader.

Event files are TFRecords (https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details): length
(uint64), masked CRC of it (uint32), data, masked CRC of the data. The data is an `Event`
(tensorflow/core/util/event.proto), of which `tensorboard` ships the description.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.training import ReplicaId, ReplicaProgress
from shoal.training.progress_lines import add_line, read_line

EVENT_FILE = "events.out.tfevents."
"""How the name of an event file begins."""

LARGEST_RECORD = 64 << 20
"""Bytes. A longer record is no scalar; whatever claims to be longer is no record."""

LOSS_TAG = re.compile(r"(^|[/_])(loss|cross_entropy)$", re.IGNORECASE)
EVALUATION = re.compile(r"(^|[/_])(eval|evaluation|validation)", re.IGNORECASE)
SEARCH_SECONDS = 1.0
"""How often new event files are looked for."""

_PID = re.compile(r"tfevents\.\d+\.(?P<host>.+?)\.(?P<pid>\d+)\.\d+(\.v2|\.profile-empty)?$")
_HEADER = struct.Struct("<QI")


def event_files(folder: Path) -> Iterator[Path]:
    """All event files in the folder, at any depth. Folders may come and go meanwhile, which `Path.glob` of Python 3.11
    and 3.12 takes for an error: a checkpoint is first written to a folder of another name."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.startswith(EVENT_FILE):
                yield Path(parent, name)


@dataclass
class Tail:
    """A file of which everything before `offset` has been read."""

    path: Path
    offset: int = 0
    _inode: int | None = None

    def read(self) -> bytes:
        """What was appended since, from the last consumed byte. A file that shrank or was replaced is read anew."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                if found.st_size < self.offset or self._inode not in (None, found.st_ino):
                    self.offset = 0
                self._inode = found.st_ino
                file.seek(self.offset)
                return file.read() if found.st_size > self.offset else b""
        except OSError:
            return b""


@dataclass
class ProgressReader:
    """Follows the files of one run. `event_folders` are searched for event files, at any depth."""

    event_folders: list[Path]
    known: dict[ReplicaId, ReplicaProgress] = field(default_factory=dict)
    _lines: dict[ReplicaId, Tail] = field(default_factory=dict)
    _events: dict[Path, Tail] = field(default_factory=dict)
    _speaking: set[ReplicaId] = field(default_factory=set)
    _found: list[Path] = field(default_factory=list)
    _search_due: float = 0.0

    def follow(self, id: ReplicaId, progress_file: Path) -> None:
        """From now on the replica writes this file; what its predecessor said no longer counts."""
        self._lines[id] = Tail(progress_file)
        self.known.pop(id, None)

    def look(self, pids: Mapping[int, ReplicaId], leader: ReplicaId) -> dict[ReplicaId, ReplicaProgress]:
        """Read what is new, and answer what is known of each replica. `pids` are those of the current attempts."""
        for id, tail in self._lines.items():
            for said in _json_lines(tail):
                self._note_line(id, said)
        for path in self._event_paths():
            tail = self._events.setdefault(path, Tail(path))
            writer = _PID.search(path.name)
            id = pids.get(int(writer["pid"]), leader) if writer else leader
            told = list(scalars(tail))
            if told and id not in self._speaking:
                self._note_scalars(id, path, told)
        return self.known

    def search_now(self) -> None:
        """Let the next look search for new event files: who wrote them has ended, and it may be the last look."""
        self._search_due = 0.0

    def ignore_past(self) -> None:
        """Skip event files that are there already: those of an earlier run over the same folder, say."""
        for path in self._event_paths():
            with contextlib.suppress(FileNotFoundError):
                self._events[path] = Tail(path, offset=path.stat().st_size)

    def _event_paths(self) -> list[Path]:
        """The event files there are. A volume may hold a data set of a million files, so the search takes a twentieth
        of the time at most, unless `search_now` asked for it."""
        began = time.monotonic()
        if began >= self._search_due:
            self._found = [path for folder in self.event_folders for path in event_files(folder)]
            ended = time.monotonic()
            self._search_due = ended + max(SEARCH_SECONDS, 20 * (ended - began))
        return self._found

    def _note_line(self, id: ReplicaId, said: dict[str, Any]) -> None:
        if known := add_line(self.known.get(id), said):
            self._speaking.add(id)
            self.known[id] = known

    def _note_scalars(self, id: ReplicaId, path: Path, told: list[tuple[int, float, str, float]]) -> None:
        before = self.known.get(id) or ReplicaProgress(0, 0.0)
        for step, when, tag, value in told:
            if id.role.value == "evaluator":
                before = replace(before, evaluated_step=step, step=step, time=when)
            elif EVALUATION.search(path.parent.name) is None and EVALUATION.search(tag) is None and step >= before.step:
                loss = value if LOSS_TAG.search(tag) and math.isfinite(value) else before.loss
                before = replace(before, step=step, time=when, loss=loss)
        if before.time:
            self.known[id] = before


def _json_lines(tail: Tail) -> Iterator[dict[str, Any]]:
    complete, _, _ = tail.read().rpartition(b"\n")
    if not complete:
        return
    tail.offset += len(complete) + 1
    for line in complete.split(b"\n"):
        if (said := read_line(line)) is not None:
            yield said


def scalars(tail: Tail) -> Iterator[tuple[int, float, str, float]]:
    """(step, wall time, tag, value) of each complete scalar summary that is new."""
    new = tail.read()
    if not new:
        return
    event_pb2 = _event_messages()
    if event_pb2 is None:
        return
    for record in _records(tail, new):
        event = event_pb2.Event()
        try:
            event.ParseFromString(record)
        except Exception:  # protobuf's DecodeError; its place depends on the implementation
            continue
        for value in event.summary.value:
            number = _scalar(value)
            if number is not None:
                yield event.step, event.wall_time, value.tag, number


def _records(tail: Tail, new: bytes) -> Iterator[bytes]:
    position = 0
    while position + _HEADER.size <= len(new):
        length, _ = _HEADER.unpack_from(new, position)
        end = position + _HEADER.size + length + 4
        if length > LARGEST_RECORD:
            tail.offset += len(new)  # not an event file after all
            return
        if end > len(new):
            return
        yield new[position + _HEADER.size : end - 4]
        tail.offset += end - position
        position = end


def _scalar(value: Any) -> float | None:
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind != "tensor" or value.tensor.tensor_shape.dim:
        return None
    if value.tensor.dtype == 1:  # DT_FLOAT
        return (
            float(value.tensor.float_val[0]) if value.tensor.float_val else _unpack("<f", value.tensor.tensor_content)
        )
    if value.tensor.dtype == 2:  # DT_DOUBLE
        return (
            float(value.tensor.double_val[0]) if value.tensor.double_val else _unpack("<d", value.tensor.tensor_content)
        )
    return None


def _unpack(form: str, content: bytes) -> float | None:
    return float(struct.unpack(form, content)[0]) if len(content) == struct.calcsize(form) else None


def _event_messages() -> Any:
    """TensorBoard's description of events; None where TensorBoard is not installed, and then only lines count."""
    try:
        from tensorboard.compat.proto import event_pb2
    except ImportError:
        return None
    return event_pb2
