"""`place(inventory, request, policy)`: where a request goes, or what lacks. A pure function of what it is given.

Whatever fits somewhere is placed: a policy says where, never whether.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.pool.candidates import demand, prices, room
from shoal.pool.inventory import Inventory
from shoal.pool.policies.best_fit import BestFit
from shoal.pool.policies.policy import Policy
from shoal.pool.reasons import what_lacks
from shoal.pool.request import Locality, Mode, Placement, Request, Share, Unplaceable

SPARING = BestFit()
"""Where CPU and memory go that are asked for apart from GPUs."""


def place(
    inventory: Inventory, request: Request, policy: Policy, mode: Mode = Mode.NODE_BOUND
) -> Placement | Unplaceable:
    """Choose for one request. The inventory is left as it is: `inventory.take` makes the placement true."""
    return find(inventory, request, policy, mode) or what_lacks(inventory, request, mode)


def find(inventory: Inventory, request: Request, policy: Policy, mode: Mode) -> Placement | None:
    """The same for those who do not ask why, which takes a third of the time where a pool is full."""
    if mode is Mode.NODE_BOUND:
        return _on_one_host(inventory, request, policy, bound=True)
    return _pooled(inventory, request, policy)


def _pooled(inventory: Inventory, request: Request, policy: Policy) -> Placement | None:
    """CPU and memory by themselves, and the GPUs wherever they are."""
    beside = Placement(None, 0, 0, ())
    if request.cpu_milli or request.memory_mib or not request.gpus:
        found = _on_one_host(inventory, replace(request, gpus=0), SPARING, bound=True)
        if found is None:
            return None
        beside = found
    if not request.gpus:
        return beside
    alone = replace(request, cpu_milli=0, memory_mib=0)
    gpus = _on_one_host(inventory, alone, policy, bound=False)
    if gpus is None and request.gpus > 1 and request.locality is not Locality.DEMAND:
        gpus = _over_hosts(inventory, alone)
    return replace(beside, shares=gpus.shares) if gpus else None


def _on_one_host(inventory: Inventory, request: Request, policy: Policy, bound: bool) -> Placement | None:
    if not inventory.hosts:
        return None
    found = prices(inventory, request, policy, bound)
    price = np.where(inventory.memory >= request.memory_mib, found.price, np.inf) if bound else found.price
    row = int(price.argmin())
    if price[row] == np.inf:
        return None
    host = inventory.hosts[row].name
    needed = demand(inventory, np.array([row]), request)[0]
    shares = tuple(Share(host, int(j), int(needed[j])) for j in np.flatnonzero(found.chosen[row]))
    return Placement(host if bound else None, request.cpu_milli, request.memory_mib, shares)


def _over_hosts(inventory: Inventory, request: Request) -> Placement | None:
    """GPUs of one model from as few hosts as may be: those with the most room first, and the fullest GPUs of each."""
    rows = np.arange(len(inventory.hosts))
    needed = demand(inventory, rows, request)
    there = room(inventory, rows, request)
    best: tuple[int, tuple[Share, ...]] | None = None
    for model in np.unique(inventory.model[there]):
        of_model = there & (inventory.model == model)
        count = of_model.sum(axis=1)
        if count.sum() < request.gpus:
            continue
        shares: list[Share] = []
        hosts = 0
        for row in np.argsort(-count, kind="stable"):
            if len(shares) == request.gpus:
                break
            hosts += 1
            gpus = np.flatnonzero(of_model[row])
            fullest = gpus[np.argsort(inventory.free[row, gpus] - needed[row, gpus], kind="stable")]
            name = inventory.hosts[row].name
            shares += [Share(name, int(j), int(needed[row, j])) for j in fullest[: request.gpus - len(shares)]]
        if best is None or hosts < best[0]:
            best = hosts, tuple(shares)
    return Placement(None, 0, 0, best[1]) if best else None
