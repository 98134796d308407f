"""Broker, agents and clients, with messages that are lost, delayed and repeated, and with each of them killed.

What holds at any moment: no GPU is given out more than once, by what the agents hold, not by what the broker believes.
What holds in the end: nothing is held for an owner that is gone, and all that was held is granted again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shoal.pool.brokerage import Settling, asked_before, decide
from shoal.pool.holdings import Action, Holdings, Start, Stop
from shoal.pool.inventory import GPU
from shoal.pool.lease import Ask, Grant, Lease, LeaseState
from shoal.pool.ledger import Ledger, Terms
from shoal.pool.report import Answer, Report
from shoal.pool.request import Request

HOSTS = {"g": 1, "h": 2}
TERMS = Terms(renewal=30, silence=20, loss=60, aging=50, patience=20, memory=100)
ALONE = 90.0
REQUESTS = [Request(gpus=1), Request(gpus=1, milli=500), Request(gpus=3), Request(gpus=1, gpu_memory_mib=6_000)]
KEYS = {"k1": Request(gpus=1), "k2": Request(gpus=2), "k3": Request(gpus=1, milli=500)}
"""What operators ask for with a token that is always the same for it."""
TENANT = "t"
GONE = max(TERMS.renewal, ALONE) + TERMS.loss
"""So long after its owner's last sign of life no lease may be held by an agent that goes on."""


@dataclass
class Agent:
    """One that is killed and comes back has a new `life`, what is on its disk, and no servers."""

    name: str
    life: int
    holdings: Holdings
    servers: set[str] = field(default_factory=set)
    stopping: set[str] = field(default_factory=set)
    """Servers that were told to end, and have not yet."""

    @property
    def shares(self) -> list[tuple[int, int]]:
        """What servers run on: GPU and thousandths."""
        grants = {grant.lease: grant for grant in self.disk}
        mine = (share for id in self.servers for share in grants[id].shares if share.host == self.name)
        return [(share.gpu, share.milli) for share in mine]

    @property
    def disk(self) -> tuple[Grant, ...]:
        return self.holdings.grants


class Pool(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.lives = 0
        self.asked = 0
        self.reports: list[tuple[int, Report]] = []
        self.answers: list[tuple[str, int, Answer]] = []
        self.owners: dict[str, float] = {}
        """When the owner of each lease lived last."""
        self.gone: set[str] = set()
        self.agents = {name: self.agent(name, ()) for name in HOSTS}
        self.ledger = self.broker()

    def agent(self, name: str, kept: tuple[Grant, ...]) -> Agent:
        self.lives += 1
        gpus = tuple(GPU("A", 16_000) for _ in range(HOSTS[name]))
        agent = Agent(name, self.lives, Holdings(name, gpus, self.now, ALONE, kept))
        for grant in kept:
            self.start(agent, grant)
        return agent

    def broker(self) -> Ledger:
        self.lives += 1
        return Ledger(f"b{self.lives}", self.now, TERMS, {})

    def start(self, agent: Agent, grant: Grant) -> None:
        agent.servers.add(grant.lease)
        agent.holdings.answers(grant.lease, "up")

    def act(self, agent: Agent, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Start(grant):
                    self.start(agent, grant)
                case Stop(lease):
                    agent.stopping.add(lease)

    def deliver(self, life: int, report: Report) -> None:
        self.answers.append((report.host, life, self.ledger.hear(report, self.now)))
        decide(self.ledger, self.now)

    def receive(self, name: str, life: int, answer: Answer) -> None:
        agent = self.agents[name]
        if agent.life == life:  # else whom it was for is dead
            self.act(agent, agent.holdings.heed(answer, self.now))

    # What clients do

    @rule(request=st.sampled_from(REQUESTS), gang=st.integers(1, 2), priority=st.integers(0, 1))
    def ask(self, request: Request, gang: int, priority: int) -> None:
        self.asked += 1
        self.ask_as(f"t{self.asked % 2}", f"l{self.asked}", (request,) * gang, priority)

    @rule(key=st.sampled_from(sorted(KEYS)), answered=st.booleans())
    def ask_with_a_key(self, key: str, answered: bool) -> None:
        """For the first time or again, as who has lost an answer, or was killed and started, does."""
        try:
            lease = asked_before(self.ledger, TENANT, key, self.now)
        except Settling:
            return
        if lease is None:
            self.asked += 1
            lease = self.ask_as(TENANT, key, (KEYS[key],), 0)
        if answered:
            self.owners[lease.id] = self.now

    def ask_as(self, tenant: str, token: str, requests: tuple[Request, ...], priority: int) -> Lease:
        lease = self.ledger.ask(Ask(f"l{self.asked}", tenant, requests, priority, token), self.now)
        self.owners[lease.id] = self.now
        decide(self.ledger, self.now)
        return lease

    @precondition(lambda self: self.owners)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        self.keep(data.draw(st.sampled_from(sorted(self.owners))))

    @rule()
    def renew_all(self) -> None:
        for id in self.owners:
            self.keep(id)

    def keep(self, id: str) -> None:
        lease = self.ledger.leases.get(id)
        if id not in self.gone and lease is not None and lease.live:
            self.ledger.renew(lease, self.now)
            self.owners[id] = self.now

    @precondition(lambda self: self.owners)
    @rule(data=st.data(), tells=st.booleans())
    def leave(self, data: st.DataObject, tells: bool) -> None:
        """By a release, or killed."""
        id = data.draw(st.sampled_from(sorted(self.owners)))
        self.gone.add(id)
        lease = self.ledger.leases.get(id)
        if tells and lease is not None:
            self.ledger.end(lease, LeaseState.RELEASED, "", self.now)
            decide(self.ledger, self.now)

    # What agents do, and what becomes of messages

    @rule(name=st.sampled_from(sorted(HOSTS)))
    def report(self, name: str) -> None:
        agent = self.agents[name]
        self.reports.append((agent.life, agent.holdings.report()))

    @precondition(lambda self: self.reports)
    @rule(data=st.data(), again=st.booleans())
    def report_arrives(self, data: st.DataObject, again: bool) -> None:
        at = data.draw(st.integers(0, len(self.reports) - 1))
        self.deliver(*(self.reports[at] if again else self.reports.pop(at)))

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), again=st.booleans())
    def answer_arrives(self, data: st.DataObject, again: bool) -> None:
        at = data.draw(st.integers(0, len(self.answers) - 1))
        self.receive(*(self.answers[at] if again else self.answers.pop(at)))

    @precondition(lambda self: self.reports or self.answers)
    @rule()
    def all_is_lost(self) -> None:
        self.reports.clear()
        self.answers.clear()

    @rule(name=st.sampled_from(sorted(HOSTS)))
    def talk(self, name: str) -> None:
        """A report and its answer, with nothing in between."""
        agent = self.agents[name]
        self.deliver(agent.life, agent.holdings.report())
        self.receive(*self.answers.pop())

    @precondition(lambda self: any(agent.servers for agent in self.agents.values()))
    @rule(data=st.data())
    def server_ends(self, data: st.DataObject) -> None:
        agent = data.draw(st.sampled_from([agent for agent in self.agents.values() if agent.servers]))
        self.end(agent, data.draw(st.sampled_from(sorted(agent.stopping or agent.servers))))

    def end(self, agent: Agent, id: str) -> None:
        agent.servers.discard(id)
        agent.stopping.discard(id)
        agent.holdings.gone(id)

    # Deaths

    @rule()
    def broker_is_killed(self) -> None:
        self.ledger = self.broker()

    @rule(name=st.sampled_from(sorted(HOSTS)), disk=st.booleans())
    def agent_is_killed(self, name: str, disk: bool) -> None:
        self.agents[name] = self.agent(name, self.agents[name].disk if disk else ())

    @rule(seconds=st.sampled_from([1.0, 10.0, 25.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.tick()

    def tick(self) -> None:
        decide(self.ledger, self.now)
        for agent in self.agents.values():
            self.act(agent, agent.holdings.pass_time(self.now))

    @invariant()
    def no_share_is_in_two_live_leases(self) -> None:
        for agent in self.agents.values():
            taken: Counter[int] = Counter()
            for gpu, milli in agent.shares:
                taken[gpu] += milli
            assert all(milli <= 1000 for milli in taken.values()), (agent.name, taken)
            assert not agent.holdings.refused, "the agent saw what the broker did not"

    @invariant()
    def no_key_has_two_live_leases(self) -> None:
        tokens = Counter((lease.tenant, lease.token_hash) for lease in self.ledger.leases.values() if lease.live)
        assert all(count == 1 for count in tokens.values()), tokens

    @invariant()
    def the_books_are_in_order(self) -> None:
        self.ledger.check()

    def teardown(self) -> None:
        """From here on nobody is killed and nothing is lost; all owners are gone."""
        quiet = self.now
        while self.now < quiet + GONE:
            self.now += 5
            self.tick()
            for agent in self.agents.values():
                for id in sorted(agent.stopping):
                    self.end(agent, id)
                self.deliver(agent.life, agent.holdings.report())
                self.receive(*self.answers.pop())
        self.no_share_is_in_two_live_leases()
        self.ledger.check()
        for agent in self.agents.values():
            assert not agent.servers, (agent.name, "holds a lease of an owner that is gone")
        assert self.ledger.inventory.allocated == 0
        everything = self.ledger.ask(Ask("all", "t", (Request(gpus=3),)), self.now)
        decide(self.ledger, self.now)
        assert everything.state is LeaseState.GRANTED


TestPool = Pool.TestCase
TestPool.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
