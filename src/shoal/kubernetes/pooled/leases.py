"""The leases that are asked for in one name at the broker, and kept by one request for all of them.

The request is answered as soon as there are news. What is known here may be lost at any time, and is found again.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import structlog

from shoal.kubernetes.operator.caches import JobKey
from shoal.kubernetes.pooled.broker import (
    MOST_RENEWED,
    WAIT_SECONDS,
    Broker,
    BrokerAway,
    BrokerRefused,
    Lease,
    hashed,
)
from shoal.kubernetes.pooled.telling import Word

GATHER_SECONDS = 0.2
"""News are gathered for so long, which bounds how often the broker is asked."""

RETRY_SECONDS = {403: 30.0, 422: 30.0, 429: 10.0}
"""When one that was refused is asked for again: quotas change, and annotations do."""

OTHERWISE_SECONDS = 10.0
AWAY_SECONDS = 1.0
"""Nobody asks for so long once no broker has answered: each that waits would wait for its time to connect."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Kept:
    """What is known of a unit's lease."""

    token: str
    job: JobKey | None = None
    looked: bool = False
    """Whether the broker has said if there is a lease."""
    lease: Lease | None = None
    retry_at: float = 0.0
    problem: Word | None = None

    @property
    def live(self) -> Lease | None:
        return self.lease if self.lease and self.lease.live else None


class Leases:
    """Of units, by their keys. Asked for with the token `bearer`; `news` is set when there are some."""

    def __init__(self, broker: Broker, bearer: str, news: asyncio.Event) -> None:
        self.bearer = bearer
        self.kept: dict[str, Kept] = {}
        self.away: Word | None = None
        self._broker = broker
        self._news = news
        self._others = asyncio.Event()
        self._ask_from = 0.0

    def remember(self, key: str, job: JobKey | None, looked: bool) -> None:
        """Keep what there is for this unit; `looked` where asking will tell."""
        self.kept[key] = Kept(self._broker.lease_token(key), job, looked)
        self._others.set()

    async def ask(self, key: str, requests: list[dict[str, Any]], priority: int) -> None:
        """Unless it has been refused lately. What becomes of it is in `kept`."""
        kept, now = self.kept[key], time.monotonic()
        if now < max(kept.retry_at, self._ask_from):
            return
        try:
            kept.lease = await self._broker.ask(self.bearer, kept.token, requests, priority)
        except BrokerAway as fault:
            self._note_away(fault)
        except BrokerRefused as fault:
            self.away = None
            kept.problem = Word("GPUsRefused", str(fault), warning=True)
            kept.retry_at = now + RETRY_SECONDS.get(fault.code, OTHERWISE_SECONDS)
        else:
            self.away, kept.problem = None, None
            self._others.set()

    async def release(self, key: str) -> None:
        """Give back what this unit has. What cannot be said to the broker now, it finds out when nobody renews."""
        kept = self.kept.pop(key)
        if kept.live is None or time.monotonic() < self._ask_from:
            return
        log.info("giving GPUs back", lease=kept.live.id)
        try:
            await self._broker.release(self.bearer, kept.live.id)
        except BrokerAway as fault:
            self._note_away(fault)
        except BrokerRefused as fault:
            log.info("a lease will expire", lease=kept.live.id, fault=str(fault))

    async def keep(self) -> None:
        """Renew all, and hear of them, for ever."""
        while True:
            self._others.clear()
            renewing: asyncio.Task[Any] = asyncio.create_task(self._renew())
            changed: asyncio.Task[Any] = asyncio.create_task(self._others.wait())
            try:
                await asyncio.wait((renewing, changed), return_when=asyncio.FIRST_COMPLETED)
                if renewing.done():
                    renewing.result()
            finally:
                renewing.cancel()
                changed.cancel()
                await asyncio.wait((renewing, changed))
            await asyncio.sleep(GATHER_SECONDS)

    async def _renew(self) -> None:
        by_hash = {hashed(kept.token): key for key, kept in self.kept.items() if kept.live or not kept.looked}
        if not by_hash:
            await self._others.wait()
            return
        parts = [by_hash] if len(by_hash) <= MOST_RENEWED else _parts(by_hash)
        for part in parts:
            # Given back meanwhile, while another part was asked for.
            there = {hash: self.kept[key] for hash, key in part.items() if key in self.kept}
            known = {hash: kept.lease.state if kept.lease else None for hash, kept in there.items()}
            try:
                # Of several parts none may keep the others waiting.
                renewed = await self._broker.renew(self.bearer, known, WAIT_SECONDS if len(parts) == 1 else 0.0)
            except (BrokerAway, BrokerRefused) as fault:
                self._note_away(fault)
                await asyncio.sleep(AWAY_SECONDS)
                return
            self.away = None
            for hash, lease in renewed.leases.items():
                self._note(part[hash], lease)
            if not renewed.settling:
                for hash in renewed.unknown:
                    self._note(part[hash], None)
        if len(parts) > 1:
            await asyncio.sleep(1.0)

    def _note(self, key: str, lease: Lease | None) -> None:
        kept = self.kept.get(key)
        if kept is None:
            return
        if not kept.looked or kept.lease != lease:
            self._news.set()
        kept.looked, kept.lease = True, lease

    def _note_away(self, fault: Exception) -> None:
        if self.away is None:
            log.warning("the pool cannot be asked", broker=self._broker.url, fault=str(fault))
            self._news.set()
        self.away = Word("PoolUnreachable", str(fault), warning=True)
        self._ask_from = time.monotonic() + AWAY_SECONDS


def _parts(by_hash: dict[str, str]) -> list[dict[str, str]]:
    items = list(by_hash.items())
    return [dict(items[i : i + MOST_RENEWED]) for i in range(0, len(items), MOST_RENEWED)]
