"""Replays of a trace, on one small enough to follow by hand."""

from __future__ import annotations

import pytest

from shoal.pool import GPU, Host, Mode, Request
from shoal.pool.replay import Task, fill, flow, sampled

HOSTS = [Host(f"h{i}", 16_000, 16_000, (GPU("A"), GPU("A"))) for i in range(3)]


def test_requests_are_drawn_until_the_demand_is_met_and_a_seed_draws_the_same():
    asked = [Request(gpus=2), Request(milli=300), Request(gpus=0)]
    drawn = sampled(asked, 6_000, 130, seed=1)
    total = sum(request.gpus * request.milli for request in drawn)
    last = drawn[-1].gpus * drawn[-1].milli
    assert total - last < 7_800 <= total
    assert sampled(asked, 6_000, 130, seed=1) == drawn
    assert sampled(asked, 6_000, 130, seed=2) != drawn
    with pytest.raises(ValueError, match="no task of the trace asks for a GPU"):
        sampled([Request(gpus=0)], 6_000, 130, seed=1)


def test_what_does_not_fit_is_skipped_and_the_rest_still_comes():
    run = fill(HOSTS, [Request(gpus=2), Request(milli=600)], "best-fit", Mode.NODE_BOUND, 300, seed=1)
    drawn = len(sampled([Request(gpus=2), Request(milli=600)], 6_000, 300, seed=1))
    assert run.placed + run.skipped == drawn
    assert run.skipped > 0
    assert 60 <= run.allocated <= 100


def test_tasks_wait_for_room_and_those_behind_may_pass():
    host = [Host("h", 16_000, 16_000, (GPU("A"),))]
    tasks = [
        Task(Request(), 0, 100),  # runs at once, to 100
        Task(Request(gpus=2), 5, 40),  # never fits, and holds nobody up
        Task(Request(), 10, 60),  # waits 90, runs to 150
        Task(Request(gpus=0, cpu_milli=1_000), 20, 30),  # passes it
    ]
    seen = flow(host, tasks, "best-fit", Mode.NODE_BOUND)
    assert (seen.tasks, seen.waited, seen.never) == (4, 1, 1)
    assert seen.delay_max == 90
    assert seen.delay_mean == 30
    assert seen.allocated_mean == 100
    assert seen.allocated_peak == 100


def test_nothing_to_replay():
    assert flow(HOSTS, [], "best-fit", Mode.POOLED).tasks == 0
