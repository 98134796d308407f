"""A gang: several requests of which all are placed, or none.

They are placed one after the other, the largest first. For requests that are alike, as a job's workers are, nothing
better can be done; where they differ this is the bin packing heuristic "first fit decreasing" with the policy's choice
for the first fit, and a gang may wait though a cleverer arrangement would have let it in.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.pool.inventory import Inventory
from shoal.pool.placement import place
from shoal.pool.policies.policy import Policy
from shoal.pool.request import Mode, Placement, Request, Unplaceable


def place_gang(
    inventory: Inventory, requests: Sequence[Request], policy: Policy, mode: Mode = Mode.NODE_BOUND
) -> tuple[Placement, ...] | Unplaceable:
    """Placements in the order of the requests. The inventory is left as it is."""
    order = sorted(range(len(requests)), key=lambda i: _size(requests[i]), reverse=True)
    found: dict[int, Placement] = {}
    try:
        for i in order:
            match place(inventory, requests[i], policy, mode):
                case Placement() as placement:
                    inventory.take(placement)
                    found[i] = placement
                case Unplaceable() as lacking:
                    others = f", with {len(found)} of its {len(requests)} requests placed" if found else ""
                    which = f"request {i + 1} of the gang{others}: " if len(requests) > 1 else ""
                    return Unplaceable(which + lacking.reason)
    finally:
        for placement in found.values():
            inventory.release(placement)
    return tuple(found[i] for i in range(len(requests)))


def _size(request: Request) -> tuple[int, ...]:
    return (
        request.gpus,
        request.milli,
        request.gpu_memory_mib,
        -len(request.models),
        request.cpu_milli,
        request.memory_mib,
    )
