"""What the broker knows: hosts, leases, and which shares are held. Observations go in here; `decide` draws conclusions.

Truth lives with the agents. A ledger starts empty, and a host takes nothing before its agent has told what it holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from shoal.pool.inventory import GPU, Host, Inventory
from shoal.pool.lease import Ask, Grant, Hold, Lease, LeaseState
from shoal.pool.quota import UNLIMITED, Amount, Quota, least
from shoal.pool.report import Answer, Held, Report
from shoal.pool.request import WHOLE, Placement, Request, Share


class Refused(ValueError):
    """An ask that can never be granted, and why."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The times of a pool, in seconds."""

    renewal: float = 30.0
    """A lease, queued or not, that nobody renews for so long expires."""
    silence: float = 20.0
    """A host unheard for so long takes nothing new."""
    loss: float = 120.0
    """The leases of a host unheard for so long are lost."""
    aging: float = 300.0
    """Waiting for so long counts as one priority more."""
    patience: float = 60.0
    """The first of the queue lets others pass for so long; then GPUs that it could use are kept for it."""
    idle: float | None = None
    """A lease of which nothing was asked for so long gets notice. None: never."""
    notice: float = 60.0
    """From notice to reclaim."""
    memory: float = 600.0
    """For so long an ended lease can be asked about, and a host unheard is remembered. Longer than `loss`."""


@dataclass(slots=True)
class KnownHost:
    """A host whose agent has spoken."""

    gpus: tuple[GPU, ...]
    heard_at: float
    drained: bool = False
    silent: bool = False
    amiss: set[str] = field(default_factory=set)
    """Leases that it holds and that do not fit: until they are gone it takes nothing."""

    @property
    def taking(self) -> bool:
        return not (self.drained or self.silent or self.amiss)


@dataclass(frozen=True, slots=True)
class Change:
    """A lease that is new or in another state than before."""

    lease: str
    tenant: str
    state: LeaseState
    reason: str = ""


@dataclass(slots=True)
class _Session:
    current: str = ""
    offered: str = ""
    number: int = 0


class Ledger:
    """`name` tells this broker's life from every other: sessions are called by it. `now` is in seconds, everywhere."""

    def __init__(self, name: str, now: float, terms: Terms, quotas: Mapping[str, Quota]) -> None:
        self.terms = terms
        self.quotas = dict(quotas)
        self.started_at = now
        self.hosts: dict[str, KnownHost] = {}
        self.leases: dict[str, Lease] = {}
        self.used: defaultdict[str, Amount] = defaultdict(Amount)
        """What each tenant holds, leases that end included."""
        self.queue: dict[tuple[str, int, tuple[Request, ...]], dict[int, Lease]] = {}
        """Who waits, by number: those that are alike in tenant, priority and requests together."""
        self.waiting: Counter[str] = Counter()
        """How many leases of each tenant."""
        self.changes: list[Change] = []
        self.stirred: set[str] = set()
        """Hosts that are to be told something else than before."""
        self.unsettled = True
        """Whether something has changed by which one that waits may find room."""
        self.wake_at = now
        """Until then nothing is due by time alone."""
        self._name = name
        self._sessions: dict[str, _Session] = {}
        self._offers = 0
        self._asked = 0
        self._on: defaultdict[str, set[str]] = defaultdict(set)
        self._taken: Counter[tuple[str, int]] = Counter()
        self._by_token: dict[tuple[str, str], Lease] = {}
        self._inventory: Inventory | None = None
        self._empty: Inventory | None = None

    # What clients do

    def ask(self, ask: Ask, now: float) -> Lease:
        """Queue it. Raises Refused for what its tenant's quota never allows."""
        beyond = self.quota(ask.tenant).exceeded(least(ask.requests))
        if beyond:
            raise Refused(f"tenant {ask.tenant} asks for {beyond}")
        self._asked += 1
        lease = Lease(ask.id, ask.tenant, ask.priority, ask.token_hash, now, now, ask.requests, self._asked)
        self.leases[ask.id] = self._by_token[ask.tenant, ask.token_hash] = lease
        self.queue.setdefault(_kind(lease), {})[lease.number] = lease
        self.waiting[lease.tenant] += 1
        self._turn(lease, LeaseState.QUEUED)
        self.unsettled = True
        self.due(now + self.terms.renewal)
        return lease

    def of_token(self, tenant: str, token_hash: str) -> Lease | None:
        """The tenant's lease with this token; of several one that lives, or else the last that is remembered."""
        return self._by_token.get((tenant, token_hash))

    def renew(self, lease: Lease, now: float) -> None:
        """Its owner lives."""
        lease.renewed_at = now

    def end(self, lease: Lease, state: LeaseState, reason: str, now: float) -> None:
        """Decide its end. Agents are told, and what it holds is free when they have said so."""
        if lease.live:
            lease.ended_at = now
            lease.notice = ""
            self._turn(lease, state, reason)
            self.stirred |= lease.holds.keys()

    def set_quota(self, tenant: str, quota: Quota) -> None:
        """From now on. Leases that are beyond it stay."""
        self.quotas[tenant] = quota
        self.unsettled = True

    def quota(self, tenant: str) -> Quota:
        return self.quotas.get(tenant, UNLIMITED)

    def drain(self, name: str, drained: bool) -> None:
        """Let a host take nothing new, or take again. What it holds stays."""
        self.hosts[name].drained = drained
        self.stirred.add(name)
        self._changed(name)

    # What agents say

    def hear(self, report: Report, now: float) -> Answer:
        """Believe a report, if it is the latest of the agent that lives; the answer says what its host is to hold."""
        session = self._sessions.setdefault(report.host, _Session())
        if report.session and report.session == session.offered:
            session.current, session.offered, session.number = session.offered, "", 0
        elif report.session != session.current or not report.session:
            self._offers += 1
            session.offered = f"{self._name}.{self._offers}"
            return Answer(report.number, session.offered)
        if report.number <= session.number:
            return Answer(report.number, session.current)
        session.number = report.number
        self._note_host(report, now)
        holding = {held.grant.lease: held for held in report.held}
        host = self.hosts[report.host]
        host.amiss &= holding.keys()
        for id in sorted(self._on[report.host] - holding.keys()):
            self._gone(self.leases[id], report.host, now)
        for held in holding.values():
            known = self.leases.get(held.grant.lease)
            if report.host in held.grant.hosts and (known is None or known.shares == held.grant.shares):
                self._found(held, report.host, now)
            else:
                host.amiss.add(held.grant.lease)
        self._changed(report.host)
        return self.answer(report)

    def answer(self, report: Report) -> Answer:
        """What to answer to a report that counts, as things are now."""
        leases = [self.leases[id] for id in sorted(self._on[report.host])]
        grants = tuple(lease.grant for lease in leases if lease.live)
        return Answer(report.number, report.session, grants, self.hosts[report.host].drained)

    def latest(self, report: Report) -> bool:
        """Whether no later report of its host counts, and none of another agent there."""
        session = self._sessions.get(report.host, _Session())
        return (session.current, session.number) == (report.session, report.number)

    def _note_host(self, report: Report, now: float) -> None:
        self.due(now + self.terms.silence)
        known = self.hosts.get(report.host)
        if known is None:
            self.hosts[report.host] = KnownHost(report.gpus, now, report.drained)
            self._rebuild()
            return
        known.heard_at, known.silent = now, False
        if _kinds(known.gpus) != _kinds(report.gpus):
            # Held or not, nothing is granted on GPUs that are others now before the agent has let go of all.
            self._lose(report.host, f"the GPUs of {report.host} are others now", now)
            self._rebuild()
        known.gpus = report.gpus

    def _found(self, held: Held, host: str, now: float) -> None:
        lease = self.leases.get(held.grant.lease) or self._adopt(held.grant, host, now)
        if lease.holds.get(host) not in (Hold.SENT, Hold.HELD) and not self._occupy(lease, host):
            self.hosts[host].amiss.add(lease.id)
            self.end(lease, LeaseState.LOST, f"{host} holds more of a GPU than there is", now)
            return
        lease.holds[host] = Hold.HELD
        lease.idle[host] = held.idle_seconds
        lease.addresses[host] = held.address
        if self.terms.idle is not None:
            self.due(now + self.terms.idle - held.idle_seconds)
        up = len(lease.holds) == len(lease.addresses) and all(lease.addresses.values())
        if lease.state is LeaseState.GRANTED and up and set(lease.holds.values()) == {Hold.HELD}:
            self._turn(lease, LeaseState.RUNNING)

    def _adopt(self, grant: Grant, host: str, now: float) -> Lease:
        """A lease from before this broker's start. Its owner has as long to renew it as any. It is broken where a host
        of it that has spoken already has not told of it, or where its owner has asked again, and has another."""
        lease = Lease(grant.lease, grant.tenant, grant.priority, grant.token_hash, now, now, shares=grant.shares)
        self.leases[lease.id] = lease
        known = self.of_token(lease.tenant, lease.token_hash)
        if not (twice := known is not None and known.live):
            self._by_token[lease.tenant, lease.token_hash] = lease
        self._turn(lease, LeaseState.GRANTED, "told of by its agents")
        for other in sorted(grant.hosts - {host}):
            if other in self.hosts:
                self.end(lease, LeaseState.LOST, f"{other} does not hold it", now)
            else:
                lease.holds[other] = Hold.AWAITED
                self._on[other].add(lease.id)
        if twice:
            self.end(lease, LeaseState.LOST, "its owner has asked again, and has another", now)
        self.due(now + self.terms.renewal)
        return lease

    def _gone(self, lease: Lease, host: str, now: float) -> None:
        if lease.live and lease.holds[host] is Hold.SENT:
            return  # the word has not reached the agent; this answer carries it again
        self.end(lease, LeaseState.LOST, f"{host} holds it no more", now)
        self._vacate(lease, host)

    # What time and room bring; called by the rules of `decide`

    def due(self, at: float) -> None:
        """Something may be due then."""
        self.wake_at = min(self.wake_at, at)

    def place(self, lease: Lease, placements: Iterable[Placement]) -> None:
        """Hold what was found for it, and have its agents told."""
        lease.shares = tuple(share for placement in placements for share in placement.shares)
        for host in lease.grant.hosts:
            if not self._occupy(lease, host):
                raise AssertionError(f"{lease.id} was placed on shares of {host} that are held")
            lease.holds[host] = Hold.SENT
        self._turn(lease, LeaseState.GRANTED)
        self.stirred |= lease.holds.keys()

    def silence(self, name: str) -> None:
        """A host takes nothing new until it speaks again."""
        self.hosts[name].silent = True
        self._changed(name)

    def remove(self, name: str, now: float) -> None:
        """Forget a host, with all it holds; should it come back, it tells of it."""
        self._lose(name, f"{name} is gone", now)
        del self.hosts[name], self._sessions[name], self._on[name]
        self._rebuild()

    def heard_at(self, host: str) -> float:
        return self.hosts[host].heard_at if host in self.hosts else self.started_at

    def forget(self, lease: Lease) -> None:
        """One that has ended and that no agent holds."""
        for host in lease.holds:
            self._on[host].discard(lease.id)
        del self.leases[lease.id]
        if self._by_token.get((lease.tenant, lease.token_hash)) is lease:
            del self._by_token[lease.tenant, lease.token_hash]

    def amount(self, shares: Iterable[Share]) -> Amount:
        total = Amount()
        for share in shares:
            memory = self.hosts[share.host].gpus[share.gpu].memory_mib * share.milli // WHOLE
            total += Amount(share.milli, memory)
        return total

    @property
    def inventory(self) -> Inventory:
        """What is free."""
        if self._inventory is None:
            hosts = [self._described(name) for name in self.hosts]
            self._inventory = Inventory(hosts)
            taken = tuple(Share(host, gpu, milli) for (host, gpu), milli in self._taken.items() if milli)
            self._inventory.take(Placement(None, 0, 0, taken))
        return self._inventory

    @property
    def empty(self) -> Inventory:
        """The pool as it would be if nothing were held, and every host took."""
        if self._empty is None:
            hosts = (replace(self._described(name), drained=False) for name in self.hosts)
            self._empty = Inventory(hosts)
        return self._empty

    def check(self) -> None:
        """Raises AssertionError where the books are not in order. For tests."""
        taken: Counter[tuple[str, int]] = Counter()
        for lease in self.leases.values():
            for share in lease.shares:
                if lease.holds.get(share.host) in (Hold.SENT, Hold.HELD):
                    taken[share.host, share.gpu] += share.milli
            assert all(lease.id in self._on[host] for host in lease.holds), lease
            assert lease.state is not LeaseState.QUEUED or not lease.holds, lease
        queued = [lease for lease in self.leases.values() if lease.state is LeaseState.QUEUED]
        assert sorted(each.number for each in queued) == sorted(n for alike in self.queue.values() for n in alike)
        assert Counter(each.tenant for each in queued) == +self.waiting
        assert taken == +self._taken, (taken, self._taken)
        assert all(milli <= WHOLE for milli in taken.values()), taken
        assert self.inventory.allocated == sum(taken.values())
        held = sum(amount.milli for amount in self.used.values())
        assert held == sum(taken.values()), (held, taken)

    def _turn(self, lease: Lease, state: LeaseState, reason: str = "") -> None:
        if state is not LeaseState.QUEUED and lease.number in (alike := self.queue.get(_kind(lease), {})):
            del alike[lease.number]
            self.waiting[lease.tenant] -= 1
            if not alike:
                del self.queue[_kind(lease)]
        lease.state, lease.reason = state, reason
        self.changes.append(Change(lease.id, lease.tenant, state, reason))

    def _occupy(self, lease: Lease, host: str) -> bool:
        """Take its shares on this host, if there is that much."""
        shares = [share for share in lease.shares if share.host == host]
        wanted: Counter[int] = Counter()
        for share in shares:
            wanted[share.gpu] += share.milli
        gpus = len(self.hosts[host].gpus)
        if not shares or any(gpu >= gpus or self._taken[host, gpu] + n > WHOLE for gpu, n in wanted.items()):
            return False
        self._on[host].add(lease.id)
        self._move(lease, shares, +1)
        return True

    def _vacate(self, lease: Lease, host: str) -> None:
        hold = lease.holds.pop(host)
        lease.addresses.pop(host, None)
        lease.idle.pop(host, None)
        self._on[host].discard(lease.id)
        if hold is not Hold.AWAITED:
            self._move(lease, [share for share in lease.shares if share.host == host], -1)
            self.unsettled = True

    def _lose(self, host: str, reason: str, now: float) -> None:
        for id in sorted(self._on[host]):
            self.end(self.leases[id], LeaseState.LOST, reason, now)
            self._vacate(self.leases[id], host)

    def _move(self, lease: Lease, shares: list[Share], sign: int) -> None:
        amount = self.amount(shares)
        self.used[lease.tenant] = self.used[lease.tenant] + amount if sign > 0 else self.used[lease.tenant] - amount
        for share in shares:
            self._taken[share.host, share.gpu] += sign * share.milli
        if self._inventory is not None:
            placement = Placement(None, 0, 0, tuple(shares))
            self._inventory.take(placement) if sign > 0 else self._inventory.release(placement)

    def _changed(self, name: str) -> None:
        """Health, drain or silence of a host may be others than the inventory's."""
        host = self._described(name)
        if self._inventory is not None and self._inventory.hosts[self._inventory.row[name]] != host:
            self._inventory.update(host)
            self._empty = None
            self.unsettled = True

    def _rebuild(self) -> None:
        self._inventory = self._empty = None
        self.unsettled = True

    def _described(self, name: str) -> Host:
        known = self.hosts[name]
        return Host(name, 0, 0, known.gpus, drained=not known.taking)


def _kind(lease: Lease) -> tuple[str, int, tuple[Request, ...]]:
    return lease.tenant, lease.priority, lease.requests


def _kinds(gpus: tuple[GPU, ...]) -> list[tuple[str, int]]:
    return [(gpu.model, gpu.memory_mib) for gpu in gpus]
