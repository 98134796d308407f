"""Calls of a model that come at the same time, joined into one run of its graph (`--enable_batching`).

A call waits for others only where it must: while all batch threads are busy, or for as long as `batch_timeout_micros`
says. When nothing waits and a thread is free it runs at once, in the thread that asks. Calls join along their first
dimension where all else about them is the same: the tensors in and out, their types, and their shape beyond the first
dimension (beyond the rank where `pad_variable_length_inputs` is set). All models share one `Scheduler`, which takes the
batch that has waited longest. A batch that fails is run again call by call, so that a bad request fails alone. A client
is told when its deadline has passed; the run ends when the last deadline among its calls has.

What is refused, and in which words, is TensorFlow Serving's.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

import numpy as np

from shoal.serving.batching_parameters import BatchingParameters
from shoal.serving.deadline import DEADLINE, until
from shoal.serving.status import Code, ServingError, invalid

Feeds = Mapping[str, np.ndarray]
Run = Callable[[Feeds, Sequence[str]], list[np.ndarray]]


class Watch(Protocol):
    """What is told of batches as they go."""

    def batched(self, sizes: Sequence[int], waits: Sequence[float], run_size: int) -> None:
        """Calls of these `sizes` in rows, which waited for so many seconds, are run together as `run_size` rows."""

    def waiting(self, calls: int) -> None:
        """So many calls wait in queues now."""


class _Call:
    """A request, or a piece of one that was cut. `ended` is held until there is an answer or an error."""

    __slots__ = ("arrived", "begun", "deadline", "ended", "error", "feeds", "rows", "values")

    def __init__(self, feeds: Feeds, rows: int) -> None:
        self.feeds = feeds
        self.rows = rows
        self.arrived = time.monotonic()
        self.deadline = DEADLINE.get()
        self.begun = False
        self.values: list[np.ndarray] = []
        self.error: Exception | None = None
        self.ended = threading.Lock()
        self.ended.acquire()

    def wait(self) -> Exception | None:
        """Return when it has ended or its deadline has passed, and answer what went wrong."""
        left = -1 if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        return self.error if self.ended.acquire(timeout=left) else _too_late(self)


@dataclass(slots=True)
class _Batch:
    """Calls that will run together. It is due when it is `full`, or at `due`."""

    run: Callable[[list[_Call]], None]
    line: deque[_Batch]
    due: float
    calls: list[_Call] = field(default_factory=list)
    rows: int = 0
    full: bool = False


class Scheduler:
    """Runs the batches of all models, `threads` at a time."""

    def __init__(self, threads: int, name: str, watch: Watch) -> None:
        self.watch = watch
        self.lock = threading.Lock()
        self._threads = threads
        self._name = name
        self._news = threading.Condition(self.lock)
        self._started = 0
        self._busy = 0
        self._waiting: list[_Batch] = []
        self._calls = 0

    def enter_at_once(self) -> bool:
        """Take one of the threads' places if nothing waits. The lock is held; `leave` gives the place back."""
        if self._waiting or self._busy >= self._threads:
            return False
        self._busy += 1
        return True

    def leave(self) -> None:
        with self._news:
            self._busy -= 1
            if self._waiting:
                self._news.notify()

    def enqueue(self, batch: _Batch) -> None:
        """A batch that was opened waits from now on. The lock is held."""
        batch.line.append(batch)
        self._waiting.append(batch)

    def joined(self, calls: int) -> None:
        """Calls have come into batches that wait. The lock is held."""
        self._count(calls)
        if self._started < self._threads:
            self._started += 1
            threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
        self._news.notify()

    def _count(self, change: int) -> None:
        self._calls += change
        self.watch.waiting(self._calls)

    def _work(self) -> None:
        while True:
            with self._news:
                while (batch := self._next()) is None:
                    self._news.wait(self._soonest())
                self._waiting.remove(batch)
                batch.line.remove(batch)
                self._count(-len(batch.calls))
                self._busy += 1
                if self._waiting:
                    self._news.notify()  # there may be a place for the next one too
            try:
                batch.run(batch.calls)
            finally:
                self.leave()

    def _next(self) -> _Batch | None:
        if self._busy >= self._threads:
            return None
        now = time.monotonic()
        return next((batch for batch in self._waiting if batch.full or batch.due <= now), None)

    def _soonest(self) -> float | None:
        if not self._waiting or self._busy >= self._threads:
            return None
        return max(0.0, min(batch.due for batch in self._waiting) - time.monotonic())


class Batcher:
    """Joins the calls of one version of a model. `run_alone` runs its graph; `run` does so for several at once."""

    def __init__(self, run_alone: Run, parameters: BatchingParameters, scheduler: Scheduler) -> None:
        self._run_alone = run_alone
        self._parameters = parameters
        self._scheduler = scheduler
        self._lines: dict[object, deque[_Batch]] = {}
        """Batches that wait, by what their calls have in common. A line without any is dropped: there are as many as
        there are shapes that clients think of."""

    def run(self, feeds: Feeds, fetches: Sequence[str]) -> list[np.ndarray]:
        """The values of the tensors `fetches`. Raises ServingError, and what the graph raises."""
        rows = _rows(feeds)
        if rows > self._parameters.max_batch_size:
            raise invalid(f"Task size {rows} is larger than maximum input batch size {self._parameters.max_batch_size}")

        def run(calls: list[_Call]) -> None:
            self._run_batch(calls, fetches)

        with self._scheduler.lock:
            at_once = (
                not self._parameters.batch_seconds
                and rows <= self._parameters.execution_size
                and self._scheduler.enter_at_once()
            )
            calls = [_Call(feeds, rows)] if at_once else self._enqueue(feeds, rows, fetches, run)
        if at_once:
            try:
                run(calls)
            finally:
                self._scheduler.leave()
        for error in [call.wait() for call in calls]:
            if error is not None:
                raise error
        if len(calls) == 1:
            return calls[0].values
        return [np.concatenate(pieces) for pieces in zip(*(call.values for call in calls), strict=True)]

    def _enqueue(
        self, feeds: Feeds, rows: int, fetches: Sequence[str], run: Callable[[list[_Call]], None]
    ) -> list[_Call]:
        """Put a request in line, and answer the calls that it has become. The scheduler's lock is held."""
        key = self._key(feeds, fetches)
        line = self._lines.get(key) or deque()
        sizes = self._sizes(rows, line)
        self._lines = {old: batches for old, batches in self._lines.items() if batches}
        self._lines[key] = line
        calls = []
        start = 0
        for size in sizes:
            call = _Call(feeds if size == rows else _slice(feeds, start, start + size), size)
            start += size
            if not line or line[-1].rows + size > self._parameters.execution_size:
                if line:
                    line[-1].full = True
                self._scheduler.enqueue(_Batch(run, line, call.arrived + self._parameters.batch_seconds))
            batch = line[-1]
            batch.calls.append(call)
            batch.rows += size
            batch.full |= batch.rows >= self._parameters.execution_size
            calls.append(call)
        self._scheduler.joined(len(calls))
        return calls

    def _sizes(self, rows: int, line: deque[_Batch]) -> list[int]:
        """The pieces that a request is cut into. Raises ServingError where the line has no place for it."""
        limit, most = self._parameters.execution_size, self._parameters.enqueued_batches
        room = limit - line[-1].rows if line else limit
        waiting = max(1, len(line))
        if not self._parameters.split:
            if rows > room and waiting >= most:
                raise ServingError(
                    Code.UNAVAILABLE,
                    f"The batch scheduling queue to which this task was submitted is full; currently {waiting} "
                    f"batches enqueued and max_enqueued_batches is {most}",
                )
            return [rows]
        capacity = (most - waiting) * limit + room
        if rows > capacity:
            raise ServingError(
                Code.UNAVAILABLE,
                "The batch scheduling queue to which this task was submitted is full; task size is "
                f"{rows} but scheduling capacity is only {capacity} (num_enqueued_batches={waiting}, "
                f"max_enqueued_batches={most}, open_batch_size={limit - room}, max_execution_batch_size={limit})",
            )
        first = min(rows, room)
        rest = rows - first
        sizes = [first, *[limit] * (rest // limit), rest % limit]
        return [size for size in sizes if size] or [0]

    def _key(self, feeds: Feeds, fetches: Sequence[str]) -> object:
        pad = self._parameters.pad
        return (
            tuple(fetches),
            tuple(
                (name, array.dtype.str, array.ndim if pad else array.shape[1:])
                for name, array in sorted(feeds.items(), key=itemgetter(0))
            ),
        )

    def _run_batch(self, calls: list[_Call], fetches: Sequence[str]) -> None:
        """Answer each call; nothing is raised."""
        now = time.monotonic()
        alive = []
        for call in calls:
            if call.deadline is None or now < call.deadline:
                call.begun = True
                alive.append(call)
            else:
                call.error = _too_late(call)
                call.ended.release()
        if not alive:
            return
        waits = [now - call.arrived for call in alive]
        run_size = self._parameters.padded(sum(call.rows for call in alive))
        self._scheduler.watch.batched([call.rows for call in alive], waits, run_size)
        try:
            with until(_last_deadline(alive)):
                self._run_together(alive, fetches)
        except Exception as fault:
            if len(alive) == 1:
                alive[0].error = fault
            else:
                self._run_each(alive, fetches)
        finally:
            for call in alive:
                call.ended.release()

    def _run_each(self, calls: list[_Call], fetches: Sequence[str]) -> None:
        for call in calls:
            try:
                with until(call.deadline):
                    self._run_together([call], fetches)
            except Exception as fault:
                call.error = fault

    def _run_together(self, calls: list[_Call], fetches: Sequence[str]) -> None:
        rows = sum(call.rows for call in calls)
        size = self._parameters.padded(rows) if rows else 0
        feeds = {name: self._merged([call.feeds[name] for call in calls], size - rows) for name in calls[0].feeds}
        outputs = self._run_alone(feeds, fetches)
        for output in outputs:
            if not output.ndim:
                raise ServingError(Code.FAILED_PRECONDITION, "Batched output tensor has 0 dimensions")
            if len(output) != size:
                raise ServingError(
                    Code.FAILED_PRECONDITION,
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the "
                    "input tensors",
                )
        start = 0
        for call in calls:
            call.values = [output[start : start + call.rows] for output in outputs]
            start += call.rows

    def _merged(self, arrays: list[np.ndarray], padding: int) -> np.ndarray:
        if self._parameters.pad and any(array.shape[1:] != arrays[0].shape[1:] for array in arrays):
            inner = tuple(max(sizes) for sizes in zip(*(array.shape[1:] for array in arrays), strict=True))
            arrays = [_filled_up(array, inner) for array in arrays]
        if padding:
            some = next(array for array in arrays if len(array))
            arrays = [*arrays, np.repeat(some[:1], padding, axis=0)]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _too_late(call: _Call) -> ServingError:
    if call.begun:
        return ServingError(Code.DEADLINE_EXCEEDED, "the deadline has passed while the model was run")
    return ServingError(Code.RESOURCE_EXHAUSTED, "Run() timeout exceeded while waiting in batching queue")


def _last_deadline(calls: Sequence[_Call]) -> float | None:
    """When nobody waits for them any more; None where somebody waits for ever."""
    deadlines = [call.deadline for call in calls if call.deadline is not None]
    return max(deadlines) if len(deadlines) == len(calls) else None


def _rows(feeds: Feeds) -> int:
    """The size of the dimension along which calls are joined. Raises ServingError where the arrays have none."""
    if not feeds:
        raise invalid("Batching Run() must have at least one input tensor")
    if not all(array.ndim for array in feeds.values()):
        raise invalid("Batching Run() input tensors must have at least one dimension")
    sizes = {len(array) for array in feeds.values()}
    if len(sizes) > 1:
        raise invalid("Batching Run() input tensors must have equal 0th-dimension size")
    return sizes.pop()


def _slice(feeds: Feeds, start: int, end: int) -> Feeds:
    return {name: array[start:end] for name, array in feeds.items()}


def _filled_up(array: np.ndarray, inner: tuple[int, ...]) -> np.ndarray:
    """The array with its inner dimensions made as large as `inner`. What is filled in is its first element, as in
    TensorFlow Serving. Raises ServingError where it has none."""
    if array.shape[1:] == inner:
        return array
    if not array.size:
        raise invalid("Got empty tensor in batch of non-empty tensors.")
    filled = np.full((len(array), *inner), array.flat[0], array.dtype)
    filled[tuple(map(slice, array.shape))] = array
    return filled
