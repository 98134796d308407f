"""One process that asks: a loop over its connections, a clock and a schedule."""

from __future__ import annotations

import gc
import math
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from shoal.bench.load.http1 import Http1
from shoal.bench.load.http2 import Http2
from shoal.bench.load.schedule import Arrivals, Closed, Open, Schedule
from shoal.bench.load.tally import Counts, Tally
from shoal.bench.load.target import Target
from shoal.bench.load.wire import Broken, Wire, resolve

TICK = 0.05
"""Seconds between looks at what is late."""

EARLY = 0.00006
"""A timer may be as late as this (Linux's timer slack is 50 µs), so the loop wakes up before and looks again."""

OPENING_PAUSE = 0.1
"""Seconds before a connection that could not be opened is tried again."""

LATE = 0.001
"""A request of an open loop that is sent so many seconds after it was due has waited for a connection."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one of `of` processes does. `in_flight` requests are under way at most over `connections`; `rate` is that of
    all processes together, None for a closed loop; times are in seconds."""

    target: Target
    in_flight: int
    connections: int
    duration: float
    warmup: float
    timeout: float
    rate: float | None = None
    arrivals: Arrivals = Arrivals.CONSTANT
    part: int = 0
    of: int = 1

    def schedule(self, begin: float) -> Schedule:
        """Of the requests from `begin` on, the warm-up's first."""
        end = begin + self.warmup + self.duration
        if self.rate is None:
            return Closed(begin, end)
        return Open(begin, end, self.rate, self.arrivals, self.part, self.of)


class Usage(NamedTuple):
    """What an engine has done so far: the seconds in which it waited, and bytes."""

    idle: float
    sent: int
    received: int


class Engine:
    """Opens connections, then asks."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._address = resolve(plan.target)
        self._poll = select.epoll()
        self._wires: dict[int, Wire] = {}
        """Connections by file descriptor."""
        self._shares: dict[Wire, int] = {}
        """How many requests at once are wanted of each."""
        self._ready: set[Wire] = set()
        """Those that have been open."""
        self._free: deque[Wire] = deque()
        """Connections that can take a request, once for each that they can take."""
        self._reopen: deque[tuple[float, int]] = deque()
        """When to try again to open a connection, and for how many requests at once."""
        self._dirty: set[Wire] = set()
        self._sent_before = self._received_before = 0
        self._idle = 0.0
        self._stopped = False
        self._tally = Tally(0, 1)

    def connect(self, seconds: float = 10) -> None:
        """Open all connections. Raises Broken where one cannot be opened."""
        share, rest = divmod(self._plan.in_flight, self._plan.connections)
        for i in range(self._plan.connections):
            self._add(share + (i < rest))
        deadline = time.monotonic() + seconds
        while len(self._ready) < len(self._wires):
            if time.monotonic() > deadline:
                raise Broken(f"no connection within {seconds:g} s")
            for fd, _ in self._poll.poll(TICK):
                wire = self._wires[fd]
                wire.step()
                self._welcome(wire)

    def run(self, begin: float, alive: Callable[[], bool] = lambda: True) -> Counts:
        """Ask from `begin` on, a time of the monotonic clock. It ends early where `alive` no longer holds, and tells
        what was counted so far."""
        plan, clock = self._plan, time.monotonic
        schedule = plan.schedule(begin)
        measured = begin + plan.warmup
        end = measured + plan.duration
        self._tally = Tally(measured, plan.duration)
        gc.disable()  # nothing here is cyclic, and a collection would look like the server's pause
        before: Usage | None = None
        after: Usage | None = None
        next_look = begin
        try:
            while True:
                now = clock()
                if before is None and now >= measured:
                    before = self._usage()
                if self._stopped or now >= end:
                    after = after or self._usage()
                    end = min(end, now)
                    if self._stopped or now >= end + plan.timeout or not self._waiting():
                        break
                if now >= next_look:
                    next_look = now + TICK
                    self._look(now)
                    self._stopped |= not alive()
                if now < end:
                    self._offer(schedule, now)
                self._flush()
                for fd, _ in self._events(schedule, now):
                    if fd in self._wires:
                        self._step(self._wires[fd], schedule, end)
        finally:
            gc.enable()
        return self._close(schedule, end, before, after)

    def _waiting(self) -> bool:
        """Whether a request is under way."""
        return any(wire.pending() for wire in self._shares)

    def _close(
        self,
        schedule: Schedule,
        end: float,
        before: Usage | None,
        after: Usage | None,
    ) -> Counts:
        """Count what had no answer at the end, close all connections, and tell what was counted."""
        now = time.monotonic()
        for wire in list(self._shares):
            for due, _ in wire.pending():
                if self._stopped:
                    self._tally.waited(due, now)
                else:
                    self._tally.unanswered(due, now, "timeout")
            self._drop(wire)
        self._poll.close()
        for due in schedule.left(end):
            self._tally.unanswered(due, now, "never sent", "every connection was busy")
        counts = self._tally.close(end)
        if before and after and counts.seconds:
            counts.busy = 1 - (after.idle - before.idle) / counts.seconds
            counts.sent_bytes, counts.received_bytes = after.sent - before.sent, after.received - before.received
        return counts

    def _usage(self) -> Usage:
        sent = sum(wire.sent_bytes for wire in self._shares)
        received = sum(wire.received_bytes for wire in self._shares)
        return Usage(self._idle, self._sent_before + sent, self._received_before + received)

    def _events(self, schedule: Schedule, now: float) -> list[tuple[int, int]]:
        """Wait for an answer, or until a request is due that a connection is free for."""
        wait = TICK
        began = time.monotonic()
        if self._free and (due := schedule.next_due(now)) < math.inf:
            wait = min(TICK, due - began - EARLY)
            if wait > 0:  # epoll counts in milliseconds, select in microseconds
                select.select([self._poll], [], [], wait)
            wait = 0
        found = self._poll.poll(wait)
        self._idle += time.monotonic() - began
        return found

    def _step(self, wire: Wire, schedule: Schedule, end: float) -> None:
        try:
            answers = wire.step()
        except Broken as fault:
            self._broken(wire, str(fault))
            return
        now = time.monotonic()
        for due, kind, message in answers:
            if kind:
                self._tally.failed(due, kind, message)
            else:
                self._tally.answered(due, now)
            self._free.append(wire)
        self._welcome(wire)
        if not wire.open and wire in self._ready and not wire.pending():
            self._replace(wire, now)
        if self._free and now < end:
            self._offer(schedule, now)
            self._flush()

    def _offer(self, schedule: Schedule, now: float) -> None:
        """Hand what is due to connections that are free."""
        free = self._free
        while free:
            wire = free[0]
            if not wire.open:
                free.popleft()
                continue
            due = schedule.take(now)
            if due is None:
                return
            free.popleft()
            if now - due > LATE:
                self._tally.queued(due)
            wire.send(due, now)
            self._dirty.add(wire)

    def _flush(self) -> None:
        while self._dirty:
            wire = self._dirty.pop()
            try:
                wire.flush()
            except Broken as fault:
                self._broken(wire, str(fault))

    def _look(self, now: float) -> None:
        """Give up what is late, and open again what could not be opened."""
        for wire in list(self._shares):
            try:
                for due in wire.give_up(now - self._plan.timeout):
                    self._tally.unanswered(due, now, "timeout")
                    self._free.append(wire)
            except Broken as fault:
                self._broken(wire, str(fault))
        while self._reopen and self._reopen[0][0] <= now:
            self._open_again(self._reopen.popleft()[1], now)

    def _broken(self, wire: Wire, kind: str) -> None:
        """Count what was under way on a connection as failed, and open another. One that was never open counts as one
        failure; one that the server closed while it was idle counts as none."""
        now = time.monotonic()
        for due, _ in wire.pending():
            if kind == "timeout":
                self._tally.unanswered(due, now, kind)
            else:
                self._tally.failed(due, kind)
        if wire in self._ready:
            self._replace(wire, now)
        else:
            self._tally.failed(now, kind)
            self._reopen.append((now + OPENING_PAUSE, self._drop(wire)))

    def _replace(self, wire: Wire, now: float) -> None:
        self._open_again(self._drop(wire), now)

    def _open_again(self, share: int, now: float) -> None:
        try:
            self._add(share)
        except Broken as fault:
            self._tally.failed(now, str(fault))
            self._reopen.append((now + OPENING_PAUSE, share))

    def _add(self, share: int) -> None:
        target = self._plan.target
        wire: Wire
        if target.grpc:
            wire = Http2(target, self._address, self._poll, share)
        else:
            wire = Http1(target, self._address, self._poll)
        self._wires[wire.fd] = wire
        self._shares[wire] = share

    def _welcome(self, wire: Wire) -> None:
        """Use a connection from the moment on that it is open."""
        if wire.open and wire not in self._ready:
            self._ready.add(wire)
            self._free.extend([wire] * wire.slots)

    def _drop(self, wire: Wire) -> int:
        """Close a connection, and tell how many requests at once were wanted of it."""
        self._sent_before += wire.sent_bytes
        self._received_before += wire.received_bytes
        self._wires.pop(wire.fd, None)
        self._ready.discard(wire)
        self._dirty.discard(wire)
        wire.close()
        return self._shares.pop(wire)
