"""Who is next, and what may pass.

* **Order**: by priority, where every `terms.aging` seconds of waiting count as one more, so that nobody starves; among
  equals the tenant that holds least; within a tenant who came first.
* **What cannot be placed now is passed** by what can. But when the first of the queue has waited for `terms.patience`,
  the models of GPU that it could use are kept for it: only what uses none of these passes. What its tenant's quota
  holds back, or what the pool could not place if nothing were held, keeps nothing.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace

from shoal.pool.gang import place_gang
from shoal.pool.inventory import Inventory
from shoal.pool.lease import Lease, LeaseState
from shoal.pool.ledger import Ledger
from shoal.pool.policies.best_fit import BestFit
from shoal.pool.request import Mode, Placement, Request, Unplaceable

POLICY = BestFit()

Requests = tuple[Request, ...]


def grant(ledger: Ledger, now: float) -> None:
    """Grant all that can be. Whoever waits on is told why."""
    kept: frozenset[str] = frozenset()
    headed = False
    refused: dict[Requests, str] = {}
    beyond: dict[tuple[str, Requests], str] = {}
    for lease in _in_order(ledger, now):
        wanted = _without(lease.requests, kept, ledger.inventory.models)
        if wanted is None:
            lease.reason = "what is free is kept for one that has waited for long"
            continue
        key = lease.tenant, wanted
        reason = beyond.get(key) or refused.get(wanted)
        if reason is None:
            match place_gang(ledger.inventory, wanted, POLICY, Mode.POOLED):
                case Unplaceable() as lacking:
                    reason = refused[wanted] = lacking.reason
                case placements:
                    over = _over_quota(ledger, lease, placements)
                    if not over:
                        ledger.place(lease, placements)
                        continue
                    reason = beyond[key] = f"tenant {lease.tenant} would hold {over}"
        lease.reason = reason
        if not headed and key not in beyond and _possible(ledger.empty, lease.requests):
            headed = True
            if now - lease.asked_at >= ledger.terms.patience:
                kept = _models(ledger.empty, lease.requests)
            else:
                ledger.due(lease.asked_at + ledger.terms.patience)


def _in_order(ledger: Ledger, now: float) -> Iterator[Lease]:
    """Those who wait. What is granted meanwhile counts for those of its tenant that follow."""
    levels: defaultdict[int, defaultdict[str, deque[Lease]]] = defaultdict(lambda: defaultdict(deque))
    for lease in ledger.leases.values():  # in the order in which they came
        if lease.state is LeaseState.QUEUED:
            level = lease.priority + int((now - lease.asked_at) // ledger.terms.aging)
            levels[level][lease.tenant].append(lease)
    for level in sorted(levels, reverse=True):
        tenants = levels[level]
        heap = [(ledger.used[tenant].milli, waiting[0].asked_at, tenant) for tenant, waiting in tenants.items()]
        heapq.heapify(heap)
        while heap:
            tenant = heapq.heappop(heap)[2]
            yield tenants[tenant].popleft()
            if tenants[tenant]:
                heapq.heappush(heap, (ledger.used[tenant].milli, tenants[tenant][0].asked_at, tenant))


def _without(requests: Requests, kept: frozenset[str], models: list[str]) -> Requests | None:
    """The same on models that are not kept for another; None if one of them has none left."""
    if not kept:
        return requests
    left = [(request.models or frozenset(models)) - kept for request in requests]
    return (
        tuple(replace(request, models=each) for request, each in zip(requests, left, strict=True))
        if all(left)
        else None
    )


def _over_quota(ledger: Ledger, lease: Lease, placements: tuple[Placement, ...]) -> str:
    shares = [share for placement in placements for share in placement.shares]
    return ledger.quota(lease.tenant).exceeded(ledger.used[lease.tenant] + ledger.amount(shares))


def _possible(empty: Inventory, requests: Requests) -> bool:
    return not isinstance(place_gang(empty, requests, POLICY, Mode.POOLED), Unplaceable)


def _models(empty: Inventory, requests: Requests) -> frozenset[str]:
    return frozenset(
        gpu.model
        for request in requests
        for host in empty.hosts
        for gpu in host.gpus
        if (not request.models or gpu.model in request.models) and gpu.memory_mib >= request.gpu_memory_mib
    )
