from __future__ import annotations

from shoal.pool.lease import LeaseState
from shoal.pool.ledger import Terms
from shoal.pool.quota import Quota
from shoal.pool.request import Request
from tests.unit.pool.brokered import WHOLE, Pool, gpus

TWO = Request(gpus=2)


def granted(pool: Pool) -> list[str]:
    return [lease.id for lease in pool.ledger.leases.values() if lease.state is not LeaseState.QUEUED]


def test_a_higher_priority_goes_first_and_waiting_counts_as_priority() -> None:
    pool = Pool({"h": gpus(1)}, Terms(aging=100))
    running = pool.ask()
    pool.talk()
    old = pool.ask()
    pool.wait(150)
    high, higher = pool.ask(priority=1), pool.ask(priority=2)
    for freed, expected in ((running, higher), (higher, old), (old, high)):
        pool.release(freed)
        pool.talk()
        assert expected.state is LeaseState.RUNNING, "of equals, by waiting or not, who came first"


def test_among_equals_the_tenant_that_holds_least_is_next() -> None:
    pool = Pool({"h": gpus(4)})
    for _ in range(5):
        pool.ask(tenant="many", decided=False)
    for _ in range(3):
        pool.ask(tenant="few", decided=False)
    pool.decide()
    assert granted(pool) == ["l1", "l2", "l6", "l7"]


def test_who_fits_passes_the_first_of_the_queue_until_its_patience_ends() -> None:
    pool = Pool({"h": gpus(2)}, Terms(patience=60))
    held = pool.ask()
    large = pool.ask(TWO)
    small = pool.ask()
    assert (large.state, small.state) == (LeaseState.QUEUED, LeaseState.GRANTED)
    pool.talk()
    pool.wait(60)
    pool.release(small)
    pool.talk()
    late = pool.ask()
    assert late.state is LeaseState.QUEUED
    assert late.reason == "what is free is kept for one that has waited for long"
    pool.release(held)
    pool.talk()
    assert large.state is LeaseState.RUNNING


def test_those_that_are_alike_are_told_what_holds_them_back_and_none_is_forgotten() -> None:
    pool = Pool({"h": gpus(2)}, Terms(patience=60))
    held = pool.ask()
    pool.talk()
    first, *others = [pool.ask(TWO) for _ in range(3)]
    assert {lease.reason for lease in others} == {first.reason}
    pool.wait(60)
    pool.decide()
    assert first.reason.startswith("2 GPUs asked for")
    assert {lease.reason for lease in others} == {"what is free is kept for one that has waited for long"}
    for ended, granted_now in zip((held, first, others[0]), (first, *others), strict=True):
        pool.release(ended)
        pool.talk()
        assert granted_now.state is LeaseState.RUNNING
    assert not pool.ledger.queue


def test_patience_ends_by_time_alone() -> None:
    pool = Pool({"h": gpus(2)}, Terms(patience=60, silence=1000, renewal=1000))
    pool.ask()
    pool.ask(TWO)
    pool.talk()
    assert pool.decide().wake_at <= pool.now + 60


def test_what_the_first_could_not_use_is_not_kept_for_it() -> None:
    pool = Pool({"a": gpus(1, "A"), "b": gpus(2, "B")}, Terms(patience=60))
    pool.ask(Request(models=frozenset("A")))
    pool.ask(Request(models=frozenset("A")))
    pool.wait(60)
    anything = pool.ask()
    assert anything.state is LeaseState.GRANTED
    assert anything.grant.hosts == {"b"}
    assert pool.ask(Request(models=frozenset("A"))).state is LeaseState.QUEUED


def test_nothing_is_kept_for_what_the_pool_can_never_place_or_its_own_quota_holds_back() -> None:
    pool = Pool({"h": gpus(2)}, Terms(patience=60), {"poor": Quota(milli=1000)})
    pool.ask(tenant="poor")
    pool.ask(tenant="poor")
    pool.ask(Request(gpus=3))
    pool.wait(100)
    assert pool.ask(priority=-1).state is LeaseState.GRANTED


def test_all_of_a_gang_or_none() -> None:
    pool = Pool({"h": gpus(3)})
    first = pool.ask(WHOLE, WHOLE)
    second = pool.ask(WHOLE, WHOLE)
    assert (first.state, second.state) == (LeaseState.GRANTED, LeaseState.QUEUED)
    assert second.reason.startswith("request 2 of the gang, with 1 of its 2 requests placed: one GPU asked for")
