"""Many replays of a trace, side by side in processes: every variant under every policy, mode and seed."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from shoal.gpu.trace import Trace, TraceError, read_requests, read_tasks
from shoal.pool.replay import Filled, Flow, fill, flow
from shoal.pool.request import Mode, Request

FIRST_SEED = 42
"""The seeds of the published figures begin here, too; what they draw depends on the program."""


class Case(NamedTuple):
    """A row of the table."""

    variant: str
    policy: str
    mode: Mode


@dataclass(frozen=True)
class Grown:
    """What a case's seeds reached when demand had grown to `percent`."""

    case: Case
    percent: float
    runs: tuple[Filled, ...]

    @property
    def mean(self) -> float:
        """Allocated percent."""
        return sum(run.allocated for run in self.runs) / len(self.runs)

    @property
    def least(self) -> float:
        return min(run.allocated for run in self.runs)

    @property
    def most(self) -> float:
        return max(run.allocated for run in self.runs)


def grow(trace: Trace, cases: Sequence[Case], seeds: int, percent: float, jobs: int) -> Iterator[Grown | None]:
    """Replay demand that grows to `percent` of the GPUs. Yields None at each replay that is done, then the cases."""
    requests = {variant: read_requests(trace.variants[variant]) for variant in dict.fromkeys(c.variant for c in cases)}
    for variant, asked in requests.items():
        if not any(request.gpus for request in asked):
            raise TraceError(f"{variant}: no task of the trace asks for a GPU", "leave the variant out with --variant")
    work = [(i, case, seed) for i, case in enumerate(cases) for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
    done: dict[tuple[int, int], Filled] = {}
    with get_context("fork").Pool(min(jobs, len(work)), _begin, (trace, requests, percent)) as pool:
        for i, seed, run in pool.imap_unordered(_fill, work):
            done[i, seed] = run
            yield None
    for i, case in enumerate(cases):
        yield Grown(case, percent, tuple(run for (of, _), run in sorted(done.items(), key=lambda d: d[0]) if of == i))


def live(trace: Trace, cases: Sequence[Case], percent: float) -> Iterator[tuple[Case, Flow]]:
    """Replay tasks at the times at which they came and went, on so many of the hosts, chosen by chance once."""
    count = max(1, round(len(trace.hosts) * percent / 100))
    hosts = random.Random(FIRST_SEED).sample(trace.hosts, count)
    for case in cases:
        yield case, flow(hosts, read_tasks(trace.variants[case.variant]), case.policy, case.mode)


def variants_with_times(trace: Trace) -> list[str]:
    """Those whose first line has the columns of `live`."""
    found = []
    for variant, file in trace.variants.items():
        with Path(file).open(encoding="utf-8") as text:
            if "deletion_time" in text.readline():
                found.append(variant)
    return found


_given: tuple[Trace, dict[str, list[Request]], float]
"""What a worker process was started with: sent once, not with each replay."""


def _begin(trace: Trace, requests: dict[str, list[Request]], percent: float) -> None:
    global _given
    _given = trace, requests, percent
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers


def _fill(work: tuple[int, Case, int]) -> tuple[int, int, Filled]:
    i, (variant, policy, mode), seed = work
    trace, requests, percent = _given
    return i, seed, fill(trace.hosts, requests[variant], policy, mode, percent, seed)
