"""What an agent and the broker say to each other. Each message is the whole truth of its sender, so that one that is
lost or repeated does no harm; sessions and numbers see to it that one that comes late does none either.

A report counts if it carries the session that the broker has given this agent since both started, and a number above
the last. To any other the broker answers with a new session and nothing else. An agent has one report on its way, and
heeds no answer but that one's.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.pool.inventory import GPU
from shoal.pool.lease import Grant


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that an agent holds. Until it is no more in a report its server may run."""

    grant: Grant
    address: str = ""
    """Where its server answers; empty while it starts or ends."""
    idle_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """All that an agent holds and has. `drained` is what it was told last, kept for a broker that has forgotten."""

    host: str
    session: str
    number: int
    gpus: tuple[GPU, ...]
    held: tuple[Held, ...] = ()
    drained: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """`grants` is all that this host is to hold: what is missing is to be ended. None says nothing about leases, and
    the next report is to carry `session`."""

    number: int
    session: str
    grants: tuple[Grant, ...] | None = None
    drained: bool = False
