"""What the page of the pool shows, from what its broker tells whoever's token the dashboard has.

Tokens stay with the client: the broker shows a lease's token to nobody but who asked for it, and what is made for pages
and for the API here is picked, not passed on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from shoal.gpu.health import gpu_state
from shoal.pool.lease import LIVE, LeaseState

Told = dict[str, Any]


class Broker(Protocol):
    """The part of `shoal.gpu.client.BrokerClient` that looks. May be asked from any thread."""

    def hosts(self) -> list[Told]: ...

    def leases(self) -> list[Told]: ...

    def quotas(self) -> list[Told]: ...


class Share(NamedTuple):
    """What a lease has of a GPU."""

    lease: str
    tenant: str
    percent: float


class GPURow(NamedTuple):
    """A GPU of the pool, and who has it. A tenant is told of its own leases alone: `used` may be more."""

    host: str
    number: int
    model: str
    memory_mib: int
    used: float
    state: str
    shares: Sequence[Share]


class Waiting(NamedTuple):
    """A lease that waits for GPUs. `since` is in seconds since the epoch."""

    lease: str
    tenant: str
    priority: int
    since: float
    reason: str


class Use(NamedTuple):
    """What a tenant holds, and what it may; None is no limit."""

    tenant: str
    gpus: float
    most_gpus: float | None
    memory_mib: int
    most_memory_mib: int | None


class PoolView(NamedTuple):
    gpus: Sequence[GPURow]
    queue: Sequence[Waiting]
    tenants: Sequence[Use]

    @property
    def lent(self) -> float:
        """GPUs that are lent, in parts of GPUs."""
        return sum(row.used for row in self.gpus) / 100


def pool_view(broker: Broker, now: float) -> PoolView:
    """Raises RunError where the broker does not answer, or refuses."""
    hosts, leases, quotas = broker.hosts(), [each for each in broker.leases() if each["state"] in LIVE], broker.quotas()
    shares = defaultdict(list)
    for lease in leases:
        for share in lease["shares"]:
            shares[share["host"], share["gpu"]].append(Share(lease["id"], lease["tenant"], share["percent"]))
    return PoolView(
        [
            GPURow(
                host["name"],
                number,
                gpu["model"],
                gpu["memory_mib"],
                round(100 - gpu["free_percent"], 1),
                gpu_state(host, gpu),
                tuple(shares[host["name"], number]),
            )
            for host in hosts
            for number, gpu in enumerate(host["gpus"])
        ],
        [
            # In whole seconds, so that a page does not change from look to look.
            Waiting(each["id"], each["tenant"], each["priority"], round(now - each["waited_seconds"]), each["reason"])
            for each in leases
            if each["state"] == LeaseState.QUEUED
        ],
        [
            Use(
                each["tenant"],
                each["used_gpus"],
                each["gpus"],
                each["used_gpu_memory_mib"],
                each["gpu_memory_mib"],
            )
            for each in quotas
        ],
    )


def pool_data(view: PoolView) -> Told:
    """As programs read it."""
    return {
        "gpus": [{**row._asdict(), "shares": [share._asdict() for share in row.shares]} for row in view.gpus],
        "queue": [each._asdict() for each in view.queue],
        "tenants": [each._asdict() for each in view.tenants],
    }
