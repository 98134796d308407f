"""Pages that keep up to date: each is made of fragments, and a browser is sent those that have changed.

A fragment is a piece of HTML with an id. All browsers that have the same page open share one look at the runs. A page
says which version it was made of, so its first event brings what has changed since, and never the whole page again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

from anyio import to_thread

from shoal.runs import RunError

LOOK_SECONDS = 1.0
"""How often a page that somebody looks at is made anew, at most."""

COST = 8
"""A look that takes long is followed by a pause so many times as long."""

PATIENCE_SECONDS = 15.0
"""After so long without a change, browsers are told that nothing has changed: they notice when we are gone."""

MOST_PAGES = 64
"""Pages that are remembered; the one looked at least recently is forgotten."""

Fragments = Mapping[str, str]


@dataclass
class Page:
    """A page that is made by `make`, in a thread. Fragments keep the order in which they were made."""

    make: Callable[[], Fragments]
    version: int = 0
    fragments: dict[str, tuple[int, str]] = field(default_factory=dict)
    fault: str = ""
    pause: float = LOOK_SECONDS
    _moved: int = 0
    _looked_at: float = -1e9
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def look(self, newest: bool = False) -> None:
        """Make it anew where that is due, or has `newest` to be. Raises RunError where it has never been made;
        later, `fault` says why it could not be made."""
        asked_at = time.monotonic()
        async with self._lock:
            due = self._looked_at if newest else self._looked_at + self.pause
            if asked_at < due:
                return
            began = time.monotonic()
            try:
                made = await to_thread.run_sync(self.make)
            except RunError as fault:
                if not self.version:
                    raise
                self.fault = f"{fault}; {fault.hint}" if fault.hint else str(fault)
            else:
                self._take(made)
            self._looked_at = time.monotonic()
            self.pause = max(LOOK_SECONDS, COST * (self._looked_at - began))

    def _take(self, made: Fragments) -> None:
        self.fault = ""
        version = self.version + 1
        taken = {}
        for id, html in made.items():
            before = self.fragments.get(id)
            taken[id] = before if before and before[1] == html else (version, html)
        if list(taken) != list(self.fragments):
            self._moved = version
        if self._moved == version or any(since == version for since, _ in taken.values()):
            self.version = version
        self.fragments = taken

    def news(self, since: int) -> dict[str, object]:
        """What a browser that has the version `since` must change to have this one."""
        told: dict[str, object] = {"version": self.version, "fault": self.fault}
        told["fragments"] = {id: html for id, (version, html) in self.fragments.items() if version > since}
        if self._moved > since:
            told["order"] = list(self.fragments)
        return told


class Pages:
    """The pages that somebody has open, or had lately."""

    def __init__(self, ending: Callable[[], bool]) -> None:
        """`ending` tells whether the server is about to leave; events end then."""
        self.ending = ending
        self._pages: OrderedDict[str, Page] = OrderedDict()

    def page(self, key: str, make: Callable[[], Fragments]) -> Page:
        page = self._pages.setdefault(key, Page(make))
        self._pages.move_to_end(key)
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)
        return page

    async def events(self, page: Page, since: int) -> AsyncIterator[str]:
        """Server-sent events: what has changed since that version, whenever something has."""
        told_fault, told_at = "", time.monotonic()
        while not self.ending():
            try:
                await page.look()
            except RunError as fault:
                yield event({"version": since, "fault": str(fault), "fragments": {}})
                return
            now = time.monotonic()
            if page.version > since or page.fault != told_fault:
                yield event(page.news(since))
                since, told_fault, told_at = page.version, page.fault, now
            elif now - told_at > PATIENCE_SECONDS:
                yield ": nothing new\n\n"
                told_at = now
            await self.sleep(page.pause)

    async def sleep(self, seconds: float) -> None:
        """Less, where the server is about to leave."""
        deadline = time.monotonic() + seconds
        while not self.ending() and (left := deadline - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.5))


def event(data: object, name: str = "") -> str:
    """One server-sent event with JSON as its data."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n"
