"""Several engines at once, each in a process of its own, since one Python process uses one processor."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from shoal.bench.load.engine import Engine, Plan
from shoal.bench.load.tally import Counts, together
from shoal.bench.load.wire import Broken
from shoal.bench.options import OptionError

LEAD = 0.05
"""Seconds from the word that all may start until they do."""

GRACE = 30
"""Seconds that a process gets beyond its plan to start, and to tell what it found."""


class Load:
    """The processes of one load. `stop`, which a signal's handler may call, ends it early."""

    def __init__(self, plan: Plan) -> None:
        self._plans = [_part(plan, i) for i in range(plan.of)]
        self._processes: list[Any] = []
        self._pipes: list[Connection[Any, Any]] = []
        self._begun = False

    def run(self, begun: Callable[[], None] = lambda: None) -> Counts:
        """Ask, and tell what all processes counted; `begun` is called when they begin. Raises OptionError where the
        server takes no connection."""
        try:
            for plan in self._plans:
                self._start(plan)
            for fault in self._hear(GRACE):
                if fault is not None:
                    where = self._plans[0].target.authority
                    raise OptionError(f"{where}: {fault}", "look whether the server is there and takes so many")
            begin = time.monotonic() + LEAD
            for pipe in self._pipes:
                pipe.send(begin)
            self._begun = True
            begun()
            plan = self._plans[0]
            return together(self._hear(plan.warmup + plan.duration + plan.timeout + GRACE))
        finally:
            for process in self._processes:
                process.terminate()
                process.join()

    def stop(self) -> None:
        """End it now; `run` tells what was found so far. Raises KeyboardInterrupt where it has not begun."""
        if not self._begun:
            raise KeyboardInterrupt
        for pipe in self._pipes:
            with suppress(OSError):  # it has ended by itself
                pipe.send(None)

    def _start(self, plan: Plan) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would take locks of gRPC's threads along
        ours, theirs = context.Pipe()
        process = context.Process(target=_ask, args=(plan, theirs), daemon=True)
        # A terminal interrupts all of its processes; these are told by us, and inherit that they ignore it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        theirs.close()
        self._processes.append(process)
        self._pipes.append(ours)

    def _hear(self, seconds: float) -> list[Any]:
        """What each process says next."""
        deadline = time.monotonic() + seconds
        said = []
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            try:
                if not pipe.poll(max(0, deadline - time.monotonic())):
                    raise OptionError("a process of the load generator says nothing any more")
                said.append(pipe.recv())
            except (EOFError, ConnectionResetError):
                process.join()
                raise OptionError(f"a process of the load generator has ended, exit code {process.exitcode}") from None
        return said


def _part(plan: Plan, part: int) -> Plan:
    """The share of one process: its requests at once, and its connections."""

    def share(whole: int) -> int:
        return whole // plan.of + (part < whole % plan.of)

    in_flight = share(plan.in_flight)
    return replace(plan, in_flight=in_flight, connections=min(in_flight, max(1, share(plan.connections))), part=part)


def _ask(plan: Plan, pipe: Connection[Any, Any]) -> None:
    """A process of its own: say None when connected, or what was wrong; hear when to begin; say the counts. Whatever is
    heard after that ends the load, the parent's death too."""
    try:
        engine = Engine(plan)
        engine.connect()
    except (Broken, OSError) as fault:
        pipe.send(str(getattr(fault, "strerror", None) or fault).lower())
        return
    pipe.send(None)
    with suppress(EOFError, BrokenPipeError):
        pipe.send(engine.run(pipe.recv(), alive=lambda: not pipe.poll()))
