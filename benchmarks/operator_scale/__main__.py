"""python -m benchmarks.operator_scale     prints the tables, and writes them to benchmarks/operator_scale.md

Everything runs on one machine: API server, etcd, scheduler, a fake kubelet, the contender and this benchmark share its
cores, so what is compared is the work that a contender makes for all of them. Contenders take turns, each on a fresh
cluster. The bare client creates what Shoal's operator creates of the same job, ready rendered, and does nothing else.

Goals: at least 0.8 of the bare client's speed; beside finished jobs at most 1.5 times the p99; at most pods + services
+ 4 writes a job.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from benchmarks.operator_scale import scenarios, table
from benchmarks.operator_scale.contenders import Operator, Shoal, TrainingOperator, programs
from benchmarks.operator_scale.scenarios import Measured
from tests.cluster.errors import ClusterError

RAISED = ("--kube-api-qps=2000", "--kube-api-burst=4000", "--controller-threads=4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--replicas", type=int, default=1000, help="of the one large job")
    parser.add_argument("--jobs", type=int, default=500, help="how many small jobs at once")
    parser.add_argument("--size", type=int, default=8, help="replicas of a small job")
    parser.add_argument("--finished", type=int, default=5000, help="finished jobs beside the small ones")
    parser.add_argument("--at-once", type=int, default=64, help="requests that the bare client makes at a time")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a contender is given up")
    parser.add_argument("--peer-rounds", type=int, default=1, help="rounds of Kubeflow's operator; 0: none")
    parser.add_argument("--only", default="abc", help="parts, as in `ab`: one large job, many jobs, beside finished")
    chosen = parser.parse_args()
    try:
        programs()
        text = table.tables(asyncio.run(measure(chosen)), chosen)
    except ClusterError as fault:
        raise SystemExit(f"error: {fault}") from fault
    print(text)
    Path(__file__).parent.with_suffix(".md").write_text(text)


async def measure(chosen: argparse.Namespace) -> table.Results:
    shoal = Shoal()
    peers = [TrainingOperator("20 requests/s (default)"), TrainingOperator("raised to 2,000 requests/s", *RAISED)]
    results = table.Results()
    for number in range(chosen.rounds):
        operators: list[Operator] = [shoal, *(peers if number < chosen.peer_rounds else [])]
        if "a" in chosen.only:
            seconds = await scenarios.bare(chosen.replicas, chosen.at_once, shoal)
            results.bare.append(seconds)
            tell(f"bare client, 1 × {chosen.replicas}: {seconds:.2f} s")
            for each in operators:
                kill = chosen.replicas // 10 if each is shoal else 0
                found = await scenarios.operated(each, 1, chosen.replicas, limit=chosen.limit, kill=kill)
                results.large.setdefault(each.name, []).append(found)
                tell(f"{each.name}, 1 × {chosen.replicas}: {_brief(found)}")
        if "b" in chosen.only:
            for each in operators:
                found = await scenarios.operated(each, chosen.jobs, chosen.size, limit=chosen.limit)
                results.small.setdefault(each.name, []).append(found)
                tell(f"{each.name}, {chosen.jobs} × {chosen.size}: {_brief(found)}")
        if "c" in chosen.only:
            found = await scenarios.operated(
                shoal, chosen.jobs, chosen.size, limit=chosen.limit, finished_jobs=chosen.finished
            )
            results.beside.setdefault(shoal.name, []).append(found)
            tell(f"{shoal.name}, {chosen.jobs} × {chosen.size} beside {chosen.finished}: {_brief(found)}")
    return results


def _brief(found: Measured) -> str:
    if not found.created:
        return f"no job has all its pods; {found.spent.seconds}"
    last = max(found.created)
    costs = ", ".join(f"{name} {seconds:.1f}" for name, seconds in found.spent.seconds.items())
    recovery = f"; recovered within {max(found.recovered):.2f} s" if found.recovered else ""
    told = f"{len(found.created)} of {found.asked} complete, the last after {last:.2f} s{recovery}"
    writes = f"{found.writes} writes ({found.events} events)"
    return f"{told}; {writes}; {found.wall:.1f} s; CPU s: {costs}; {found.peak:.0f} MB"


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
