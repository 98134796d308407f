"""The heart of the broker: from what the ledger has been told, what to do now.

`decide` reads no clock and sends nothing. It ends what is overdue, then grants what there is room for; whom it concerns
is in what it answers. Running it twice changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shoal.pool.lease import Hold, Lease, LeaseState
from shoal.pool.ledger import Change, Ledger
from shoal.pool.queue import grant


@dataclass(frozen=True, slots=True)
class Decided:
    """What has changed since the last time: leases by their new states, and the hosts whose agents are to be told.

    At `wake_at` something may be due without any event.
    """

    changes: tuple[Change, ...]
    hosts: frozenset[str]
    wake_at: float


def decide(ledger: Ledger, now: float) -> Decided:
    """Apply every rule to what is known at `now`."""
    if now >= ledger.wake_at:
        ledger.wake_at = math.inf
        ledger.unsettled = True
        _note_silence(ledger, now)
        for lease in list(ledger.leases.values()):
            _end_if_due(ledger, lease, now)
    if ledger.unsettled:
        ledger.unsettled = False
        grant(ledger, now)
    decided = Decided(tuple(ledger.changes), frozenset(ledger.stirred), ledger.wake_at)
    ledger.changes, ledger.stirred = [], set()
    return decided


class Settling(Exception):
    """What agents have yet to tell may be what is asked for."""


def settling(ledger: Ledger, now: float) -> bool:
    """Whether agents may have leases that they had no time yet to tell of."""
    return now < ledger.started_at + ledger.terms.silence


def asked_before(ledger: Ledger, tenant: str, token_hash: str, now: float) -> Lease | None:
    """The lease that there is for this token, renewed: who lost an answer asks again, and takes nothing twice. Raises
    Settling while that cannot be known."""
    lease = ledger.of_token(tenant, token_hash)
    if lease is not None and lease.live:
        ledger.renew(lease, now)
        return lease
    if settling(ledger, now):
        raise Settling
    return None


def _note_silence(ledger: Ledger, now: float) -> None:
    for name, host in list(ledger.hosts.items()):
        removed_at, silent_at = host.heard_at + ledger.terms.memory, host.heard_at + ledger.terms.silence
        if now >= removed_at:
            ledger.remove(name, now)
            continue
        if now >= silent_at and not host.silent:
            ledger.silence(name)
        ledger.due(removed_at if host.silent else silent_at)


def _end_if_due(ledger: Ledger, lease: Lease, now: float) -> None:
    terms = ledger.terms
    if not lease.live:
        _forget_if_due(ledger, lease, now)
        return
    expires_at = lease.renewed_at + terms.renewal
    if now >= expires_at:
        ledger.end(lease, LeaseState.EXPIRED, f"not renewed for {terms.renewal:g} s", now)
        return
    ledger.due(expires_at)
    for host in sorted(lease.holds):
        lost_at = ledger.heard_at(host) + terms.loss
        if now >= lost_at:
            ledger.end(lease, LeaseState.LOST, f"nothing was heard of {host} for {terms.loss:g} s", now)
            return
        ledger.due(lost_at)
    if terms.idle is not None and lease.state is LeaseState.RUNNING:
        _reclaim_if_idle(ledger, lease, terms.idle, now)


def _reclaim_if_idle(ledger: Ledger, lease: Lease, limit: float, now: float) -> None:
    """Notice first: who has it and says nothing for so long once more loses it."""
    idle = min(lease.idle.values())
    if idle < limit:
        lease.reclaim_at, lease.notice = None, ""
    elif lease.reclaim_at is None:
        lease.reclaim_at = now + ledger.terms.notice
        lease.notice = f"idle for {idle:.0f} s; it is reclaimed in {ledger.terms.notice:g} s unless it is used"
        ledger.due(lease.reclaim_at)
    elif now >= lease.reclaim_at:
        ledger.end(lease, LeaseState.RECLAIMED, f"idle for {idle:.0f} s", now)
    else:
        ledger.due(lease.reclaim_at)


def _forget_if_due(ledger: Ledger, lease: Lease, now: float) -> None:
    """An ended lease is known for a while, and for as long as an agent may hold it."""
    forgotten_at = (lease.ended_at or now) + ledger.terms.memory
    if now < forgotten_at:
        ledger.due(forgotten_at)
    elif not lease.holds or all(hold is Hold.AWAITED for hold in lease.holds.values()):
        ledger.forget(lease)
