"""Order, waiting and faults of streams and events, with work that the tests hold up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event, Timer

import pytest

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.soft.streams import NO_TIMING, NON_BLOCKING, Streams

SECONDS = 10


@pytest.fixture
def streams() -> Iterator[Streams]:
    made = Streams()
    yield made
    made.close()


class Gate:
    """Work that goes on when it is opened, and says that it has begun."""

    def __init__(self) -> None:
        self.begun, self.opened = Event(), Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.opened.wait(SECONDS)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


def refused(status: int, call: Callable[..., object], *given: object) -> str:
    with pytest.raises(DriverError) as fault:
        call(*given)
    assert fault.value.status == status
    return str(fault.value)


def test_work_of_a_stream_is_done_in_order_and_later(streams: Streams, gate: Gate) -> None:
    done: list[int] = []
    stream = streams.create()
    streams.submit(stream, gate)
    for number in range(20):
        streams.submit(stream, lambda number=number: done.append(number), soon=number % 2 == 0)  # type: ignore[misc]
    assert done == []
    assert not streams.done(stream)
    gate.opened.set()
    streams.synchronize(stream)
    assert done == list(range(20))
    assert streams.done(stream)


def test_what_need_not_wait_is_done_at_once(streams: Streams) -> None:
    done: list[int] = []
    streams.submit(0, lambda: done.append(1), soon=True)
    assert done == [1]


@pytest.mark.parametrize(("flags", "waits"), [(0, True), (NON_BLOCKING, False)])
def test_the_default_stream_waits_for_streams_that_block(flags: int, waits: bool, streams: Streams, gate: Gate) -> None:
    stream = streams.create(flags)
    streams.submit(stream, gate)
    assert streams.done(0) is not waits
    after = streams.submit(0, lambda: None)
    if not waits:
        streams.wait(after)
        return
    time.sleep(0.05)
    assert not after.done
    gate.opened.set()
    streams.wait(after)


@pytest.mark.parametrize(("flags", "waits"), [(0, True), (NON_BLOCKING, False)])
def test_streams_that_block_wait_for_the_default_stream(flags: int, waits: bool, streams: Streams, gate: Gate) -> None:
    stream = streams.create(flags)
    streams.submit(0, gate)
    after = streams.submit(stream, lambda: None)
    if not waits:
        streams.wait(after)
        return
    time.sleep(0.05)
    assert not after.done
    gate.opened.set()
    streams.wait(after)


def test_streams_do_not_wait_for_one_another(streams: Streams, gate: Gate) -> None:
    first, second = streams.create(), streams.create()
    streams.submit(first, gate)
    streams.wait(streams.submit(second, lambda: None))
    assert not streams.done(first)
    assert streams.done(second)


def test_a_destroyed_stream_does_what_it_was_asked_for_and_the_default_stream_waits_for_it(
    streams: Streams, gate: Gate
) -> None:
    done: list[int] = []
    stream = streams.create()
    streams.submit(stream, gate)
    streams.submit(stream, lambda: done.append(1))
    streams.destroy(stream)
    refused(Status.INVALID_HANDLE, streams.submit, stream, lambda: None)
    assert not streams.done(0)
    gate.opened.set()
    streams.synchronize()
    assert done == [1]


def test_a_stream_waits_for_an_event_as_it_was_recorded(streams: Streams, gate: Gate) -> None:
    first, second = streams.create(NON_BLOCKING), streams.create(NON_BLOCKING)
    event = streams.create_event()
    assert streams.event_done(event)
    streams.wait_event(second, event)  # it was never recorded
    streams.synchronize(second)
    streams.submit(first, gate)
    streams.record(event, first)
    streams.wait_event(second, event)
    streams.record(event, second)  # what is waited for stays what it was
    after = streams.submit(second, lambda: None)
    assert not streams.event_done(event)
    time.sleep(0.05)
    assert not after.done
    gate.opened.set()
    streams.pending_event(event).wait()
    streams.wait(after)
    assert streams.event_done(event)


def test_time_between_events(streams: Streams, gate: Gate) -> None:
    stream = streams.create()
    start, end, never, untimed = (streams.create_event(flags) for flags in (0, 0, 0, NO_TIMING))
    streams.record(start, stream)
    streams.record(untimed, stream)
    streams.submit(stream, gate)
    streams.record(end, stream)
    refused(Status.NOT_READY, streams.elapsed, start, end)
    time.sleep(0.05)
    gate.opened.set()
    streams.synchronize(stream)
    assert 50 <= streams.elapsed(start, end) < 5000
    assert streams.elapsed(end, start) == -streams.elapsed(start, end)
    for other in (never, untimed):
        refused(Status.INVALID_HANDLE, streams.elapsed, start, other)


def test_handles_that_are_none_are_refused_and_numbers_come_once(streams: Streams) -> None:
    stream, event = streams.create(), streams.create_event()
    streams.destroy(stream)
    streams.destroy_event(event)
    assert streams.create() > event > stream > 0
    for call, given in (
        (streams.destroy, (stream,)),
        (streams.destroy, (0,)),
        (streams.synchronize, (stream,)),
        (streams.done, (event,)),
        (streams.destroy_event, (event,)),
        (streams.record, (event, 0)),
        (streams.wait_event, (99, streams.create_event())),
        (streams.event_done, (event,)),
    ):
        refused(Status.INVALID_HANDLE, call, *given)
    refused(Status.INVALID_VALUE, streams.create, 4)


def test_a_fault_is_raised_by_every_later_call_and_nothing_more_is_done(streams: Streams) -> None:
    done: list[int] = []

    def fail() -> None:
        raise DriverError(Status.ILLEGAL_ADDRESS, "there")

    stream, event = streams.create(), streams.create_event()
    streams.submit(stream, fail)
    work = streams.submit(stream, lambda: done.append(1))
    assert refused(Status.ILLEGAL_ADDRESS, streams.wait, work) == "there"
    for call, given in (
        (streams.synchronize, ()),
        (streams.submit, (0, lambda: None)),
        (streams.create, ()),
        (streams.destroy, (stream,)),
        (streams.done, (stream,)),
        (streams.event_done, (event,)),
        (streams.record, (event, 0)),
    ):
        assert refused(Status.ILLEGAL_ADDRESS, call, *given) == "there"
    assert done == []


def test_what_fails_in_a_way_of_its_own_is_a_fault_too(streams: Streams) -> None:
    work = streams.submit(streams.create(), lambda: [][0])
    assert "IndexError" in refused(Status.UNKNOWN, streams.wait, work)


def test_close_waits_for_what_is_being_done_and_does_nothing_more(streams: Streams, gate: Gate) -> None:
    done: list[int] = []
    stream = streams.create()
    streams.submit(stream, gate)
    streams.submit(stream, lambda: done.append(1))
    assert gate.begun.wait(SECONDS)
    later = Timer(0.1, gate.opened.set)
    later.start()
    assert streams.close()
    refused(Status.INVALID_CONTEXT, streams.synchronize)
    refused(Status.INVALID_CONTEXT, streams.submit, 0, lambda: done.append(1))
    assert done == []
    later.join()


def test_after_a_fault_only_what_is_to_be_done_always_is_done(streams: Streams, gate: Gate) -> None:
    done: list[object] = []

    def fail() -> None:
        raise DriverError(Status.LAUNCH_FAILED, "a trap")

    stream = streams.create()
    streams.submit(stream, gate)
    streams.submit(stream, fail)
    streams.submit(stream, lambda: done.append("work"))
    last = streams.submit(stream, lambda: done.append(streams.fault_status()), always=True)
    gate.opened.set()
    refused(Status.LAUNCH_FAILED, streams.wait, last)
    after = streams.submit(stream, lambda: done.append("after"), always=True)
    refused(Status.LAUNCH_FAILED, streams.wait, after)
    assert done == [Status.LAUNCH_FAILED, "after"]
    streams.close()
    closed = streams.submit(stream, lambda: done.append("closed"), always=True)
    time.sleep(0.05)
    assert not closed.done or "closed" not in done
