"""Logs of a run or a model server as server-sent events, for as long as a browser listens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Protocol

from anyio import CancelScope, CapacityLimiter, to_thread

from shoal.runs import Lines, LogChoice, RunError, Runs
from shoal.web.borrowing import Lender
from shoal.web.live import event

TAIL = 300
"""Lines of each replica that a browser gets at first."""

LONGEST_LINE = 4000
"""Characters; a longer line is cut, lest a browser stand still over it."""

MOST_READERS = 48
"""Each waits in a thread of its own, apart from those that make pages."""


class Writing(Protocol):
    """What writes logs: a run or a model server."""

    def log_lines(self, choice: LogChoice) -> Iterator[Lines]: ...


class LogStreams:
    """`ending` tells whether the server is about to leave; streams end then."""

    def __init__(self, lender: Lender, ending: Callable[[], bool]) -> None:
        self._lender = lender
        self._ending = ending
        self._readers = CapacityLimiter(MOST_READERS)
        self._open = 0

    @property
    def full(self) -> bool:
        return self._open >= MOST_READERS

    async def events(self, find: Callable[[Runs], Writing], replicas: Sequence[str]) -> AsyncIterator[str]:
        """Lines as `[replica, line]` pairs, some at a time; then `end`, or `fault` with why there are no more."""
        self._open += 1
        lines: Iterator[Lines] | None = None
        runs: Runs | None = None
        try:
            runs = await to_thread.run_sync(self._lender.take)
            choice = LogChoice(follow=True, replicas=replicas, tail=TAIL)
            lines = await to_thread.run_sync(_reading, find, runs, choice, limiter=self._readers)
            while not self._ending():
                told = await to_thread.run_sync(next, lines, None, limiter=self._readers)
                if told is None:
                    yield event({}, "end")
                    return
                if told.lines:
                    yield event([[told.replica, line[:LONGEST_LINE]] for line in told.lines])
                elif not told.replica:
                    yield ": nothing new\n\n"  # a browser that has gone is noticed by writing to it
        except RunError as fault:
            yield event({"fault": f"{fault}; {fault.hint}" if fault.hint else str(fault)}, "fault")
        finally:
            # A reader that has gone cancels this, and what waits for the cluster must still be closed in a thread.
            with CancelScope(shield=True):
                if close := getattr(lines, "close", None):
                    await to_thread.run_sync(close)
            if runs is not None:
                self._lender.give_back(runs)
            self._open -= 1


def _reading(find: Callable[[Runs], Writing], runs: Runs, choice: LogChoice) -> Iterator[Lines]:
    return find(runs).log_lines(choice)
