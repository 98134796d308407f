"""Calls joined into batches: whoever comes together, each gets what it would have got alone.

A gate holds the only batch thread while calls come, so which calls share a batch is known without a clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.serving.batching import Batcher, Feeds, Scheduler
from shoal.serving.batching_parameters import BatchingParameters
from shoal.serving.deadline import DEADLINE
from shoal.serving.status import Code, ServingError

POISON = -777.0


class Seen:
    """What the scheduler tells, and the sizes of the runs and their deadlines."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.deadlines: list[float | None] = []
        self.batches: list[tuple[list[int], int]] = []
        self.calls = 0
        self.news = threading.Condition()

    def batched(self, sizes: Sequence[int], waits: Sequence[float], run_size: int) -> None:
        assert all(wait >= 0 for wait in waits)
        self.batches.append((list(sizes), run_size))

    def waiting(self, calls: int) -> None:
        with self.news:
            self.calls = calls
            self.news.notify_all()

    def until_waiting(self, calls: int) -> None:
        with self.news:
            assert self.news.wait_for(lambda: self.calls >= calls, 10)


class Bench:
    """A batcher over a function of rows, and threads that ask it."""

    def __init__(self, threads: int = 1, **parameters: Any) -> None:
        self.seen = Seen()
        self.scheduler = Scheduler(threads, "test", self.seen)
        self.batcher = Batcher(self._run, BatchingParameters(**parameters), self.scheduler)
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)

    def _run(self, feeds: Feeds, fetches: Sequence[str]) -> list[np.ndarray]:
        self.entered.release()
        assert self.gate.wait(30)
        x = feeds["x"]
        self.seen.runs.append(len(x))
        self.seen.deadlines.append(DEADLINE.get())
        if (x == POISON).any():
            raise ServingError(Code.OUT_OF_RANGE, "poison")
        return [{"y": x * 2, "sum": x.sum(axis=tuple(range(1, x.ndim))), "scalar": x.sum()}[name] for name in fetches]

    def ask(self, x: np.ndarray, fetches: Sequence[str] = ("y",), deadline: float | None = None) -> Future[Any]:
        """Ask in a thread of its own, which does not outlive a test that fails."""
        answer: Future[Any] = Future()

        def call() -> None:
            DEADLINE.set(deadline)
            try:
                answer.set_result(self.batcher.run({"x": x}, fetches))
            except Exception as fault:
                answer.set_exception(fault)

        threading.Thread(target=call, daemon=True).start()
        return answer

    @contextmanager
    def held(self) -> Iterator[None]:
        """The only batch thread is busy while the block runs."""
        self.gate.clear()
        holding = self.ask(np.zeros([1, 99, 1]))
        assert self.entered.acquire(timeout=30)
        yield
        self.gate.set()
        holding.result(30)
        self.seen.runs.pop(0)
        self.seen.batches.pop(0)

    def together(self, *xs: np.ndarray, fetches: Sequence[str] = ("y",)) -> list[Future[Any]]:
        """Ask these one after the other while the batch thread is busy, and wait for the answers."""
        with self.held():
            asked = []
            for x in xs:
                before = self.seen.calls
                asked.append(self.ask(x, fetches))
                self.seen.until_waiting(before + 1)
        for each in asked:
            each.exception(30)
        return asked


def rows(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def refused(asked: Future[Any]) -> tuple[Code, str]:
    fault = asked.exception(30)
    assert isinstance(fault, ServingError)
    return fault.code, fault.message


def test_what_comes_while_the_thread_is_busy_is_run_at_once() -> None:
    bench = Bench(max_batch_size=8)
    first, second, third = bench.together(rows(1), rows(2, 3), rows(4))
    assert bench.seen.runs == [4]
    assert bench.seen.batches == [([1, 2, 1], 4)]
    assert first.result()[0].tolist() == [2]
    assert second.result()[0].tolist() == [4, 6]
    assert third.result()[0].tolist() == [8]


def test_a_call_that_meets_no_other_runs_in_its_own_thread() -> None:
    seen: list[str] = []

    def run(feeds: Feeds, fetches: Sequence[str]) -> list[np.ndarray]:
        seen.append(threading.current_thread().name)
        return [feeds["x"]]

    Batcher(run, BatchingParameters(), Scheduler(1, "batch", Seen())).run({"x": rows(1)}, ["y"])
    assert seen == [threading.current_thread().name]


def test_a_batch_that_is_full_is_followed_by_another() -> None:
    bench = Bench(max_batch_size=3, execution_size=3)
    bench.together(rows(1, 2), rows(3, 4), rows(5), rows(6))
    assert bench.seen.runs == [2, 3, 1]


def test_what_differs_is_not_joined() -> None:
    bench = Bench(max_batch_size=8)
    asked = bench.together(rows(1), np.array([2.0]), np.ones([1, 2]), np.ones([1, 3]), rows(3))
    assert [size for sizes, size in bench.seen.batches for _ in sizes] == [2, 2, 1, 1, 1]
    assert [each.result()[0].dtype.name for each in asked] == ["float32", "float64", "float64", "float64", "float32"]


def test_one_bad_request_fails_alone() -> None:
    bench = Bench(max_batch_size=8)
    good, bad, other = bench.together(rows(1), rows(POISON), rows(2))
    assert refused(bad) == (Code.OUT_OF_RANGE, "poison")
    assert (good.result()[0].tolist(), other.result()[0].tolist()) == ([2], [4])
    assert bench.seen.runs == [3, 1, 1, 1]


def test_a_batch_is_filled_up_to_an_allowed_size_with_a_valid_row() -> None:
    bench = Bench(max_batch_size=8, allowed_sizes=(1, 4, 8))
    first, second = bench.together(rows(1, 2), rows(3))
    assert bench.seen.batches == [([2, 1], 4)]
    assert bench.seen.runs == [4]
    assert (first.result()[0].tolist(), second.result()[0].tolist()) == ([2, 4], [6])


def test_ragged_inputs_are_filled_up_with_their_first_element() -> None:
    bench = Bench(max_batch_size=8, pad=True)
    short, long = bench.together(np.full([1, 1, 2], 5.0), np.full([1, 3, 1], 7.0), fetches=["y", "sum"])
    assert bench.seen.runs == [2]
    assert short.result()[0].tolist() == [[[10.0, 10.0]] * 3]
    assert long.result()[1].tolist() == [42.0]


def test_an_empty_input_among_ragged_ones_is_answered_alone() -> None:
    bench = Bench(max_batch_size=8, pad=True)
    empty, full = bench.together(np.zeros([1, 0, 2]), np.ones([1, 3, 2]))
    assert empty.result()[0].shape == (1, 0, 2)
    assert full.result()[0].tolist() == [[[2.0, 2.0]] * 3]


def test_what_is_larger_than_a_batch_is_refused_or_cut() -> None:
    bench = Bench(max_batch_size=3, execution_size=3)
    said = "Task size 4 is larger than maximum input batch size 3"
    assert refused(bench.ask(rows(1, 2, 3, 4))) == (Code.INVALID_ARGUMENT, said)
    bench = Bench(max_batch_size=8, execution_size=3, split=True)
    small, large = bench.together(rows(1), np.arange(7, dtype=np.float32))
    assert bench.seen.runs == [3, 3, 2]
    assert (small.result()[0].tolist(), large.result()[0].tolist()) == ([2], [0, 2, 4, 6, 8, 10, 12])


def test_a_full_queue_takes_no_more() -> None:
    bench = Bench(max_batch_size=2, execution_size=2, enqueued_batches=2)
    with bench.held():
        waiting = [bench.ask(rows(1, 2))]
        bench.seen.until_waiting(1)
        waiting.append(bench.ask(rows(3)))
        bench.seen.until_waiting(2)
        code, said = refused(bench.ask(rows(4, 5)))
        assert (code, said) == (
            Code.UNAVAILABLE,
            "The batch scheduling queue to which this task was submitted is full; currently 2 batches enqueued and "
            "max_enqueued_batches is 2",
        )
        waiting.append(bench.ask(rows(6)))  # fills the last one
        bench.seen.until_waiting(3)
    assert [each.result(30)[0].tolist() for each in waiting] == [[2, 4], [6], [12]]


def test_a_full_queue_where_calls_are_cut() -> None:
    bench = Bench(max_batch_size=9, execution_size=2, enqueued_batches=2, split=True)
    with bench.held():
        waiting = bench.ask(rows(1))
        bench.seen.until_waiting(1)
        code, said = refused(bench.ask(rows(2, 3, 4, 5)))
        assert code is Code.UNAVAILABLE
        assert "task size is 4 but scheduling capacity is only 3" in said
    assert waiting.result(30)[0].tolist() == [2]


@pytest.mark.parametrize(
    ("feeds", "says"),
    [
        ({}, "Batching Run() must have at least one input tensor"),
        ({"x": np.float32(1)}, "Batching Run() input tensors must have at least one dimension"),
        ({"x": rows(1), "z": rows(1, 2)}, "Batching Run() input tensors must have equal 0th-dimension size"),
    ],
)
def test_what_cannot_be_joined_is_refused(feeds: dict[str, np.ndarray], says: str) -> None:
    with pytest.raises(ServingError) as fault:
        Bench().batcher.run(feeds, ["y"])
    assert (fault.value.code, fault.value.message) == (Code.INVALID_ARGUMENT, says)


def test_outputs_without_the_dimension_are_refused() -> None:
    bench = Bench()
    said = "Batched output tensor has 0 dimensions"
    assert refused(bench.ask(rows(1), ["scalar"])) == (Code.FAILED_PRECONDITION, said)

    def one_row(feeds: Feeds, fetches: Sequence[str]) -> list[np.ndarray]:
        return [np.zeros(1)]

    with pytest.raises(ServingError, match="0th dimension does not equal the sum of the 0th dimension sizes"):
        Batcher(one_row, BatchingParameters(), bench.scheduler).run({"x": rows(1, 2)}, ["y"])


def test_who_has_given_up_while_waiting_is_not_run() -> None:
    bench = Bench(max_batch_size=8)
    with bench.held():
        gone = bench.ask(rows(1), deadline=time.monotonic())
        bench.seen.until_waiting(1)
        there = bench.ask(rows(2), deadline=time.monotonic() + 3600)
        bench.seen.until_waiting(2)
    said = "Run() timeout exceeded while waiting in batching queue"
    assert refused(gone) == (Code.RESOURCE_EXHAUSTED, said)
    assert there.result(30)[0].tolist() == [4]
    assert bench.seen.runs == [1]


def test_a_run_has_until_the_last_of_its_calls_gives_up() -> None:
    bench = Bench(max_batch_size=8)
    now = time.monotonic()
    for deadlines, last in (((now + 1800, now + 3600), now + 3600), ((now + 3600, None), None)):
        with bench.held():
            asked = []
            for count, deadline in enumerate(deadlines, 1):
                asked.append(bench.ask(rows(count), deadline=deadline))
                bench.seen.until_waiting(count)
        assert [each.result(30)[0].tolist() for each in asked] == [[2], [4]]
        assert bench.seen.deadlines[-1] == last


def test_each_has_its_own_deadline_when_they_are_run_one_by_one() -> None:
    bench = Bench(max_batch_size=8)
    now = time.monotonic()
    with bench.held():
        bench.ask(rows(POISON), deadline=now + 1800)
        bench.seen.until_waiting(1)
        good = bench.ask(rows(1), deadline=now + 3600)
        bench.seen.until_waiting(2)
    assert good.result(30)[0].tolist() == [2]
    assert bench.seen.deadlines[-3:] == [now + 3600, now + 1800, now + 3600]


def test_who_gives_up_during_a_run_is_told_and_the_others_are_answered() -> None:
    bench = Bench(max_batch_size=2, execution_size=2, batch_seconds=3600)
    bench.gate.clear()
    patient = bench.ask(rows(1))
    bench.seen.until_waiting(1)
    hasty = bench.ask(rows(2), deadline=time.monotonic() + 2)
    assert bench.entered.acquire(timeout=30)
    code, said = refused(hasty)
    assert (code, said) == (Code.DEADLINE_EXCEEDED, "the deadline has passed while the model was run")
    assert not patient.done()
    bench.gate.set()
    assert patient.result(30)[0].tolist() == [2]


def test_a_batch_waits_for_more_until_it_is_full() -> None:
    bench = Bench(max_batch_size=3, execution_size=3, batch_seconds=3600)
    asked = []
    for count, value in enumerate((1, 2), 1):
        asked.append(bench.ask(rows(value)))
        bench.seen.until_waiting(count)
    assert not bench.seen.runs
    asked.append(bench.ask(rows(3)))
    assert [each.result(30)[0].tolist() for each in asked] == [[2], [4], [6]]
    assert bench.seen.runs == [3]


def test_a_batch_waits_no_longer_than_it_may() -> None:
    bench = Bench(batch_seconds=0.01)
    assert bench.ask(rows(1)).result(30)[0].tolist() == [2]


def test_lines_of_shapes_that_nobody_asks_any_more_are_dropped() -> None:
    bench = Bench(max_batch_size=8)
    for size in range(1, 20):
        bench.together(np.zeros([1, size]))
    assert len(bench.batcher._lines) <= 2


calls = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([(), (1,), (3,), (2, 2)]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(
    calls,
    st.integers(1, 3),
    st.integers(5, 12),
    st.sampled_from([0.0, 0.002]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_each_gets_what_it_would_have_got_alone(
    asked: list[tuple[int, tuple[int, ...], bool, bool]],
    threads: int,
    largest: int,
    seconds: float,
    rounded: bool,
    split: bool,
    seed: int,
) -> None:
    """Whatever comes together with whatever, in whatever order and sizes."""
    bench = Bench(
        threads,
        max_batch_size=largest,
        execution_size=4 if split else largest,
        batch_seconds=seconds,
        enqueued_batches=100,
        allowed_sizes=(2, largest) if rounded else (),
        split=split,
    )
    random = np.random.default_rng(seed)
    given = []
    for count, inner, double, poisoned in asked:
        x = random.normal(size=(count, *inner)).astype(np.float64 if double else np.float32)
        if poisoned and x.size:
            x.flat[random.integers(x.size)] = POISON
        given.append(x)
    for x, answer in [(x, bench.ask(x, ["y", "sum"])) for x in given]:
        if (x == POISON).any():
            assert refused(answer) == (Code.OUT_OF_RANGE, "poison")
            continue
        for found, value in zip(answer.result(30), bench._run({"x": x}, ["y", "sum"]), strict=True):
            assert found.dtype == value.dtype
            np.testing.assert_array_equal(found, value)
