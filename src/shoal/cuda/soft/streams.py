"""Streams and events: what a context was asked for, done in each stream's order, by a thread for each stream.

A piece of work waits for the one before it in its stream and for what else it was told to wait for. As CUDA has it,
work on the default stream, 0, waits for all that was asked for before on streams that block, and they for it; a stream
made with NON_BLOCKING does neither. After a fault nothing more is done, and every call raises it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import count
from queue import SimpleQueue
from threading import Condition, Thread

from shoal.cuda.driver import DriverError, Status

NON_BLOCKING = 1
"""Flag of a stream (`CU_STREAM_NON_BLOCKING`)."""
NO_TIMING = 2
"""Flag of an event (`CU_EVENT_DISABLE_TIMING`)."""
END_SECONDS = 5.0


class Work:
    """`at` is when it was done, by `time.perf_counter`."""

    __slots__ = ("action", "after", "always", "at", "done")

    def __init__(self, action: Callable[[], None], after: tuple[Work, ...], always: bool = False) -> None:
        """What is to be done `always` is done after a fault, too."""
        self.action, self.after, self.always = action, after, always
        self.done, self.at = False, 0.0


class _Stream:
    """`last` is what was asked for last."""

    def __init__(self, blocking: bool) -> None:
        self.blocking = blocking
        self.last = _nothing()
        self.queue: SimpleQueue[Work | None] = SimpleQueue()
        self.thread: Thread | None = None


class _Event:
    """`work` is what it was recorded as, if it was."""

    def __init__(self, timed: bool) -> None:
        self.timed = timed
        self.work: Work | None = None


class Waiting:
    """Work that was asked for, to be waited for by any thread. Raises the fault, were it of this work or another."""

    def __init__(self, streams: Streams, works: tuple[Work, ...]) -> None:
        self._streams, self._works = streams, works

    def done(self) -> bool:
        return all(each.done for each in self._works)

    def wait(self) -> None:
        self._streams.wait(*self._works)


class Streams:
    """Of one context. Its methods are called by one thread, but for `close` and `wait`."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._streams = {0: _Stream(blocking=True)}
        self._leaving: list[_Stream] = []  # destroyed, with work to do
        self._events: dict[int, _Event] = {}
        self._numbers = count(1)
        self._fault: DriverError | None = None
        self._closed = False

    def check(self) -> None:
        """Raise the fault that there was, or that it is closed."""
        if self._closed:
            raise DriverError(Status.INVALID_CONTEXT, "the context is closed")
        if self._fault:
            raise self._fault

    def submit(
        self,
        stream: int,
        action: Callable[[], None],
        soon: bool = False,
        after: tuple[Work, ...] = (),
        always: bool = False,
    ) -> Work:
        """Ask for work. What is to be done `soon` is done before this returns if there is nothing to wait for."""
        if not always:
            self.check()
        found = self._stream(stream)
        work = Work(action, (*self._before(found), *after), always)
        found.last = work
        if soon and all(each.done for each in work.after):
            self._do(work)
            return work
        if found.thread is None:
            found.thread = Thread(target=self._serve, args=(found.queue,), daemon=True)
            found.thread.start()
        found.queue.put(work)
        return work

    def ready(self, stream: int) -> bool:
        """Whether what is asked for on this stream now has nothing to wait for."""
        self.check()
        return not self._before(self._stream(stream))

    def wait(self, *works: Work) -> None:
        """Until all are done; raises the fault, were it of this work or of any other."""
        self._wait(works)
        self.check()

    def pending(self, number: int | None = None) -> Waiting:
        """What was asked for so far, on one stream or on all."""
        self.check()
        if number is not None:
            return Waiting(self, self._waited_for(self._stream(number)))
        return Waiting(self, tuple(each.last for each in (*self._streams.values(), *self._leaving)))

    def fault_status(self) -> int:
        return self._fault.status if self._fault else Status.SUCCESS

    # Streams

    def create(self, flags: int = 0) -> int:
        self.check()
        if flags & ~NON_BLOCKING:
            raise DriverError(Status.INVALID_VALUE, f"{flags:#x} are no flags of a stream")
        number = next(self._numbers)
        self._streams[number] = _Stream(not flags & NON_BLOCKING)
        return number

    def destroy(self, number: int) -> None:
        """What it has to do is still done."""
        self.check()
        if not number:
            raise DriverError(Status.INVALID_HANDLE, "the default stream is not destroyed")
        found = self._stream(number)
        del self._streams[number]
        self._leaving = [each for each in self._leaving if not each.last.done]
        self._leaving.append(found)
        found.queue.put(None)

    def done(self, number: int) -> bool:
        return self.pending(number).done()

    def synchronize(self, number: int | None = None) -> None:
        """Wait for a stream, or for all."""
        self.pending(number).wait()

    # Events

    def create_event(self, flags: int = 0) -> int:
        self.check()
        number = next(self._numbers)
        self._events[number] = _Event(not flags & NO_TIMING)
        return number

    def destroy_event(self, number: int) -> None:
        self.check()
        self._event(number)
        del self._events[number]

    def record(self, number: int, stream: int) -> None:
        event = self._event(number)
        event.work = self.submit(stream, _no_action, soon=True)

    def wait_event(self, stream: int, number: int) -> None:
        """What the stream is asked for from now on waits for what the event stands for now."""
        self.check()
        event = self._event(number)
        if event.work is None or event.work.done:
            self._stream(stream)
        else:
            self.submit(stream, _no_action, after=(event.work,))

    def event_done(self, number: int) -> bool:
        self.check()
        work = self._event(number).work
        return work is None or work.done

    def pending_event(self, number: int) -> Waiting:
        self.check()
        work = self._event(number).work
        return Waiting(self, () if work is None else (work,))

    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds."""
        self.check()
        moments = []
        for number in (start, end):
            event = self._event(number)
            if event.work is None or not event.timed:
                raise DriverError(Status.INVALID_HANDLE, f"event {number} was not recorded, or has no time")
            if not event.work.done:
                raise DriverError(Status.NOT_READY, f"event {number} has not come")
            moments.append(event.work.at)
        return (moments[1] - moments[0]) * 1000

    def end(self) -> None:
        """Do nothing more; who waits is told."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def close(self) -> bool:
        """Do nothing more, and wait for what is being done. Whether it has ended."""
        self.end()
        everyone = (*self._streams.values(), *self._leaving)
        for each in everyone:
            each.queue.put(None)
        until = time.monotonic() + END_SECONDS
        threads = [each.thread for each in everyone if each.thread is not None]
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in threads)

    # Inside

    def _stream(self, number: int) -> _Stream:
        if number not in self._streams:
            raise DriverError(Status.INVALID_HANDLE, f"there is no stream {number}")
        return self._streams[number]

    def _event(self, number: int) -> _Event:
        if number not in self._events:
            raise DriverError(Status.INVALID_HANDLE, f"there is no event {number}")
        return self._events[number]

    def _before(self, stream: _Stream) -> tuple[Work, ...]:
        """What new work on this stream waits for and is not done yet."""
        before = [stream.last]
        if stream is self._streams[0]:
            before += [each.last for each in (*self._streams.values(), *self._leaving) if each.blocking]
        elif stream.blocking:
            before.append(self._streams[0].last)
        return tuple(each for each in before if not each.done)

    def _waited_for(self, stream: _Stream) -> tuple[Work, ...]:
        return self._before(stream) if stream is self._streams[0] else (stream.last,)

    def _serve(self, queue: SimpleQueue[Work | None]) -> None:
        while (work := queue.get()) is not None:
            self._wait(work.after)
            self._do(work)

    def _wait(self, those: Iterable[Work]) -> None:
        for work in those:
            if not work.done:
                with self._changed:
                    self._changed.wait_for(lambda work=work: work.done or self._closed)  # type: ignore[misc]

    def _do(self, work: Work) -> None:
        try:
            if not self._closed and (work.always or not self._fault):
                work.action()
        except DriverError as fault:
            self._fault = self._fault or fault
        except Exception as fault:
            told = f"the software GPU failed: {type(fault).__name__}: {fault}"
            self._fault = self._fault or DriverError(Status.UNKNOWN, told)
        work.action, work.after = _no_action, ()  # what they refer to is free now
        with self._changed:
            work.at = time.perf_counter()
            work.done = True
            self._changed.notify_all()


def _no_action() -> None:
    pass


def _nothing() -> Work:
    work = Work(_no_action, ())
    work.done = True
    return work
