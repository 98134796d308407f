"""What the broker's rules cost: grants a second, and from a release to the next grant, by how many wait.

python benchmarks/pool.py    writes benchmarks/pool.md

The rules alone, without HTTP: a thousand GPUs on 125 hosts, whose agents answer at once. As a limit stands the same
pool with one that waits: what more cost is the queue's. Through HTTPS: benchmarks/broker.py.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from shoal.pool.brokerage import decide
from shoal.pool.holdings import Holdings, Start, Stop
from shoal.pool.inventory import GPU
from shoal.pool.lease import Ask, Lease, LeaseState
from shoal.pool.ledger import Ledger, Terms
from shoal.pool.request import Request

HOSTS, GPUS_OF_HOST = 125, 8
TENANTS = 20
SHAPES = (
    (Request(gpus=1), 50),
    (Request(gpus=1, milli=500), 20),
    (Request(gpus=2), 15),
    (Request(gpus=1, gpu_memory_mib=8192), 10),
    (Request(gpus=8, models=frozenset({"A100"})), 5),
)
"""What is asked for, and how often of a hundred."""

PATIENT = Terms(renewal=1e9, loss=1e9, silence=1e9, memory=2e9, patience=1e9)
"""Nothing is due by time alone: only what events cost is measured."""


@dataclass(frozen=True)
class Cost:
    waiting: int
    grants: int
    seconds: float
    turns: list[float]
    peak_mib: int


class Pool:
    """A broker's ledger, and agents that do at once what they are told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ledger = Ledger("bench", 0.0, PATIENT, {})
        models = ("A100", "H100")
        self.agents = {
            name: Holdings(name, (GPU(models[i % 2], 40_960),) * GPUS_OF_HOST, 0.0)
            for i, name in enumerate(f"host-{i}" for i in range(HOSTS))
        }
        for name in self.agents:
            self.talk(name)

    def talk(self, name: str) -> None:
        """The agent reports until it has nothing more to say."""
        agent = self.agents[name]
        for _ in range(3):
            for action in agent.heed(self.ledger.hear(agent.report(), self.now), self.now):
                match action:
                    case Start(grant):
                        agent.answers(grant.lease, f"{name}:1")
                    case Stop(lease):
                        agent.gone(lease)

    def settle(self) -> list[Lease]:
        """Decide, and have everybody told; the leases that were granted."""
        decided = decide(self.ledger, self.now)
        for name in decided.hosts:
            self.talk(name)
        granted = (change.lease for change in decided.changes if change.state is LeaseState.GRANTED)
        return [self.ledger.leases[id] for id in granted]


def measured(waiting: int, turns: int) -> Cost:
    """Fill the pool, let so many wait, and release one after the other."""
    draw, pool = random.Random(1), Pool()
    shapes, weights = [shape for shape, _ in SHAPES], [often for _, often in SHAPES]
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1
        tenant = f"tenant-{draw.randrange(TENANTS)}"
        wanted = draw.choices(shapes, weights)[0]
        pool.now += 0.001
        pool.ledger.ask(Ask(f"lease-{asked}", tenant, (wanted,), draw.randrange(3)), pool.now)

    for _ in range(2 * HOSTS * GPUS_OF_HOST):  # more than there is room for
        ask()
    began = time.perf_counter()
    running = list(pool.settle())
    seconds, grants = time.perf_counter() - began, len(running)
    queued = [lease for lease in pool.ledger.leases.values() if lease.state is LeaseState.QUEUED]
    for lease in queued[waiting:]:
        pool.ledger.end(lease, LeaseState.RELEASED, "", pool.now)
    for _ in range(waiting - len(queued)):
        ask()
    pool.settle()
    costs = []
    for _ in range(turns):
        ended = running.pop(draw.randrange(len(running)))
        pool.ledger.end(ended, LeaseState.RELEASED, "", pool.now)
        began = time.perf_counter()
        running += pool.settle()  # the agents are told to let go
        running += pool.settle()  # and what they let go is granted anew
        costs.append(time.perf_counter() - began)
        while sum(lease.state is LeaseState.QUEUED for lease in pool.ledger.leases.values()) < waiting:
            ask()
    pool.ledger.check()
    return Cost(waiting, grants, seconds, costs, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)


def table(costs: list[Cost]) -> str:
    limit = statistics.median(costs[0].turns)
    rows = [
        f"| {cost.waiting:,} | {cost.grants / cost.seconds:,.0f} | {1e3 * statistics.median(cost.turns):.1f} ms "
        f"| {1e3 * statistics.quantiles(cost.turns, n=100)[98]:.1f} ms "
        f"| {statistics.median(cost.turns) / limit:.1f} | {cost.peak_mib} MiB |"
        for cost in costs
    ]
    pool = f"{HOSTS * GPUS_OF_HOST:,} GPUs on {HOSTS} hosts, {TENANTS} tenants"
    return f"""# The broker's rules

Made by `benchmarks/pool.py`: {pool}, {len(costs[0].turns)} releases each. *Grants* fill the empty pool from
a queue of twice as many requests as GPUs. *From release to grant* is a lease that ends, its agents told and heard, and
who waits given what is free; as a ratio to the same with one that waits. One core: trust the ratios.

| waiting | grants/s | from release to grant, p50 | p99 | p50, one waiting = 1 | peak memory |
|---:|---:|---:|---:|---:|---:|
""" + "\n".join([*rows, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, nargs="+", default=[1, 100, 1_000, 10_000], help="how many wait")
    parser.add_argument("--turns", type=int, default=300, help="releases for each")
    chosen = parser.parse_args()
    text = table([measured(waiting, chosen.turns) for waiting in chosen.waiting])
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
