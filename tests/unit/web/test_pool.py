"""The page of the pool, over what a broker tells: the bodies of its own answers."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from shoal.gpu.client import Unreachable
from shoal.gpu.messages import GPUBody, HostBody, LeaseBody, QuotaBody, ShareBody
from shoal.local.backend import LocalRuns
from shoal.pool.lease import LeaseState
from shoal.web.app import application
from shoal.web.pool import pool_view
from tests.unit.web.conftest import ORIGIN
from tests.unit.web.test_pages import HOSTILE


class Told:
    """What a broker tells an admin."""

    def __init__(self) -> None:
        self.away = False
        self.said_hosts = [
            host("a", gpu("H200", free=50.0), gpu("H200", healthy=False)),
            host("b", gpu("L4"), drained=True),
            host("c", gpu("L4"), silent=True),
        ]
        self.said_leases = [
            lease("l1", "vision", LeaseState.RUNNING, ShareBody(host="a", gpu=0, percent=50)),
            lease("l2", "speech", LeaseState.QUEUED, waited=60.0, reason="no GPU is free"),
            lease("l3", "speech", LeaseState.RELEASED, ShareBody(host="a", gpu=0, percent=50)),
        ]
        self.said_quotas = [
            QuotaBody(tenant="vision", gpus=4, gpu_memory_mib=None, used_gpus=0.5, used_gpu_memory_mib=70_000)
        ]

    def hosts(self) -> list[dict[str, Any]]:
        if self.away:
            raise Unreachable(0, "no answer from the broker at https://broker:1", "is it running?")
        return [each.model_dump() for each in self.said_hosts]

    def leases(self) -> list[dict[str, Any]]:
        return [each.model_dump(mode="json") for each in self.said_leases]

    def quotas(self) -> list[dict[str, Any]]:
        return [each.model_dump() for each in self.said_quotas]


def gpu(model: str, free: float = 100.0, healthy: bool = True) -> GPUBody:
    return GPUBody(model=model, memory_mib=141_000, healthy=healthy, free_percent=free)


def host(name: str, *gpus: GPUBody, drained: bool = False, silent: bool = False) -> HostBody:
    return HostBody(name=name, gpus=list(gpus), drained=drained, silent=silent, heard_seconds_ago=0.1)


def lease(
    id: str, tenant: str, state: LeaseState, *shares: ShareBody, waited: float = 0.0, reason: str = ""
) -> LeaseBody:
    return LeaseBody(
        id=id,
        tenant=tenant,
        state=state,
        reason=reason,
        notice="",
        priority=0,
        shares=list(shares),
        waited_seconds=waited,
        token="secret",
    )


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def browser(door, told) -> TestClient:
    client = TestClient(application(LocalRuns, door, broker=told), base_url=ORIGIN)
    client.get(f"/open?token={door.token}")
    return client


def test_each_gpu_with_its_state_and_who_has_it(told):
    seen = pool_view(told, now=1000.0)
    assert [(row.host, row.number, row.used, row.state) for row in seen.gpus] == [
        ("a", 0, 50.0, "ok"),
        ("a", 1, 0.0, "sick"),
        ("b", 0, 0.0, "drained"),
        ("c", 0, 0.0, "silent"),
    ]
    assert [share.lease for share in seen.gpus[0].shares] == ["l1"], "what was released is nobody's"
    assert seen.lent == 0.5
    assert [(each.lease, each.since, each.reason) for each in seen.queue] == [("l2", 940, "no GPU is free")]


def test_the_page_and_its_data(browser):
    shown = browser.get("/pool").text
    for word in ("0.5 of 4 GPUs lent, 1 request waits", "no GPU is free", "vision", "no limit", "drained"):
        assert word in shown
    found = browser.get("/api/pool").json()
    assert found["gpus"][0]["shares"] == [{"lease": "l1", "tenant": "vision", "percent": 50}]
    assert found["tenants"][0]["most_gpus"] == 4
    assert "secret" not in shown + browser.get("/api/pool").text


def test_hosts_may_call_their_gpus_what_they_like(browser, told):
    told.said_hosts = [host(HOSTILE, gpu(HOSTILE))]
    told.said_leases = [lease("l", HOSTILE, LeaseState.QUEUED, reason=HOSTILE)]
    assert "<script>alert" not in browser.get("/pool").text


def test_a_pool_without_hosts(browser, told):
    told.said_hosts, told.said_leases, told.said_quotas = [], [], []
    shown = browser.get("/pool").text
    assert "No host offers GPUs yet" in shown
    assert "0 of 0 GPUs lent" in shown


def test_a_broker_that_does_not_answer(browser, told):
    told.away = True
    answer = browser.get("/pool")
    assert answer.status_code == 409
    assert "no answer from the broker" in answer.text
    assert "is it running?" in answer.text


def test_without_a_broker_there_is_no_such_page(door):
    client = TestClient(application(LocalRuns, door), base_url=ORIGIN)
    client.get(f"/open?token={door.token}")
    assert client.get("/pool").status_code == 404
    assert "/pool" not in client.get("/").text


def test_strangers_see_no_pool(stranger):
    assert stranger.get("/pool").status_code == 403
