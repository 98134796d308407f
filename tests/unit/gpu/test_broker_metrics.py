"""What the broker tells of hosts, of those who wait and of tenants."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.gpu.audit import Audit
from shoal.gpu.broker import Broker
from shoal.pool.inventory import GPU
from shoal.pool.ledger import KnownHost, Terms
from shoal.pool.request import Request
from tests.integration.gpu.brokers import write_tenants


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def broker(tmp_path: Path, clock: Clock) -> Broker:
    return Broker(write_tenants(tmp_path / "tenants.yaml"), Terms(), Audit(tmp_path / "audit"), clock)


def test_the_oldest_of_the_queue_counts(broker: Broker, clock: Clock) -> None:
    longest = "shoal_gpu_longest_wait_seconds"
    assert broker.registry.get_sample_value(longest) == 0
    for tenant in ("vision", "speech"):
        broker.ask(tenant, (Request(),), 0)
        clock.now += 10
    assert broker.registry.get_sample_value(longest) == 20
    assert broker.registry.get_sample_value("shoal_gpu_tenant_queued", {"tenant": "vision"}) == 1
    for lease in list(broker.ledger.leases.values()):
        broker.release(lease)
    assert broker.registry.get_sample_value(longest) == 0


def test_hosts_tell_of_what_is_wrong_with_them(broker: Broker, clock: Clock) -> None:
    gpus = (GPU("A", 16_000), GPU("A", 16_000, healthy=False), GPU("A", 16_000, healthy=False))
    broker.ledger.hosts = {"well": KnownHost(gpus[:1], clock()), "ill": KnownHost(gpus, clock(), silent=True)}
    told = {
        (name, host): broker.registry.get_sample_value(f"shoal_gpu_{name}", {"host": host})
        for name in ("unhealthy", "host_silent")
        for host in ("well", "ill")
    }
    assert told == {
        ("unhealthy", "well"): 0,
        ("unhealthy", "ill"): 2,
        ("host_silent", "well"): 0,
        ("host_silent", "ill"): 1,
    }


def test_a_tenant_that_holds_nothing_is_told_of(broker: Broker) -> None:
    for tenant in ("vision", "speech"):
        assert broker.registry.get_sample_value("shoal_gpu_tenant_held", {"tenant": tenant}) == 0


def test_every_end_of_a_lease_is_counted_from_the_start(broker: Broker) -> None:
    for state in ("lost", "expired", "reclaimed"):
        assert broker.registry.get_sample_value("shoal_gpu_lease_changes_total", {"state": state}) == 0
