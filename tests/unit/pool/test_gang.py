"""All of a gang or none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shoal.pool import GPU, Host, Inventory, Placement, Request, Unplaceable, place, place_gang
from shoal.pool.policies.best_fit import BestFit
from tests.unit.pool.pools import every_way, modes, pools, requests


def possible(inventory: Inventory, request: Request, times: int, mode) -> bool:
    """Whether the request can be placed so often, by trying every way of every one."""
    if not times:
        return True
    for way in list(every_way(inventory, request, mode)):
        inventory.take(way)
        rest = possible(inventory, request, times - 1, mode)
        inventory.release(way)
        if rest:
            return True
    return False


single = requests.filter(lambda request: request.gpus <= 1)


@given(pools(), st.lists(requests, min_size=1, max_size=4), modes)
def test_a_gang_is_placed_whole_and_leaves_the_inventory_as_it_was(hosts, gang, mode):
    inventory = Inventory(hosts)
    found = place_gang(inventory, gang, BestFit(), mode)
    assert inventory.allocated == 0
    assert (inventory.cpu == Inventory(hosts).cpu).all()
    if isinstance(found, tuple):
        assert len(found) == len(gang)
        for placement, request in zip(found, gang, strict=True):
            assert len(placement.shares) == request.gpus
            inventory.take(placement)


@given(pools(), single, st.integers(1, 3), modes)
def test_a_gang_of_equals_is_refused_only_where_no_arrangement_would_do(hosts, request_, times, mode):
    inventory = Inventory(hosts)
    found = place_gang(inventory, [request_] * times, BestFit(), mode)
    assert isinstance(found, tuple) == possible(inventory, request_, times, mode)


def test_placements_stand_in_the_order_of_the_requests():
    inventory = Inventory([Host("one", 1, 1, (GPU("A"),)), Host("four", 1, 1, (GPU("A"),) * 4)])
    found = place_gang(inventory, [Request(gpus=1), Request(gpus=4)], BestFit())
    assert isinstance(found, tuple)
    assert [placement.host for placement in found] == ["one", "four"]
    refused = place_gang(inventory, [Request(gpus=1), Request(gpus=4), Request(gpus=2)], BestFit())
    assert isinstance(refused, Unplaceable)
    assert refused.reason.startswith("request 3 of the gang, with 1 of its 3 requests placed: 2 GPUs asked for")
    assert isinstance(place(inventory, Request(gpus=4), BestFit()), Placement)
