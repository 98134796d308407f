"""What the broker costs through HTTPS: asks a second, and from a release to the next grant, by how many wait.

python benchmarks/broker.py    writes benchmarks/broker.md

A real broker in a process of its own, with the agents of 125 hosts of 8 GPUs on long polls. As the limit stands the
cheapest request that there is, `GET /healthz` on the same connections; what the rules alone cost says
benchmarks/pool.md.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import yaml
from pydantic import TypeAdapter

from shoal.gpu.tenants import new_token, token_hash
from shoal.pool.holdings import Holdings, Start, Stop
from shoal.pool.inventory import GPU
from shoal.pool.report import Answer, Report

HOSTS, GPUS_OF_HOST, TENANTS, CLIENTS = 125, 8, 20, 16
REPORT, ANSWER = TypeAdapter(Report), TypeAdapter(Answer)


@dataclass
class Pool:
    """The broker's address and who is known to it. `started` has the time of each grant that an agent was told of."""

    url: str
    trusted: ssl.SSLContext
    tokens: dict[str, str]
    started: dict[str, float] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.url, verify=self.trusted, timeout=120)

    def bearer(self, name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    async def agent(self, name: str) -> None:
        """Report for ever, and do at once what the answers say."""
        holdings = Holdings(name, (GPU("A100", 40_960),) * GPUS_OF_HOST, 0.0)
        async with self.client() as http:
            while True:
                said = REPORT.dump_json(holdings.report())
                path, headers = f"/v1/hosts/{name}/report", self.bearer(name)
                answer = await http.post(path, params={"wait": "20"}, content=said, headers=headers)
                answer.raise_for_status()
                for action in holdings.heed(ANSWER.validate_json(answer.content), 0.0):
                    match action:
                        case Start(grant):
                            holdings.answers(grant.lease, f"{name}:1")
                            self.started[grant.lease] = time.perf_counter()
                            self.news.set()
                        case Stop(lease):
                            holdings.gone(lease)

    async def until_started(self, count: int) -> None:
        while len(self.started) < count:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 120)


@asynccontextmanager
async def pool() -> AsyncIterator[Pool]:
    hosts, tenants = [f"host-{i}" for i in range(HOSTS)], [f"tenant-{i}" for i in range(TENANTS)]
    tokens = {name: new_token() for name in (*hosts, *tenants)}
    known = {name: {"tokens": [token_hash(token)]} for name, token in tokens.items()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tenants.yaml")
        file.write_text(
            yaml.safe_dump({"tenants": {n: known[n] for n in tenants}, "agents": {n: known[n] for n in hosts}})
        )
        command = [
            str(Path(sys.executable).with_name("shoal")),
            "gpu",
            "broker",
            "--tenants",
            str(file),
            "--host",
            "127.0.0.1",
        ]
        command += ["--port", "0", "--tls-folder", f"{folder}/tls", "--renewal", "86400"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            said = re.fullmatch(r"broker at (https://\S+)\n", process.stderr.readline())
            assert said is not None, "the broker did not start"
            found = Pool(said[1], ssl.create_default_context(cafile=f"{folder}/tls/ca.crt"), tokens)
            agents = [asyncio.create_task(found.agent(name)) for name in hosts]
            try:
                yield found
            finally:
                for each in agents:
                    each.cancel()
                await asyncio.gather(*agents, return_exceptions=True)
                process.terminate()


async def rate(calls: list[Callable[[httpx2.AsyncClient], Awaitable[Any]]], found: Pool) -> float:
    """Calls a second, by so many clients that each await their answer."""
    began, left = time.perf_counter(), iter(calls)

    async def client() -> None:
        async with found.client() as http:
            for call in left:
                await call(http)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return len(calls) / (time.perf_counter() - began)


@dataclass(frozen=True)
class Cost:
    waiting: int
    limit: float
    asks: float
    turns: list[float]


async def measured(waiting: int, turns: int) -> Cost:
    draw = random.Random(1)
    async with pool() as found:
        owner: dict[str, str] = {}

        async def ask(http: httpx2.AsyncClient) -> None:
            tenant = f"tenant-{draw.randrange(TENANTS)}"
            answer = await http.post("/v1/leases", json={"requests": [{}]}, headers=found.bearer(tenant))
            answer.raise_for_status()
            owner[answer.json()["id"]] = tenant

        async def well(http: httpx2.AsyncClient) -> None:
            (await http.get("/healthz")).raise_for_status()

        async with found.client() as http:
            while len((await http.get("/v1/hosts", headers=found.bearer("tenant-0"))).json()) < HOSTS:
                await asyncio.sleep(0.1)
            limit = await rate([well] * 2000, found)
            full = HOSTS * GPUS_OF_HOST
            await rate([ask] * full, found)
            await found.until_started(full)
            asks = await rate([ask] * waiting, found)
            costs = []
            for turn in range(turns):
                ended = draw.choice([lease for lease in found.started if lease in owner])
                began, before = time.perf_counter(), set(found.started)
                tenant = owner.pop(ended)
                (await http.delete(f"/v1/leases/{ended}", headers=found.bearer(tenant))).raise_for_status()
                await found.until_started(full + turn + 1)
                (fresh,) = found.started.keys() - before
                costs.append(found.started[fresh] - began)
                await ask(http)
    return Cost(waiting, limit, asks, costs)


def table(costs: list[Cost]) -> str:
    one = statistics.median(costs[0].turns)
    rows = [
        f"| {cost.waiting:,} | {f'{cost.asks:,.0f} | {cost.asks / cost.limit:.2f}' if cost.waiting >= 100 else ' | '} "
        f"| {1e3 * statistics.median(cost.turns):.1f} ms | {1e3 * statistics.quantiles(cost.turns, n=100)[98]:.1f} ms "
        f"| {statistics.median(cost.turns) / one:.1f} |"
        for cost in costs
    ]
    return f"""# The broker through HTTPS

Made by `benchmarks/broker.py`: a broker in a process, {HOSTS} agents of {GPUS_OF_HOST} GPUs on long polls,
{TENANTS} tenants, {CLIENTS} clients that ask, {len(costs[0].turns)} releases each. *Asks* come to a pool that is full;
the limit is `GET /healthz` on the same connections. *From release to grant* is from a client's DELETE, by way of the
agent that lets go, to an agent that is told of the next lease; as a ratio to the same with one that waits. Broker,
agents and clients share two cores: trust the ratios.

| waiting | asks/s | of the limit | from release to grant, p50 | p99 | p50, one waiting = 1 |
|---:|---:|---:|---:|---:|---:|
""" + "\n".join([*rows, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, nargs="+", default=[1, 100, 1_000, 10_000], help="how many wait")
    parser.add_argument("--turns", type=int, default=200, help="releases for each")
    chosen = parser.parse_args()
    text = table([asyncio.run(measured(waiting, chosen.turns)) for waiting in chosen.waiting])
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
