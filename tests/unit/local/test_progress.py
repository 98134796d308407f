from __future__ import annotations

import json
import shutil
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT, DT_STRING

from shoal.local.progress import ProgressReader, Tail, event_files
from shoal.resources import Role
from shoal.training import ReplicaId, ReplicaProgress

from .event_files import append, double_tensor, event_file, float_tensor, framed, record

CHIEF, WORKER, EVALUATOR = (ReplicaId(role, 0) for role in (Role.CHIEF, Role.WORKER, Role.EVALUATOR))


class Look:
    """A reader with its last answer. Folders are searched anew at each look, as they are a second later in a run."""

    def __init__(self, *folders, pids=None) -> None:
        self.reader = ProgressReader(list(folders))
        self.pids = {7: WORKER, 8: EVALUATOR} if pids is None else pids

    def __call__(self) -> dict[ReplicaId, ReplicaProgress]:
        self.reader.search_now()
        return dict(self.reader.look(self.pids, CHIEF))


@pytest.fixture
def lines(tmp_path):
    """A reader that follows a worker's progress file, which is not there yet."""
    file = tmp_path / "worker-0.0.jsonl"
    look = Look()
    look.reader.follow(WORKER, file)
    look.file = file
    return look


def said(**values) -> bytes:
    return json.dumps(values).encode() + b"\n"


def test_lines_are_read_as_they_come(lines):
    assert lines() == {}
    append(lines.file, said(time=1.5, step=10, loss=0.5))
    assert lines() == {WORKER: ReplicaProgress(10, 1.5, loss=0.5)}
    append(lines.file, said(time=2.5, step=20) + said(time=2.6, checkpoint=20))
    assert lines() == {WORKER: ReplicaProgress(20, 2.5, loss=0.5, checkpoint_step=20)}
    append(lines.file, said(time=3, evaluated=20))
    assert lines()[WORKER].evaluated_step == 20


def test_half_a_line_waits_for_its_other_half(lines):
    whole = said(time=1, step=10)
    append(lines.file, said(time=0.5, step=5) + whole[:9])
    assert lines()[WORKER].step == 5
    append(lines.file, whole[9:])
    assert lines()[WORKER].step == 10


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"step 11",
        b"[11]",
        b"11",
        b"null",
        b'"step"',
        b"{",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"1" * 5000,
        said(time=2, step="11").strip(),
        said(time=2, step=True).strip(),
        said(time=2, step=None).strip(),
        b'{"time": 2, "step": NaN}',
        b'{"time": 2, "step": 1e999}',
        b'{"time": 2, "step": -1}',
        b'{"time": 2, "step": 1' + b"0" * 400 + b"}",
        b'{"time": 2, "steps": 11}',
    ],
)
def test_lines_that_say_nothing_are_passed_over(lines, line):
    append(lines.file, said(time=1, step=10, loss=0.5) + line + b"\n")
    assert lines() == {WORKER: ReplicaProgress(10, 1.0, loss=0.5)}
    append(lines.file, said(time=3, step=12))
    assert lines()[WORKER].step == 12


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), "low", None, True, 10**400])
def test_a_loss_that_is_no_number_leaves_the_last(lines, loss):
    append(lines.file, said(time=1, step=10, loss=0.5) + said(time=2, step=11, loss=loss))
    assert lines() == {WORKER: ReplicaProgress(11, 2.0, loss=0.5)}


def test_a_replica_that_starts_again_is_heard_anew(lines, tmp_path):
    append(lines.file, said(time=1, step=100))
    assert lines()[WORKER].step == 100
    lines.reader.follow(WORKER, tmp_path / "worker-0.1.jsonl")
    assert lines() == {}
    append(lines.file, said(time=2, step=101))
    assert lines() == {}, "its predecessor no longer counts"
    append(tmp_path / "worker-0.1.jsonl", said(time=3, step=60))
    assert lines()[WORKER].step == 60


@given(st.lists(st.binary(max_size=12), max_size=8))
def test_whatever_is_written_in_whatever_pieces_is_read_once(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("tail") / "file"
    tail = Tail(path)
    assert tail.read() == b""
    seen = b""
    for piece in pieces:
        append(path, piece)
        new = tail.read()
        tail.offset += len(new)
        seen += new
    assert seen == b"".join(pieces)


@pytest.mark.parametrize("content", [b"short", b"exactly as long", b"a good deal longer than before"])
def test_a_replaced_file_is_read_from_its_beginning(tmp_path, content):
    path, fresh = tmp_path / "file", tmp_path / "fresh"
    path.write_bytes(b"before. before.")
    tail = Tail(path)
    tail.offset += len(tail.read())
    fresh.write_bytes(content)
    fresh.replace(path)
    assert tail.read() == content


def test_a_file_that_shrank_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before before")
    tail = Tail(path)
    tail.offset += len(tail.read())
    path.write_bytes(b"after")
    assert tail.read() == b"after"


# --- event files


def test_event_files_tell_step_time_and_loss(tmp_path):
    look = Look(tmp_path)
    assert look() == {}
    path = event_file(tmp_path / "logs/train", 7, record(10, 5.0, loss=0.5))
    assert look() == {WORKER: ReplicaProgress(10, 5.0, loss=0.5)}
    append(path, record(20, 6.0, accuracy=0.9) + record(30, 7.0, epoch_loss=float_tensor(0.25)))
    assert look() == {WORKER: ReplicaProgress(30, 7.0, loss=0.25)}
    append(path, record(40, 8.0, **{"train/cross_entropy": double_tensor(0.125)}))
    assert look() == {WORKER: ReplicaProgress(40, 8.0, loss=0.125)}


def test_a_record_that_is_still_being_written_waits(tmp_path):
    whole = record(20, 6.0, loss=0.25)
    for cut in (1, 8, 11, 12, 13, len(whole) - 5, len(whole) - 1):
        folder = tmp_path / str(cut)
        path = event_file(folder, 7, record(10, 5.0, loss=0.5), whole[:cut])
        look = Look(folder)
        assert look()[WORKER].step == 10
        append(path, whole[cut:])
        assert look()[WORKER] == ReplicaProgress(20, 6.0, loss=0.25)


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\0" * 5,
        b"\xff" * 200,
        b"not an event file at all, just text of some length",
        framed(b"\xff not an event"),
        framed(b""),
        record(99, 9.0, image=TensorProto(dtype=DT_STRING, string_val=[b"x"])),
        record(99, 9.0, loss=TensorProto(dtype=DT_FLOAT, tensor_content=b"xy")),
        record(99, 9.0, loss=TensorProto(dtype=DT_FLOAT, tensor_shape=TensorShapeProto(dim=[{"size": 2}]))),
    ],
)
def test_garbage_is_not_progress(tmp_path, garbage):
    (tmp_path / "events.out.tfevents.1.host.7.0").write_bytes(garbage)
    look = Look(tmp_path)
    assert look() == {}
    event_file(tmp_path, 7, record(10, 5.0, loss=0.5), serial=1)
    assert look()[WORKER].step == 10


def test_records_after_one_that_is_no_event_are_read(tmp_path):
    event_file(tmp_path, 7, framed(b"\xff not an event"), record(10, 5.0, loss=0.5))
    assert Look(tmp_path)()[WORKER].step == 10


def test_a_truncated_event_file_is_read_anew(tmp_path):
    path = event_file(tmp_path, 7, record(10, 5.0, loss=0.5), record(20, 6.0, loss=0.25))
    look = Look(tmp_path)
    assert look()[WORKER].step == 20
    event_file(tmp_path, 7, record(30, 7.0))
    assert path.stat().st_size > 0
    append(path, record(30, 8.0, loss=0.125))
    assert look()[WORKER] == ReplicaProgress(30, 8.0, loss=0.125)


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("events.out.tfevents.1700000000.host.7.0.v2", WORKER),
        ("events.out.tfevents.1700000000.host.7.123", WORKER),
        ("events.out.tfevents.1700000000.my.dotted.host-8.7.0.v2", WORKER),
        ("events.out.tfevents.1700000000.host.7.0.profile-empty", WORKER),
        ("events.out.tfevents.1700000000.host.99.0.v2", CHIEF),
        ("events.out.tfevents.1700000000.host", CHIEF),
        ("events.out.tfevents.mine", CHIEF),
    ],
)
def test_an_event_file_belongs_to_its_writer_else_to_the_leader(tmp_path, name, owner):
    event_file(tmp_path, 7, record(10, 5.0, loss=0.5)).rename(tmp_path / name)
    assert list(Look(tmp_path)()) == [owner]


def test_an_evaluators_steps_are_those_that_it_has_evaluated(tmp_path):
    event_file(tmp_path / "eval", 8, record(10, 5.0, loss=0.5))
    assert Look(tmp_path)() == {EVALUATOR: ReplicaProgress(10, 5.0, evaluated_step=10)}


@pytest.mark.parametrize("folder", ["validation", "eval", "eval_main", "run/evaluation"])
def test_what_a_trainer_evaluates_in_passing_is_not_its_training(tmp_path, folder):
    event_file(tmp_path / "train", 7, record(10, 5.0, loss=0.5))
    event_file(tmp_path / folder, 7, record(3, 6.0, loss=9.0), record(30, 6.0, loss=9.0), serial=1)
    event_file(tmp_path / "other", 7, record(30, 6.0, evaluation_loss=9.0), serial=2)
    assert Look(tmp_path)() == {WORKER: ReplicaProgress(10, 5.0, loss=0.5)}


def test_a_second_file_that_is_behind_does_not_bring_a_replica_back(tmp_path):
    event_file(tmp_path / "a", 7, record(20, 5.0, loss=0.25))
    look = Look(tmp_path)
    assert look()[WORKER].step == 20
    event_file(tmp_path / "b", 7, record(10, 6.0, loss=0.5), serial=1)
    assert look()[WORKER] == ReplicaProgress(20, 5.0, loss=0.25)


def test_a_retrieval_folder_is_no_evaluation(tmp_path):
    event_file(tmp_path / "retrieval", 7, record(10, 5.0, loss=0.5))
    assert Look(tmp_path)()[WORKER].step == 10


def test_who_writes_lines_is_taken_at_its_word(tmp_path):
    lines = tmp_path / "worker-0.0.jsonl"
    event_file(tmp_path, 7, record(500, 5.0, loss=0.5))
    look = Look(tmp_path)
    look.reader.follow(WORKER, lines)
    append(lines, said(time=1, step=10))
    assert look() == {WORKER: ReplicaProgress(10, 1.0)}


def test_what_an_earlier_run_wrote_is_past(tmp_path):
    path = event_file(tmp_path, 7, record(500, 5.0, loss=0.5))
    look = Look(tmp_path)
    look.reader.ignore_past()
    assert look() == {}
    append(path, record(10, 6.0, loss=0.25))
    assert look() == {WORKER: ReplicaProgress(10, 6.0, loss=0.25)}


def test_new_files_are_looked_for_now_and_then_or_when_asked(tmp_path):
    reader = ProgressReader([tmp_path])
    assert reader.look({7: WORKER}, CHIEF) == {}
    event_file(tmp_path, 7, record(49, 5.0, loss=0.5))
    assert reader.look({7: WORKER}, CHIEF) == {}
    reader.search_now()
    assert reader.look({7: WORKER}, CHIEF)[WORKER].step == 49


def test_folders_that_come_and_go_do_not_disturb(tmp_path):
    event_file(tmp_path / "train", 7, record(10, 5.0, loss=0.5))
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            (tmp_path / "a/b/c").mkdir(parents=True, exist_ok=True)
            shutil.rmtree(tmp_path / "a", ignore_errors=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        found = {len(list(event_files(tmp_path))) for _ in range(2000)}
    finally:
        over.set()
        thread.join()
    assert found == {1}
