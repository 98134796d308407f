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
from dataclasses import replace

from shoal.pool.gang import place_gang
from shoal.pool.inventory import Inventory
from shoal.pool.lease import Lease
from shoal.pool.ledger import Ledger
from shoal.pool.policies.best_fit import BestFit
from shoal.pool.request import Mode, Placement, Request, Unplaceable

POLICY = BestFit()

Requests = tuple[Request, ...]
Alike = deque[Lease]


def grant(ledger: Ledger, now: float) -> None:
    """Grant all that can be. Whoever waits on is told why."""
    kept: frozenset[str] = frozenset()
    headed = False
    refused: dict[Requests, str] = {}
    beyond: dict[tuple[str, Requests], str] = {}
    line = _Line(ledger, now)
    while alike := line.next():
        lease = alike[0]
        wanted = _without(lease.requests, kept, ledger.inventory.models)
        if wanted is None:
            line.pass_over(alike, "what is free is kept for one that has waited for long")
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
                        line.move_up(alike)
                        continue
                    reason = beyond[key] = f"tenant {lease.tenant} would hold {over}"
        line.pass_over(alike, reason)
        if not headed and key not in beyond and _possible(ledger.empty, lease.requests):
            headed = True
            if now - lease.asked_at >= ledger.terms.patience:
                kept = _models(ledger.empty, lease.requests)
                line.look_again()
            else:
                ledger.due(lease.asked_at + ledger.terms.patience)


def places(ledger: Ledger, tenant: str, now: float) -> dict[str, int]:
    """Which place each of the tenant's waiting leases has among these, from 1 on. What others wait for is theirs."""
    waiting = [lease for kind, alike in ledger.queue.items() if kind[0] == tenant for lease in alike.values()]
    waiting.sort(key=lambda lease: (-_level(ledger, lease, now), lease.number))
    return {lease.id: place for place, lease in enumerate(waiting, 1)}


def _level(ledger: Ledger, lease: Lease, now: float) -> int:
    return lease.priority + int((now - lease.asked_at) // ledger.terms.aging)


class _Line:
    """Those who wait, in order: of those that are alike in tenant, priority and requests the first stands for all, so
    that what a queue costs goes by how many kinds of request are in it. What is granted meanwhile counts for those of
    its tenant that follow."""

    def __init__(self, ledger: Ledger, now: float) -> None:
        self._ledger, self._now = ledger, now
        self._levels: defaultdict[int, defaultdict[str, list[tuple[int, Alike]]]]
        self._levels = defaultdict(lambda: defaultdict(list))
        self._passed: list[Alike] = []
        for each in ledger.queue.values():
            self._line_up(deque(each.values()))

    def next(self) -> Alike | None:
        """The next one, and those behind it that are alike. They leave the line."""
        if not self._levels:
            return None
        used, level = self._ledger.used, max(self._levels)
        tenants = self._levels[level]
        tenant = min(tenants, key=lambda tenant: (used[tenant].milli, tenants[tenant][0][1][0].asked_at, tenant))
        alike = heapq.heappop(tenants[tenant])[1]
        if not tenants[tenant]:
            del tenants[tenant]
        if not tenants:
            del self._levels[level]
        return alike

    def move_up(self, alike: Alike) -> None:
        """Line up all but the first."""
        alike.popleft()
        self._line_up(alike)

    def pass_over(self, alike: Alike, reason: str) -> None:
        for lease in alike:
            lease.reason = reason
        self._passed.append(alike)

    def look_again(self) -> None:
        """Line up again those that stand behind the ones that were passed over."""
        for alike in self._passed:
            self.move_up(alike)
        self._passed = []

    def _line_up(self, alike: Alike) -> None:
        if alike:
            lease = alike[0]
            level = _level(self._ledger, lease, self._now)
            heapq.heappush(self._levels[level][lease.tenant], (lease.number, alike))


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
