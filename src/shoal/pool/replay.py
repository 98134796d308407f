"""Two replays of a trace against a policy: demand that grows past the pool, and tasks as they came and went."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.pool.inventory import Host, Inventory
from shoal.pool.placement import find
from shoal.pool.policies import POLICIES
from shoal.pool.request import Mode, Placement, Request


@dataclass(frozen=True)
class Filled:
    """What of the GPUs was allocated, in percent, when all of the demand had come."""

    allocated: float
    placed: int
    skipped: int


@dataclass(frozen=True)
class Task:
    """A request of a trace, with the seconds at which it came and went."""

    request: Request
    arrives: int
    leaves: int


@dataclass(frozen=True)
class Flow:
    """How long tasks waited, in seconds, and what of the GPUs was allocated, in percent.

    The mean of what was allocated is over the time from the first arrival to the last.
    """

    tasks: int
    waited: int
    never: int
    delay_mean: float
    delay_p95: float
    delay_max: float
    allocated_mean: float
    allocated_peak: float


def sampled(requests: Sequence[Request], capacity: int, percent: float, seed: int) -> list[Request]:
    """Requests drawn with replacement until they ask for `percent` of a capacity in thousandths of a GPU."""
    if not any(request.gpus for request in requests):
        raise ValueError("no task of the trace asks for a GPU, so that no demand for GPUs can grow from it")
    draw, drawn, asked = random.Random(seed), [], 0
    while asked < capacity * percent / 100:
        drawn.append(draw.choice(requests))
        asked += drawn[-1].gpus * drawn[-1].milli
    return drawn


def fill(
    hosts: Sequence[Host], requests: Sequence[Request], policy: str, mode: Mode, percent: float, seed: int
) -> Filled:
    """Place sampled requests in the order of their arrival; what does not fit is skipped, and nothing leaves.

    Equal hosts are told apart by their order, which the seed decides, too.
    """
    order = list(hosts)
    random.Random(seed).shuffle(order)
    inventory = Inventory(order)
    chosen = POLICIES[policy](requests, inventory.models)
    placed = 0
    arriving = sampled(requests, inventory.capacity, percent, seed)
    for request in arriving:
        placement = find(inventory, request, chosen, mode)
        if placement:
            inventory.take(placement)
            placed += 1
    return Filled(100 * inventory.allocated / inventory.capacity, placed, len(arriving) - placed)


def flow(hosts: Sequence[Host], tasks: Iterable[Task], policy: str, mode: Mode) -> Flow:
    """Let tasks come and go at their own times. What does not fit waits; those behind it may pass.

    A task that waited stays as long as it stayed in the trace.
    """
    arriving = sorted(tasks, key=lambda task: task.arrives)
    inventory = Inventory(hosts)
    chosen = POLICIES[policy]([task.request for task in arriving], inventory.models)
    leaving: list[tuple[int, int]] = []
    placements: dict[int, Placement] = {}
    delays: list[int] = []
    waiting: list[int] = []
    now = began = arriving[0].arrives if arriving else 0
    last = arriving[-1].arrives if arriving else 0
    area, peak, at = 0.0, 0, 0
    while at < len(arriving) or leaving:
        due = min(([arriving[at].arrives] if at < len(arriving) else []) + ([leaving[0][0]] if leaving else []))
        if at < len(arriving):
            area += inventory.allocated * (due - now)
        now = due
        fresh = []
        freed = False
        while leaving and leaving[0][0] <= now:
            inventory.release(placements.pop(heapq.heappop(leaving)[1]))
            freed = True
        while at < len(arriving) and arriving[at].arrives <= now:
            fresh.append(at)
            at += 1
        # What found no room before finds none now, unless something left.
        asking, waiting = ([*waiting, *fresh], []) if freed else (fresh, waiting)
        refused: set[Request] = set()
        for i in asking:
            task = arriving[i]
            placement = None if task.request in refused else find(inventory, task.request, chosen, mode)
            if placement is None:
                refused.add(task.request)
                waiting.append(i)
                continue
            inventory.take(placement)
            placements[i] = placement
            heapq.heappush(leaving, (now + max(task.leaves - task.arrives, 0), i))
            delays.append(now - task.arrives)
        peak = max(peak, inventory.allocated)
    share = 100 / inventory.capacity if inventory.capacity else 0.0
    waited = np.array(delays or [0])
    return Flow(
        len(arriving),
        int((waited > 0).sum()),
        len(waiting),
        float(waited.mean()),
        float(np.percentile(waited, 95)),
        float(waited.max()),
        area / max(last - began, 1) * share,
        peak * share,
    )
