"""What a placement costs by the size of the pool, and what policies allocate. Goal: 8,152 tasks in under 5 s.

python benchmarks/placement.py --trace DIR [TABLE.json …]    writes benchmarks/placement.md

Each TABLE is what `shoal gpu simulate --trace DIR -o json` said: the longer part, which is not done again here.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path

from shoal.gpu.trace import Trace, read_requests, read_trace
from shoal.pool import Host, Inventory, Mode, Placement, Request, Workload, place
from shoal.pool.placement import find
from shoal.pool.policies import POLICIES
from shoal.pool.policies.best_fit import BestFit
from shoal.pool.policies.shadow_price import worth_of_rest

SIZES = (100, 1_000, 10_000)
OFFERED = 2
"""Requests that each host is offered for each of its GPUs before placements are timed: pools are nearly full."""
TIMED = 500


def pool_of(hosts: tuple[Host, ...], gpus: int) -> list[Host]:
    """Hosts drawn from the trace's until they have so many GPUs."""
    draw, chosen, count = random.Random(1), [], 0
    while count < gpus:
        like = draw.choice(hosts)
        chosen.append(Host(f"{len(chosen)}", like.cpu_milli, like.memory_mib, like.gpus))
        count += len(like.gpus)
    return chosen


def held(hosts: list[Host], requests: list[Request]) -> list[Placement]:
    """What fills the hosts, each by itself: quicker than a policy's choice among all."""
    draw, taken = random.Random(1), []
    for host in hosts:
        alone = Inventory([host])
        for request in draw.choices(requests, k=OFFERED * len(host.gpus)):
            found = find(alone, request, BestFit(), Mode.NODE_BOUND)
            if found:
                alone.take(found)
                taken.append(found)
    return taken


def cost_us(
    hosts: list[Host], full: list[Placement], requests: list[Request], policy: str, mode: Mode
) -> tuple[float, float]:
    """Median and 99th percentile of microseconds for `place` and `take` in a pool that is nearly full."""
    inventory = Inventory(hosts)
    chosen = POLICIES[policy](requests, inventory.models)
    for placement in full:
        inventory.take(placement)
    draw, costs = random.Random(2), []
    for request in draw.choices(requests, k=TIMED):
        began = time.perf_counter()
        found = place(inventory, request, chosen, mode)
        if isinstance(found, Placement):
            inventory.take(found)
        costs.append((time.perf_counter() - began) * 1e6)
        if isinstance(found, Placement):
            inventory.release(found)
    return statistics.median(costs), statistics.quantiles(costs, n=100)[98]


def whole_trace_s(hosts: tuple[Host, ...], requests: list[Request], policy: str) -> float:
    """Seconds of CPU to place every task of the trace once, in its order, the policy's own preparation with it."""
    began = time.process_time()
    inventory = Inventory(hosts)
    chosen = POLICIES[policy](requests, inventory.models)
    for request in requests:
        found = place(inventory, request, chosen, Mode.NODE_BOUND)
        if isinstance(found, Placement):
            inventory.take(found)
    return time.process_time() - began


def costs(hosts: tuple[Host, ...], requests: list[Request]) -> list[str]:
    pools = [pool_of(hosts, size) for size in SIZES]
    full = [held(pool, requests) for pool in pools]
    head = " | ".join(f"{size:,} GPUs" for size in SIZES)
    rows = [f"| policy | mode | {head} | {len(requests):,} tasks |", "|---|---|" + "---:|" * (len(SIZES) + 1)]
    for policy in POLICIES:
        for mode in Mode:
            pairs = [cost_us(*pool, requests, policy, mode) for pool in zip(pools, full, strict=True)]
            cells = " | ".join(f"{median:.0f} ({p99:.0f}) µs" for median, p99 in pairs)
            all_tasks = f"{whole_trace_s(hosts, requests, policy):.1f} s" if mode is Mode.NODE_BOUND else ""
            rows.append(f"| {policy} | {mode} | {cells} | {all_tasks} |")
    return rows


def allocated(tables: list[Path]) -> list[str]:
    rows = [row for table in tables for row in json.loads(table.read_text())]
    lines = [
        "| variant | policy | mode | allocated % | least – most | published | against FGD's |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for row in sorted(rows, key=lambda row: row["variant"]):
        known = "" if row["published"] is None else f"{row['published']:.2f}"
        fgd = "" if row["published_fgd"] is None else f"{row['allocated_percent'] - row['published_fgd']:+.2f}"
        lines.append(
            f"| {row['variant']} | {row['policy']} | {row['mode']} | {row['allocated_percent']:.2f} "
            f"| {row['least']:.2f} – {row['most']:.2f} | {known} | {fgd} |"
        )
    return lines


def best_packing(trace: Trace) -> list[str]:
    lines = ["| variant | best packing, allocated % |", "|---|---:|"]
    for variant, file in sorted(trace.variants.items()):
        workload = Workload.of(read_requests(file))
        worth = worth_of_rest(workload)
        taken = sum(n * kind.gpus * kind.milli / 1000 for kind, n in workload.weighted())
        gpus = sum(n * kind.gpus * worth[kind.milli] for kind, n in workload.weighted())
        lines.append(f"| {variant} | {100 * taken / gpus:.2f} |")
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trace", type=Path, required=True)
    options.add_argument("tables", type=Path, nargs="*")
    given = options.parse_args()
    trace = read_trace(given.trace)
    priced = "\n".join(costs(trace.hosts, read_requests(trace.variants["default"])))
    possible = "\n".join(best_packing(trace))
    reached = "\n".join(allocated(given.tables))
    text = f"""# Placement

Made by `benchmarks/placement.py`; [how it is measured, and what it says](../docs/gpu-pool.md).

## What a placement costs

Median (99th percentile) of {TIMED} placements in a pool that is nearly full, its hosts drawn from the trace's. The
first of a shape prices every host, those after it only what changed. And CPU seconds for all tasks of the trace in
turn. One core, shared with other work: trust the ratios.

{priced}

## What is allocated

Mean of 10 seeds at a demand of 130 %, by `shoal gpu simulate`.

{reached}

## What can be allocated

What of the fewest GPUs that hold all of a variant's tasks is taken, if they are packed as well as can be with all of
them known: by linear programming, CPU and hosts left out of account. A share lies on one GPU, so that no policy that
places what fits comes far above it; a little it can, since small tasks still fill rests when others no longer fit.

{possible}
"""
    print(text)
    Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
