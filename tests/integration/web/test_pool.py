"""The pool, by a real broker and a real agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect

from tests.integration.gpu.brokers import TOKENS, bearer
from tests.integration.gpu.test_agent import agent, until
from tests.integration.gpu.test_broker_process import broker
from tests.integration.harness import Shoal
from tests.integration.web.accessibility import faults
from tests.integration.web.dashboard import Dashboard


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[httpx2.Client]:
    """A broker, and an agent with two GPUs."""
    with broker(tmp_path) as (_, client), agent(tmp_path, client):
        until(lambda: client.get("/v1/hosts", headers=bearer("ops")).json())
        yield client


@pytest.fixture
def dashboard(pool: httpx2.Client, shoal: Shoal, tmp_path: Path) -> Iterator[Dashboard]:
    (tmp_path / "admin").write_text(TOKENS["ops"])
    opened = Dashboard(
        shoal,
        {
            "SHOAL_BROKER": str(pool.base_url),
            "SHOAL_TOKEN_FILE": str(tmp_path / "admin"),
            "SHOAL_BROKER_CA": str(tmp_path / "tls" / "ca.crt"),
        },
    )
    yield opened
    opened.close()


def test_the_pool_follows_its_leases(pool, dashboard, visit):
    page = visit(dashboard)
    page.get_by_role("link", name="Pool").click()
    expect(page.get_by_text("0 of 2 GPUs lent")).to_be_visible()
    asked = [{"gpus": 2}]
    lease = pool.post("/v1/leases", json={"requests": asked}, headers=bearer("vision")).json()
    expect(page.get_by_text("2 of 2 GPUs lent")).to_be_visible(timeout=15_000)
    expect(page.get_by_role("region", name="GPUs").get_by_text(f"vision {lease['id']} 100 %")).to_have_count(2)
    waiting = pool.post("/v1/leases", json={"requests": asked}, headers=bearer("speech")).json()
    expect(page.get_by_role("region", name="Queue").get_by_text(waiting["id"])).to_be_visible(timeout=15_000)
    assert not any(secret in page.content() for secret in (*TOKENS.values(), lease["token"], waiting["token"]))
    assert faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    pool.delete(f"/v1/leases/{lease['id']}", headers=bearer("vision"))
    expect(page.get_by_role("region", name="GPUs").get_by_text(f"speech {waiting['id']} 100 %")).to_have_count(
        2, timeout=15_000
    )
    expect(page.get_by_role("region", name="Queue")).to_have_count(0)
