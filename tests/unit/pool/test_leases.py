from __future__ import annotations

from dataclasses import replace

import pytest

from shoal.pool.brokerage import Settling, asked_before
from shoal.pool.inventory import GPU
from shoal.pool.lease import Ask, Grant, LeaseState
from shoal.pool.ledger import Ledger, Refused, Terms
from shoal.pool.quota import Quota
from shoal.pool.report import Held, Report
from shoal.pool.request import Locality, Request, Share
from tests.unit.pool.brokered import HALF, WHOLE, Pool, gpus

LIVES = Terms(idle=100, notice=30)


def test_a_lease_is_granted_runs_is_released_and_its_share_is_free_when_the_agent_has_said_so() -> None:
    pool = Pool({"h": gpus(1)})
    lease = pool.ask()
    assert (lease.state, lease.shares) == (LeaseState.GRANTED, (Share("h", 0, 1000),))
    pool.talk()
    assert (lease.state, lease.addresses) == (LeaseState.RUNNING, {"h": "h:1"})
    second = pool.ask()
    pool.release(lease)
    assert second.state is LeaseState.QUEUED, "the agent may hold the first one still"
    pool.talk()
    assert second.state is LeaseState.RUNNING
    assert pool.agents["h"].grants == (second.grant,)


def test_a_share_is_held_from_the_moment_in_which_the_agent_is_told() -> None:
    pool = Pool({"h": gpus(1)})
    lost = pool.ask()
    pool.ledger.hear(pool.agents["h"].report(), pool.now)  # the answer, with the grant, does not arrive
    pool.release(lost)
    assert pool.ask().state is LeaseState.QUEUED
    pool.talk()
    assert pool.lease("l2").state is LeaseState.RUNNING


def test_a_grant_whose_answer_is_lost_is_sent_again() -> None:
    pool = Pool({"h": gpus(1)})
    lease = pool.ask()
    for _ in range(3):
        pool.ledger.hear(pool.agents["h"].report(), pool.now)
    assert lease.state is LeaseState.GRANTED
    pool.talk()
    assert lease.state is LeaseState.RUNNING


def test_a_report_that_comes_late_is_not_believed() -> None:
    pool = Pool({"h": gpus(1)})
    late = pool.agents["h"].report()
    lease = pool.ask()
    pool.talk()
    answer = pool.ledger.hear(late, pool.now)
    assert answer.grants is None
    assert lease.state is LeaseState.RUNNING


def test_a_report_to_an_earlier_broker_is_not_believed() -> None:
    pool = Pool({"h": gpus(1)})
    late = pool.agents["h"].report()
    pool.ask()
    pool.talk()
    pool.restart()
    assert pool.ledger.hear(late, pool.now).grants is None
    assert not pool.ledger.hosts


def test_an_answer_is_not_heeded_once_another_report_is_on_its_way() -> None:
    pool = Pool({"h": gpus(1)})
    lease = pool.ask()
    agent = pool.agents["h"]
    late = pool.ledger.hear(agent.report(), pool.now)
    assert late.grants == (lease.grant,)
    agent.report()
    assert agent.heed(late, pool.now) == []


def test_a_server_that_ends_by_itself_ends_the_lease_on_all_hosts() -> None:
    pool = Pool({"g": gpus(1), "h": gpus(1)})
    lease = pool.ask(Request(gpus=2))
    pool.talk()
    assert lease.state is LeaseState.RUNNING
    pool.agents["g"].gone(lease.id)
    pool.talk()
    assert (lease.state, lease.reason) == (LeaseState.LOST, "g holds it no more")
    assert not pool.agents["h"].grants
    assert pool.ledger.inventory.allocated == 0


def test_a_server_that_cannot_start_ends_its_lease_though_nobody_had_heard_of_it() -> None:
    pool = Pool({"h": gpus(1)})
    lease = pool.ask()
    agent = pool.agents["h"]
    agent.heed(pool.ledger.hear(agent.report(), pool.now), pool.now)
    agent.gone(lease.id)
    pool.talk()
    assert lease.state is LeaseState.LOST


def test_who_does_not_renew_loses_it_queued_or_not() -> None:
    pool = Pool({"h": gpus(1)})
    held, queued = pool.ask(), pool.ask()
    pool.talk()
    pool.wait(29, renew=False)
    assert (held.state, queued.state) == (LeaseState.RUNNING, LeaseState.QUEUED)
    pool.ledger.renew(held, pool.now)
    pool.wait(2, renew=False)
    assert (held.state, queued.state) == (LeaseState.RUNNING, LeaseState.EXPIRED)
    pool.wait(30, renew=False)
    assert held.state is LeaseState.EXPIRED
    assert not pool.agents["h"].grants


def test_a_host_that_falls_silent_takes_nothing_new_then_its_leases_are_lost() -> None:
    pool = Pool({"h": gpus(2)})
    lease = pool.ask()
    pool.talk()
    pool.wait(21, talk=False)
    assert lease.state is LeaseState.RUNNING
    assert pool.ask().state is LeaseState.QUEUED
    pool.wait(100, talk=False)
    assert (lease.state, lease.reason) == (LeaseState.LOST, "nothing was heard of h for 120 s")
    pool.talk()
    assert [grant.lease for grant in pool.agents["h"].grants] == ["l2"], "back, it is told what to end, and takes again"


def test_a_host_that_stays_away_is_forgotten_and_known_again_when_it_is_back() -> None:
    pool = Pool({"h": gpus(1)})
    lease = pool.ask()
    pool.talk()
    pool.wait(601, talk=False)
    assert not pool.ledger.hosts
    assert lease.state is LeaseState.LOST
    pool.talk()
    assert not pool.agents["h"].grants
    assert pool.ask().state is LeaseState.GRANTED


def test_an_idle_lease_gets_notice_and_is_reclaimed_if_it_stays_idle() -> None:
    pool = Pool({"h": gpus(2)}, LIVES)
    kept, lost = pool.ask(), pool.ask()
    pool.talk()
    for lease in (kept, lost):
        pool.agents["h"].idle(lease.id, 100)
    pool.talk()
    assert lost.notice == "idle for 100 s; it is reclaimed in 30 s unless it is used"
    pool.agents["h"].idle(kept.id, 1)
    pool.wait(25)
    assert (kept.notice, kept.state, lost.state) == ("", LeaseState.RUNNING, LeaseState.RUNNING)
    pool.wait(10)
    assert (kept.state, lost.state) == (LeaseState.RUNNING, LeaseState.RECLAIMED)


def test_nothing_is_granted_on_a_host_that_is_drained_or_on_a_gpu_that_is_sick() -> None:
    pool = Pool({"h": gpus(2)})
    lease = pool.ask()
    pool.talk()
    pool.ledger.drain("h", True)
    assert pool.ask().state is LeaseState.QUEUED
    pool.talk()
    assert (lease.state, pool.agents["h"].drained) == (LeaseState.RUNNING, True)
    pool.restart()
    pool.talk()
    assert pool.ledger.hosts["h"].drained, "the agent has kept it"
    pool.agents["h"].gpus = (GPU("A", 16_000), GPU("A", 16_000, healthy=False))
    pool.ledger.drain("h", False)
    pool.talk()
    pool.ask()
    assert pool.lease("l3").state is LeaseState.QUEUED
    pool.agents["h"].gpus = gpus(2)
    pool.talk()
    assert pool.lease("l3").state is LeaseState.RUNNING


def test_a_broker_that_restarts_knows_all_leases_when_the_agents_have_told() -> None:
    pool = Pool({"g": gpus(1), "h": gpus(1)})
    before = pool.ask(Request(gpus=2))
    pool.talk()
    pool.restart()
    pool.asked = 10
    assert pool.ask().state is LeaseState.QUEUED, "no host has spoken"
    pool.talk("g")
    known = pool.lease(before.id)
    assert (known.state, known.tenant, known.token_hash) == (LeaseState.GRANTED, "t", "hash of l1")
    pool.talk("h")
    assert known.state is LeaseState.RUNNING
    pool.release(known)
    pool.talk()
    assert pool.lease("l11").state is LeaseState.RUNNING


def test_a_gang_of_which_a_host_had_not_heard_when_the_broker_was_killed_is_lost_whole() -> None:
    for order in (("g", "h"), ("h", "g")):
        pool = Pool({"g": gpus(1), "h": gpus(1)})
        before = pool.ask(Request(gpus=2))
        pool.talk("g")
        pool.restart()
        for name in order:
            pool.talk(name)
        assert pool.lease(before.id).state is LeaseState.LOST
        pool.talk()
        assert pool.ledger.inventory.allocated == 0
        assert not pool.agents["g"].grants


def test_a_restarted_agent_tells_what_it_has_kept_and_an_emptied_one_that_it_has_nothing() -> None:
    pool = Pool({"h": gpus(2)})
    lease = pool.ask()
    pool.talk()
    pool.agents["h"] = replace(pool.agents["h"], kept=pool.agents["h"].grants, _held={}, _session="", _number=0)
    pool.talk()
    assert lease.state is LeaseState.RUNNING
    pool.agents["h"] = replace(pool.agents["h"], kept=(), _held={}, _session="", _number=0)
    pool.talk()
    assert lease.state is LeaseState.LOST


def test_gpus_that_are_others_than_before_end_what_was_held_on_them() -> None:
    pool = Pool({"h": gpus(2)})
    lease = pool.ask()
    pool.talk()
    pool.agents["h"].gpus = gpus(1, "B")
    pool.talk()
    assert (lease.state, lease.reason) == (LeaseState.LOST, "the GPUs of h are others now")
    assert pool.ask(Request(models=frozenset("B"))).state is LeaseState.GRANTED


def test_a_host_that_holds_more_than_there_is_takes_nothing_until_it_is_gone() -> None:
    ledger = Ledger("b1", 0, Terms(), {})
    grants = [Grant(f"x{i}", "t", (Share("h", 0, 800),)) for i in range(2)]
    session = ledger.hear(Report("h", "", 1, gpus(2)), 0).session
    answer = ledger.hear(Report("h", session, 2, gpus(2), tuple(Held(grant, "h:1") for grant in grants)), 0)
    assert answer.grants == (grants[0],)
    assert not ledger.hosts["h"].taking
    ledger.hear(Report("h", session, 3, gpus(2), (Held(grants[0], "h:1"),)), 0)
    assert ledger.hosts["h"].taking
    ledger.check()


def test_an_agent_cannot_end_a_lease_of_other_hosts_by_claiming_it() -> None:
    pool = Pool({"g": gpus(1), "h": gpus(1)})
    lease = pool.ask()
    pool.talk()
    (host,) = lease.grant.hosts
    (other,) = {"g", "h"} - {host}
    session = pool.ledger.hear(Report(other, "", 1, gpus(1)), pool.now).session
    forged = Grant(lease.id, "t", (Share(other, 0, 1000),))
    pool.ledger.hear(Report(other, session, 2, gpus(1), (Held(forged, "x:1"),)), pool.now)
    assert lease.state is LeaseState.RUNNING
    assert lease.addresses == {host: f"{host}:1"}
    assert not pool.ledger.hosts[other].taking


def test_an_agent_that_hears_of_no_broker_for_long_ends_all() -> None:
    pool = Pool({"h": gpus(1)})
    pool.ask()
    pool.talk()
    agent = pool.agents["h"]
    assert agent.pass_time(pool.now + 899) == []
    (stop,) = agent.pass_time(pool.now + 900)
    assert (stop.lease, stop.reason) == ("l1", "no broker for 900 s")  # type: ignore[union-attr]


def test_an_agent_starts_nothing_that_does_not_fit_whatever_the_broker_says() -> None:
    pool = Pool({"h": gpus(1)})
    pool.ask()
    pool.talk()
    agent = pool.agents["h"]
    answer = pool.ledger.hear(agent.report(), pool.now)
    more = Grant("x", "t", (Share("h", 0, 1),))
    assert agent.heed(replace(answer, grants=(*(answer.grants or ()), more)), pool.now) == []
    assert agent.refused == {"x"}


def test_what_no_quota_allows_is_refused_and_what_is_beyond_it_now_waits_and_holds_up_nobody() -> None:
    pool = Pool({"h": gpus(4)}, quotas={"t": Quota(milli=1500, memory_mib=20_000)})
    with pytest.raises(Refused, match=r"asks for 2 GPUs, and its quota is 1\.5"):
        pool.ask(Request(gpus=2))
    with pytest.raises(Refused, match="tenant t asks for 24000 MiB of GPU memory, and its quota is 20000 MiB"):
        pool.ask(Request(gpus=2, gpu_memory_mib=12_000))
    first, second, third = pool.ask(), pool.ask(), pool.ask(tenant="u")
    assert (first.state, second.state, third.state) == (LeaseState.GRANTED, LeaseState.QUEUED, LeaseState.GRANTED)
    assert second.reason == "tenant t would hold 2 GPUs, and its quota is 1.5"
    half = pool.ask(HALF)
    assert half.reason == "tenant t would hold 24000 MiB of GPU memory, and its quota is 20000 MiB"
    pool.ledger.set_quota("t", Quota())
    pool.decide()
    assert second.state is LeaseState.GRANTED


def test_the_books_tell_a_lease_that_is_asked_for_twice_by_its_id_alone() -> None:
    pool = Pool({"h": gpus(1)})
    lease = pool.ledger.ask(Ask("x", "t", (WHOLE,), 3, "hash"), pool.now)
    decided = pool.decide()
    assert [(change.lease, change.state) for change in decided.changes] == [
        ("x", LeaseState.QUEUED),
        ("x", LeaseState.GRANTED),
    ]
    assert decided.hosts == {"h"}
    assert pool.decide().changes == ()
    assert lease.grant == Grant("x", "t", (Share("h", 0, 1000),), 3, "hash")


def test_a_gang_on_one_host_is_demanded_or_wished() -> None:
    pool = Pool({"g": gpus(1), "h": gpus(1)})
    assert pool.ask(Request(gpus=2, locality=Locality.DEMAND)).state is LeaseState.QUEUED
    assert pool.ask(WHOLE, WHOLE).state is LeaseState.GRANTED


def test_who_asks_again_with_a_token_has_what_there_is_and_waits_until_that_is_known() -> None:
    pool = Pool({"h": gpus(2)})
    first = pool.ask()
    again = asked_before(pool.ledger, "t", first.token_hash, pool.now)
    assert again is first
    assert asked_before(pool.ledger, "other", first.token_hash, pool.now + 100) is None
    pool.talk()
    pool.restart()
    with pytest.raises(Settling):
        asked_before(pool.ledger, "t", first.token_hash, pool.now)
    pool.talk()
    found = asked_before(pool.ledger, "t", first.token_hash, pool.now)
    assert found is not None
    assert found.id == first.id


def test_an_agent_that_tells_too_late_of_what_was_asked_again_lets_go_of_it() -> None:
    pool = Pool({"h": gpus(2)})
    first = pool.ask()
    pool.talk()
    pool.restart()
    second = pool.ledger.ask(Ask("again", "t", (WHOLE,), 0, first.token_hash), pool.now)
    pool.talk()
    assert pool.lease(first.id).state is LeaseState.LOST
    assert second.state is LeaseState.RUNNING
    assert pool.agents["h"].grants == (second.grant,)
