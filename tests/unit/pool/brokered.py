"""A broker and its agents in a test: time stands still unless told, and a report is answered at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.pool.brokerage import Decided, decide
from shoal.pool.holdings import Holdings, Start, Stop
from shoal.pool.inventory import GPU
from shoal.pool.lease import Ask, Lease, LeaseState
from shoal.pool.ledger import Ledger, Terms
from shoal.pool.quota import Quota
from shoal.pool.request import Request

WHOLE = Request(gpus=1)
HALF = Request(gpus=1, milli=500)


def gpus(count: int, model: str = "A", memory_mib: int = 16_000) -> tuple[GPU, ...]:
    return tuple(GPU(model, memory_mib) for _ in range(count))


@dataclass
class Pool:
    """`hosts` by name, with their GPUs."""

    hosts: Mapping[str, tuple[GPU, ...]]
    terms: Terms = field(default_factory=Terms)
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    now: float = 1000.0
    lives: int = 1
    asked: int = 0

    def __post_init__(self) -> None:
        self.ledger = Ledger("b1", self.now, self.terms, self.quotas)
        self.agents = {name: Holdings(name, given, self.now) for name, given in self.hosts.items()}
        self.talk()

    def ask(self, *requests: Request, tenant: str = "t", priority: int = 0, decided: bool = True) -> Lease:
        self.asked += 1
        lease = self.ledger.ask(
            Ask(f"l{self.asked}", tenant, requests or (WHOLE,), priority, f"hash of l{self.asked}"), self.now
        )
        if decided:
            self.decide()
        return lease

    def decide(self) -> Decided:
        decided = decide(self.ledger, self.now)
        self.ledger.check()
        return decided

    def talk(self, *names: str) -> None:
        """Agents report and do what they are told, until there is nothing more to say."""
        for _ in range(4):
            for name in names or self.agents:
                agent = self.agents[name]
                for action in agent.heed(self.ledger.hear(agent.report(), self.now), self.now):
                    match action:
                        case Start(grant):
                            agent.answers(grant.lease, f"{name}:1")
                        case Stop(lease):
                            agent.gone(lease)
            self.decide()

    def release(self, lease: Lease) -> None:
        self.ledger.end(lease, LeaseState.RELEASED, "", self.now)
        self.decide()

    def wait(self, seconds: float, renew: bool = True, talk: bool = True) -> None:
        """Time passes in small steps; owners renew and agents report, unless told not to."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(until, self.now + 5)
            if renew:
                for lease in self.ledger.leases.values():
                    self.ledger.renew(lease, self.now)
            if talk:
                self.talk()
            else:
                self.decide()

    def restart(self) -> None:
        """The broker is killed, and another starts."""
        self.lives += 1
        self.ledger = Ledger(f"b{self.lives}", self.now, self.terms, self.quotas)

    def lease(self, id: str) -> Lease:
        return self.ledger.leases[id]
