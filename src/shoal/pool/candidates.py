"""Every way in which hosts can take a request, and the cheapest of each.

A way is a host and which of its GPUs. One GPU may be any that has room; of several, the fullest that have it, since
whole ones are alike. Prices are remembered for each shape of request, and made anew only for hosts that changed since:
a placement changes one host or a few, whatever the pool's size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.pool.arrays import Bools, Floats, Ints
from shoal.pool.inventory import Inventory
from shoal.pool.policies.policy import Policy, States
from shoal.pool.request import WHOLE, Request

REMEMBERED = 512
"""Shapes of requests whose prices are kept; the oldest goes first."""

PLENTY = 1 << 40
"""CPU of every host where GPUs are asked for alone: it is no part of the question."""


@dataclass
class Prices:
    """The cheapest way on each host for one shape of request, infinite where there is none. Memory is not looked at."""

    price: Floats
    chosen: Bools
    seen: int = -1


def prices(inventory: Inventory, request: Request, policy: Policy, bound: bool) -> Prices:
    """Of all hosts as they are now. Unless `bound`, CPU is not looked at either."""
    key = (policy, bound, request.gpus, request.milli, request.gpu_memory_mib, request.cpu_milli, request.models)
    kept = inventory.remembered.get(key)
    if kept is None:
        if len(inventory.remembered) >= REMEMBERED:
            del inventory.remembered[next(iter(inventory.remembered))]
        kept = Prices(np.full(len(inventory.hosts), np.inf), np.zeros(inventory.free.shape, np.bool_))
        inventory.remembered[key] = kept
    rows = np.flatnonzero(inventory.touched > kept.seen)
    if rows.size:
        kept.price[rows], kept.chosen[rows] = _priced(inventory, rows, request, policy, bound)
        kept.seen = inventory.changes
    return kept


def demand(inventory: Inventory, rows: Ints, request: Request) -> Ints:
    """Thousandths that the request takes of each GPU: more than a whole one where its memory does not suffice."""
    if not request.gpu_memory_mib:
        return np.full((len(rows), inventory.free.shape[1]), request.milli, np.int64)
    memory = inventory.gpu_memory[rows]
    needed: Ints = -(-WHOLE * request.gpu_memory_mib // np.maximum(memory, 1))
    return np.where(memory > 0, needed, WHOLE + 1)


def of_wanted_model(inventory: Inventory, rows: Ints, request: Request) -> Bools:
    """Which GPUs of these hosts are there, and of a model that the request takes."""
    there: Bools = inventory.model[rows] >= 0
    if request.models:
        wanted = [i for i, model in enumerate(inventory.models) if model in request.models]
        there &= np.isin(inventory.model[rows], wanted)
    return there


def room(inventory: Inventory, rows: Ints, request: Request) -> Bools:
    """Which GPUs of these hosts can take the request's share now."""
    fits = inventory.free[rows] >= demand(inventory, rows, request)
    usable: Bools = inventory.usable[rows] & inventory.taking[rows, None]
    return of_wanted_model(inventory, rows, request) & usable & fits


def _priced(inventory: Inventory, rows: Ints, request: Request, policy: Policy, bound: bool) -> tuple[Floats, Bools]:
    cpu = inventory.cpu[rows] if bound else np.full(len(rows), PLENTY)
    usable = inventory.usable[rows]
    before = States(cpu, np.where(usable, inventory.free[rows], 0), inventory.model[rows])
    able = inventory.taking[rows] & (cpu >= request.cpu_milli)
    needed = demand(inventory, rows, request)
    of, chosen = _ways(before, request, needed, room(inventory, rows, request) & able[:, None], able)
    best: Floats = np.full(len(rows), np.inf)
    picked: Bools = np.zeros(usable.shape, np.bool_)
    if of.size:
        left = before[of]
        after = States(left.cpu - request.cpu_milli, left.gpus - np.where(chosen, needed[of], 0), left.models)
        price = policy.price(before, after, of)
        tightness = np.where(chosen, after.gpus, 0).sum(axis=1)
        order = np.lexsort((tightness, price, of))
        _, first = np.unique(of[order], return_index=True)
        cheapest = order[first]
        best[of[cheapest]], picked[of[cheapest]] = price[cheapest], chosen[cheapest]
    return best, picked


def _ways(before: States, request: Request, needed: Ints, has_room: Bools, able: Bools) -> tuple[Ints, Bools]:
    """Rows of hosts with the GPUs chosen on each, one a way."""
    width = before.gpus.shape[1]
    if request.gpus == 0:
        rows = np.flatnonzero(able)
        return rows, np.zeros((len(rows), width), np.bool_)
    if request.gpus == 1:
        rows, gpus = np.nonzero(has_room & ~_repeated(before, needed, has_room))
        return rows, np.arange(width) == gpus[:, None]
    of, chosen = [], []
    for model in np.unique(before.models[has_room]):
        there = has_room & (before.models == model)
        rows = np.flatnonzero(there.sum(axis=1) >= request.gpus)
        left = np.where(there, before.gpus - needed, WHOLE + 1)[rows]
        rank = left.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        of.append(rows)
        chosen.append(rank < request.gpus)
    if not of:
        return np.zeros(0, np.int64), np.zeros((0, width), np.bool_)
    return np.concatenate(of), np.concatenate(chosen)


def _repeated(before: States, needed: Ints, has_room: Bools) -> Bools:
    """GPUs like one before them on the same host: nobody needs to ask for their price again."""
    alike = (before.gpus * WHOLE + needed) * WHOLE + before.models
    twins = (alike[:, :, None] == alike[:, None, :]) & has_room[:, None, :]
    found: Bools = (twins & np.tri(alike.shape[1], k=-1, dtype=np.bool_)).any(axis=2)
    return found
