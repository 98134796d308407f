"""A lease's life: `queued → granted → running`, and then one of four ends.

    queued     asked for, and nothing found yet
    granted    its shares are chosen and the agents of their hosts are told
    running    the agents of all its hosts have said that its servers answer
    released   by who asked            expired    nobody has renewed it
    reclaimed  idle, or its host drained           lost  a host of it is gone, or has ended it

An end is decided at once and takes effect later: a share is held from the moment in which an agent is told to hold it
until that agent says that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from shoal.pool.request import Request, Share


class LeaseState(StrEnum):
    QUEUED = "queued"
    GRANTED = "granted"
    RUNNING = "running"
    RELEASED = "released"
    EXPIRED = "expired"
    RECLAIMED = "reclaimed"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        return self not in LIVE


LIVE = frozenset((LeaseState.QUEUED, LeaseState.GRANTED, LeaseState.RUNNING))
"""The states of a lease that has not ended, which are also their words in the broker's API."""


class Hold(StrEnum):
    """What is known of a lease on one of its hosts."""

    SENT = "sent"
    """The agent was told, or will be; it has not said so."""

    HELD = "held"
    """The agent has said that it holds it."""

    AWAITED = "awaited"
    """Another agent says that this host should hold it, and this one has not spoken since the broker started."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a tenant asks for: a gang of one or more requests, of which all are placed or none.

    A higher `priority` goes first. `token_hash` stands for the secret that who holds the lease shows.
    """

    id: str
    tenant: str
    requests: tuple[Request, ...]
    priority: int = 0
    token_hash: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """What an agent is told to hold, and keeps: enough to tell it all to a broker that knows nothing."""

    lease: str
    tenant: str
    shares: tuple[Share, ...]
    """All of the lease's, those on other hosts, too."""
    priority: int = 0
    token_hash: str = ""

    @property
    def hosts(self) -> set[str]:
        return {share.host for share in self.shares}


@dataclass(slots=True)
class Lease:
    """A lease as the broker knows it. Times are in seconds, on the broker's clock."""

    id: str
    tenant: str
    priority: int
    token_hash: str
    asked_at: float
    renewed_at: float
    requests: tuple[Request, ...] = ()
    """Unknown, and empty, for one that agents have told of."""
    number: int = 0
    """Its place among all that were asked for."""
    state: LeaseState = LeaseState.QUEUED
    reason: str = ""
    """Why it waits, or why it has ended."""
    notice: str = ""
    """What is to come: that it will be reclaimed, and why."""
    shares: tuple[Share, ...] = ()
    holds: dict[str, Hold] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    """Where the servers answer, by host."""
    idle: dict[str, float] = field(default_factory=dict)
    """For how many seconds nothing was asked of the server, by host."""
    reclaim_at: float | None = None
    ended_at: float | None = None

    @property
    def live(self) -> bool:
        return not self.state.ended

    @property
    def grant(self) -> Grant:
        return Grant(self.id, self.tenant, self.shares, self.priority, self.token_hash)
