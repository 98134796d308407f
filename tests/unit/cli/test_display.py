from __future__ import annotations

import pytest

from shoal.cli.display import describe_progress, display, elapsed
from shoal.durations import format_seconds
from shoal.resources import JobStatus, Phase, Progress
from shoal.runs import ReplicaRecord, Snapshot


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-3, "0 s"),
        (0, "0 s"),
        (0.4, "0 s"),
        (7, "7 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (7500, "2 h 5 min"),
        (86399, "23 h 59 min"),
        (86400, "1 d 0 h"),
        (273600, "3 d 4 h"),
    ],
)
def test_durations(seconds, told):
    assert format_seconds(seconds) == told


def snapshot(phase: Phase = Phase.RUNNING, **progress: float) -> Snapshot:
    said = Progress(replica="chief-0", time=1.0, **progress) if progress else None
    return Snapshot(JobStatus(phase=phase, progress=said))


@pytest.mark.parametrize(
    ("progress", "told"),
    [
        ({}, ""),
        ({"step": 1200}, "step 1,200"),
        ({"step": 5, "loss": 0.123456}, "step 5, loss 0.1235"),
        ({"step": 5, "loss": 1e-9, "steps_per_second": 31.415}, "step 5, 31.4 steps/s, loss 1e-09"),
        ({"step": 5, "loss": float("nan")}, "step 5"),
    ],
)
def test_progress_as_far_as_it_is_known(progress, told):
    assert describe_progress(snapshot(**progress)) == told


def test_a_job_that_has_ended_has_no_speed():
    assert describe_progress(snapshot(Phase.SUCCEEDED, step=5, steps_per_second=3.0)) == "step 5"


def test_how_long_a_job_was_active():
    assert elapsed(Snapshot(JobStatus())) == ""
    assert elapsed(Snapshot(JobStatus(start_time=100.0, completion_time=175.0))) == "1 min 15 s"


def test_where_nobody_looks_a_change_is_a_line_and_is_told_once(capsys):
    begun = Snapshot(JobStatus(phase=Phase.RUNNING), [ReplicaRecord("worker-0", 0, "Running")])
    failed = Snapshot(
        JobStatus(phase=Phase.RESTARTING, message="again"), [ReplicaRecord("worker-0", 1, "Failed", exit_code=3)]
    )
    with display() as show:
        for each in (begun, begun, failed, failed):
            show("train", each)
    lines = [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "train job: Running",
        "train worker-0: Running",
        "train job: Restarting: again",
        "train worker-0: Failed (attempt 2), exit code 3",
    ]
