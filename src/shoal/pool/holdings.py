"""What an agent holds, PURE: answers of the broker come in, servers to start and to stop go out.

A grant is kept before its server starts, and told of until its server is gone: what an agent does not report is free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from shoal.pool.inventory import GPU
from shoal.pool.lease import Grant
from shoal.pool.report import Answer, Held, Report
from shoal.pool.request import WHOLE


@dataclass(frozen=True, slots=True)
class Start:
    """Keep the grant, then start a server for it."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class Stop:
    """End the server; tell by `Holdings.gone` when it is."""

    lease: str
    reason: str


Action = Start | Stop


@dataclass(slots=True)
class _Holding:
    grant: Grant
    address: str = ""
    idle_seconds: float = 0.0
    told: bool = False
    ending: bool = False
    ended: bool = False
    left_out: bool = False
    """Of the last report."""


@dataclass(slots=True)
class Holdings:
    """`kept` is what an earlier agent of this host has written down: it is held, until the broker says otherwise.

    After `alone` seconds without an answer all leases are ended: nobody could renew or release them.
    """

    host: str
    gpus: tuple[GPU, ...]
    now: float
    alone: float = 900.0
    kept: Iterable[Grant] = ()
    drained: bool = False
    refused: set[str] = field(default_factory=set)
    """Leases that the broker wants held here and that do not fit: a fault of the broker's."""
    _session: str = ""
    _number: int = 0
    _awaiting: bool = False
    _heard_at: float = 0.0
    _held: dict[str, _Holding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._heard_at = self.now
        self._held = {grant.lease: _Holding(grant) for grant in self.kept}

    @property
    def grants(self) -> tuple[Grant, ...]:
        """To be kept on disk."""
        return tuple(holding.grant for holding in self._held.values() if not holding.ended)

    def report(self) -> Report:
        """The next one to send. No answer to an earlier one is heeded from now on."""
        self._number += 1
        self._awaiting = True
        held = []
        for each in self._held.values():
            each.left_out = each.ended and each.told
            if not each.left_out:
                each.told = True
                address = "" if each.ending or each.ended else each.address
                held.append(Held(each.grant, address, each.idle_seconds))
        return Report(self.host, self._session, self._number, self.gpus, tuple(held), self.drained)

    def heed(self, answer: Answer, now: float) -> list[Action]:
        """What an answer asks for."""
        if not self._awaiting or answer.number != self._number:
            return []
        self._awaiting = False
        self._session = answer.session
        if answer.grants is None:
            return []
        self._heard_at = now
        self.drained = answer.drained
        self._held = {id: each for id, each in self._held.items() if not each.left_out}
        wanted = {grant.lease: grant for grant in answer.grants}
        actions: list[Action] = [Stop(id, "the broker has ended it") for id in self._end(self._held.keys() - wanted)]
        self.refused &= wanted.keys()
        for id, grant in wanted.items():
            if id in self._held:
                continue
            if self._fits(grant):
                self._held[id] = _Holding(grant)
                actions.append(Start(grant))
            else:
                self.refused.add(id)
        return actions

    def pass_time(self, now: float) -> list[Action]:
        """What is due without an answer."""
        if now < self._heard_at + self.alone:
            return []
        return [Stop(id, f"no broker for {self.alone:g} s") for id in self._end(self._held.keys())]

    def answers(self, lease: str, address: str) -> None:
        """A server is up, there."""
        if lease in self._held:
            self._held[lease].address = address

    def idle(self, lease: str, seconds: float) -> None:
        """For so long nothing was asked of a server."""
        if lease in self._held:
            self._held[lease].idle_seconds = seconds

    def gone(self, lease: str) -> None:
        """A server has ended, told to or not. It is forgotten when the broker has answered a report that tells so, lest
        an answer that is on its way starts it again; and what was never in a report is in one first, lest the broker
        takes it for one that is yet to come."""
        if lease in self._held:
            self._held[lease].ended = True

    def _end(self, leases: Iterable[str]) -> list[str]:
        ending = sorted(id for id in leases if not (self._held[id].ending or self._held[id].ended))
        for id in ending:
            self._held[id].ending = True
        return ending

    def _fits(self, grant: Grant) -> bool:
        """Whatever a broker says, nothing is held twice. What does not fit is not held, and so not reported."""
        taken: Counter[int] = Counter()
        for each in (*self.grants, grant):
            for share in each.shares:
                if share.host == self.host:
                    taken[share.gpu] += share.milli
        return all(gpu < len(self.gpus) and milli <= WHOLE for gpu, milli in taken.items())
