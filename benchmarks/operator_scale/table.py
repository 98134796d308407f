"""The tables of benchmarks/operator_scale.md."""

from __future__ import annotations

import argparse
import datetime
import math
import os
import platform
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.operator_scale.contenders import Shoal
from benchmarks.operator_scale.scenarios import RECOVERY_SECONDS, Measured
from tests.cluster.binaries import kubernetes_version

ByName = dict[str, list[Measured]]

NOTES = """\
* **Writes.** A headless Service for each replica is nearly half of all writes. One Service for the whole job would save
  them, and give pods addresses such as `job-worker-0.job.namespace.svc`; TFJob users know `job-worker-0.namespace.svc`,
  which needs one for each.
* **Bare client.** `peers/bare`: Go's standard library, the cheapest client that there is for the cores that it shares
  with the server.
* **Recovery.** Each pod that is lost spends a retry of its job; those that are lost together wait as one
  (`shoal.training.retry_budget`).
* **CPU.** Beneath httpx2 requests travel by aiohttp: httpx2's own transport looks at each connection of its pool twice
  for each request. For a job of 500 replicas that took the operator's CPU from 4.7 s to 2.6 s.
* **Limit.** Percentiles are of the jobs that got all their pods within the limit. Where some did not, they and their
  ratio say nothing of the rest.
* **Kubeflow's operator** runs without its webhook, as Shoal has none here. Its writes include its events.
"""


@dataclass
class Results:
    """What was measured, a list an entry a round."""

    bare: list[float] = field(default_factory=list)
    large: ByName = field(default_factory=dict)
    small: ByName = field(default_factory=dict)
    beside: ByName = field(default_factory=dict)
    began: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    load: tuple[float, float, float] = field(default_factory=os.getloadavg)


def tables(results: Results, chosen: argparse.Namespace) -> str:
    """All of the file."""
    parts = ["# The operator under load", _head(results, chosen)]
    if results.bare:
        parts += [f"## One job of {chosen.replicas:,} replicas: to its last pod", _large(results)]
        parts += [
            f"## {chosen.replicas // 10:,} of its pods deleted at once: to the successor running",
            _recovery(results),
        ]
    if results.small:
        parts += [
            f"## {chosen.jobs:,} jobs of {chosen.size} at once: from creation to the last pod",
            _small(results, chosen),
        ]
    if results.bare or results.small:
        parts += ["## Who is busy: CPU seconds", _busy(results, chosen)]
    return "\n\n".join([*parts, "## Notes", NOTES])


def _head(results: Results, chosen: argparse.Namespace) -> str:
    minutes = (datetime.datetime.now(datetime.UTC) - results.began).total_seconds() / 60
    before, after = results.load, os.getloadavg()
    return (
        f"{results.began:%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"Kubernetes {kubernetes_version()}; {chosen.rounds} rounds (Kubeflow's operator: {chosen.peer_rounds}), "
        f"taking turns, {minutes:.0f} minutes.\nLoad average before {before[0]:.1f}, after {after[0]:.1f} (15 minutes: "
        f"{after[2]:.1f}). Limit for each: {chosen.limit:.0f} s. Medians; the spread is from – to.\n"
        "Made by `python -m benchmarks.operator_scale`."
    )


def _large(results: Results) -> str:
    bare = results.bare
    rows = [["bare client", *_spread(bare, "s"), "1.00", "", "", ""]]
    for name, rounds in results.large.items():
        whole = [each.created[0] for each in rounds if each.whole]
        speeds = [a / b.created[0] for a, b in zip(bare, rounds, strict=False) if b.whole]
        ratio = f"{statistics.median(speeds):.2f}" if speeds else ""
        rows.append([name, *_spread(whole, "s"), ratio, *_costs(rounds, 1)])
    return _table(["", "seconds", "from – to", "speed, bare = 1", "writes (of these events)", "CPU s", "peak MB"], rows)


def _recovery(results: Results) -> str:
    rounds = [each.recovered for each in results.large[Shoal.name] if each.recovered]
    within = [f"{sum(map(math.isfinite, each))} of {len(each)}" for each in rounds]
    rows = [[Shoal.name, ", ".join(within), *_p50_p99(rounds)]]
    return _table(["", f"within {RECOVERY_SECONDS:.0f} s", "p50 s", "p99 s", "p99 from – to"], rows)


def _small(results: Results, chosen: argparse.Namespace) -> str:
    rows = []
    alone = results.small.get(Shoal.name, [])
    for name, rounds in [*results.small.items(), *results.beside.items()]:
        beside = rounds is results.beside.get(name)
        label = f"{name}, beside {chosen.finished:,} finished jobs" if beside else name
        finished = f"{statistics.median(len(each.created) for each in rounds):.0f} of {chosen.jobs}"
        ratio = ""
        if beside and alone:
            pairs = zip(rounds, alone, strict=False)
            ratio = f"{statistics.median(_p99(a.created) / _p99(b.created) for a, b in pairs):.2f}"
        rows.append(
            [label, finished, *_p50_p99([each.created for each in rounds]), ratio, *_costs(rounds, chosen.jobs)]
        )
    head = ["", "complete", "p50 s", "p99 s", "p99 from – to", "p99, alone = 1", "writes a job (of these events)"]
    return _table([*head, "CPU s", "peak MB"], rows)


def _busy(results: Results, chosen: argparse.Namespace) -> str:
    loads: list[tuple[str, Mapping[str, Sequence[Measured]]]] = [
        (f"1 × {chosen.replicas:,}", results.large),
        (f"{chosen.jobs:,} × {chosen.size}", results.small),
        (f"{chosen.jobs:,} × {chosen.size} beside {chosen.finished:,}", results.beside),
    ]
    rows, names = [], list[str]()
    for load, found in loads:
        for contender, rounds in found.items():
            names = list(rounds[0].spent.seconds)
            wall = statistics.median(each.wall for each in rounds)
            seconds = [statistics.median(each.spent.seconds[name] for each in rounds) for name in names]
            rows.append([f"{load}, {contender}", *(f"{value:.1f}" for value in (wall, *seconds))])
    return _table(["load, contender", "wall s", *names], rows)


def _costs(rounds: Sequence[Measured], jobs: int) -> list[str]:
    writes = _median(rounds, lambda each: each.writes / jobs)
    events = _median(rounds, lambda each: each.events / jobs)
    told = f"{writes:,.1f} ({events:,.1f})" if events >= 0 else f"{writes:,.1f}"
    cpu = _median(rounds, lambda each: each.spent.seconds["operator"])
    return [told, f"{cpu:.1f}", f"{_median(rounds, lambda each: each.peak):.0f}"]


def _p50_p99(rounds: Sequence[Sequence[float]]) -> list[str]:
    rounds = [each for each in rounds if each]
    if not rounds:
        return ["none", "none", ""]
    high = [_p99(each) for each in rounds]
    middle = statistics.median(statistics.median(each) for each in rounds)
    if math.isinf(max(high)):
        return [f"{middle:.2f}" if math.isfinite(middle) else "later", "later", ""]
    return [f"{middle:.2f}", f"{statistics.median(high):.2f}", f"{min(high):.2f} – {max(high):.2f}"]


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[max(0, -(-len(values) * 99 // 100) - 1)]


def _spread(values: Sequence[float], unit: str) -> list[str]:
    if not values:
        return ["not within the limit", ""]
    return [f"{statistics.median(values):.2f}", f"{min(values):.2f} – {max(values):.2f}"]


def _median(rounds: Iterable[Measured], value: Callable[[Measured], float]) -> float:
    return statistics.median(value(each) for each in rounds)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
