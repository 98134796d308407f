"""What holds of every placement, under every policy: against all ways, tried one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.pool import GPU, Host, Inventory, Locality, Mode, Overdrawn, Placement, Request, Share, Unplaceable, place
from shoal.pool.policies import POLICIES
from shoal.pool.policies.best_fit import BestFit
from tests.unit.pool.pools import every_way, modes, policies, pools, requests


def canonical(placement: Placement) -> tuple[object, ...]:
    return placement.host, placement.cpu_milli, placement.memory_mib, frozenset(placement.shares)


@given(pools(), st.lists(requests, min_size=1, max_size=8), modes, policies)
def test_a_placement_is_one_of_all_ways_and_is_refused_only_where_there_is_none(hosts, asked, mode, name):
    inventory = Inventory(hosts)
    policy = POLICIES[name](asked, inventory.models)
    for request in asked:
        before = inventory.free.copy()
        found = place(inventory, request, policy, mode)
        assert (inventory.free == before).all()
        ways = {canonical(way) for way in every_way(inventory, request, mode)}
        if isinstance(found, Unplaceable):
            assert not ways
            assert found.reason
        else:
            assert canonical(found) in ways
            inventory.take(found)
            assert (inventory.free >= 0).all()
            assert (inventory.cpu >= 0).all()
            assert (inventory.memory >= 0).all()


@given(pools(), st.lists(st.tuples(requests, st.booleans()), max_size=10), requests, modes, policies)
def test_what_is_remembered_of_a_pool_is_what_a_fresh_look_finds(hosts, history, last, mode, name):
    inventory = Inventory(hosts)
    policy = POLICIES[name]([last], inventory.models)
    held: list[Placement] = []
    for request, release in history:
        place(inventory, last, policy, mode)
        found = place(inventory, request, policy, mode)
        if isinstance(found, Placement):
            inventory.take(found)
            held.append(found)
        if release and held:
            inventory.release(held.pop(0))
    fresh = Inventory(hosts)
    for placement in held:
        fresh.take(placement)
    assert place(inventory, last, policy, mode) == place(fresh, last, policy, mode)


@given(pools(), st.lists(requests, max_size=10), modes, policies)
def test_release_gives_back_exactly(hosts, asked, mode, name):
    inventory, untouched = Inventory(hosts), Inventory(hosts)
    policy = POLICIES[name](asked, inventory.models)
    held = []
    for request in asked:
        found = place(inventory, request, policy, mode)
        if isinstance(found, Placement):
            inventory.take(found)
            held.append(found)
    for placement in held:
        inventory.release(placement)
    for name in ("cpu", "memory", "free"):
        assert np.array_equal(getattr(inventory, name), getattr(untouched, name))
    assert inventory.allocated == 0


def test_nothing_is_taken_twice_or_released_twice():
    inventory = Inventory([Host("h", 1_000, 1_000, (GPU("A"), GPU("A")))])
    whole = Placement("h", 1_000, 0, (Share("h", 0, 1000), Share("h", 1, 1000)))
    inventory.take(whole)
    with pytest.raises(Overdrawn, match="h: CPU or memory"):
        inventory.take(whole)
    with pytest.raises(Overdrawn, match="h: GPU 1 has 0‰ free"):
        inventory.take(Placement(None, 0, 0, (Share("h", 1, 10),)))
    inventory.release(whole)
    with pytest.raises(Overdrawn):
        inventory.release(whole)
    half_there = Placement(None, 0, 0, (Share("h", 0, 500), Share("h", 0, 501)))
    with pytest.raises(Overdrawn):
        inventory.take(half_there)
    assert inventory.allocated == 0


def test_pooled_gpus_of_one_request_lie_on_as_few_hosts_as_may_be():
    hosts = [Host(f"h{i}", 8_000, 8_000, (GPU("A"),) * n) for i, n in enumerate([1, 2, 1, 3])]
    inventory = Inventory(hosts)
    found = place(inventory, Request(gpus=4, cpu_milli=1_000), BestFit(), Mode.POOLED)
    assert isinstance(found, Placement)
    assert {share.host for share in found.shares} <= {"h3", "h1", "h0", "h2"}
    assert len({share.host for share in found.shares}) == 2
    apart = [
        Host(f"{model}{i}", 0, 0, (GPU(model),) * n)
        for model, ns in (("A", [1, 1, 1]), ("B", [2, 1]))
        for i, n in enumerate(ns)
    ]
    fewer = place(Inventory(apart), Request(gpus=3), BestFit(), Mode.POOLED)
    assert isinstance(fewer, Placement)
    assert {share.host for share in fewer.shares} == {"B0", "B1"}
    demanded = place(inventory, Request(gpus=4, locality=Locality.DEMAND), BestFit(), Mode.POOLED)
    assert demanded == Unplaceable("4 GPUs asked for, and no host has more than 3 of them, free or not")


def test_a_drained_host_and_a_sick_gpu_take_nothing_new_and_come_back():
    host = Host("h", 1_000, 1_000, (GPU("A"),))
    inventory = Inventory([host])
    policy = BestFit()
    assert isinstance(place(inventory, Request(), policy), Placement)
    for shut in (
        Host("h", 1_000, 1_000, (GPU("A"),), drained=True),
        Host("h", 1_000, 1_000, (GPU("A", healthy=False),)),
    ):
        inventory.update(shut)
        assert isinstance(place(inventory, Request(), policy), Unplaceable)
    inventory.update(host)
    assert isinstance(place(inventory, Request(), policy), Placement)
    with pytest.raises(ValueError, match="other equipment"):
        inventory.update(Host("h", 2_000, 1_000, (GPU("A"),)))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"milli": 0}, "1 to 1000"),
        ({"milli": 1001}, "1 to 1000"),
        ({"gpus": -1}, "no negative"),
        ({"milli": 500, "gpu_memory_mib": 1}, "not by both"),
    ],
)
def test_a_request_that_means_nothing_is_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        Request(**wrong)
