"""What clients of the broker send and get, as JSON. Agents send and get `shoal.pool.report`, as it stands."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shoal.gpu.tenants import Grant, Hash
from shoal.pool.lease import Lease, LeaseState
from shoal.pool.ledger import KnownHost
from shoal.pool.request import WHOLE, Locality, Request


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Wanted(_Body):
    """One request: GPUs of one model, whole, or by percent or memory of each."""

    gpus: Annotated[int, Field(ge=1, le=1024)] = 1
    percent: Annotated[float, Field(ge=0.1, le=100)] | None = None
    memory_mib: Annotated[int, Field(ge=1, le=1 << 24)] | None = None
    models: Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=64)] = []
    same_host: bool = False

    @model_validator(mode="after")
    def _one_fraction(self) -> Wanted:
        if self.percent is not None and self.memory_mib is not None:
            raise ValueError("a fraction is asked for by percent or by memory_mib, not by both")
        return self

    @property
    def request(self) -> Request:
        return Request(
            gpus=self.gpus,
            milli=WHOLE if self.percent is None else round(self.percent * WHOLE / 100),
            gpu_memory_mib=self.memory_mib or 0,
            models=frozenset(self.models),
            locality=Locality.DEMAND if self.same_host else Locality.WISH,
        )


class AskBody(_Body):
    """A gang: all are granted together, or none."""

    requests: Annotated[list[Wanted], Field(min_length=1, max_length=256)]
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    token: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{43,86}$")] | None = None
    """Of who asks, 256 bits or more, in place of the broker's. While its lease lives, asking again with it answers that
    lease: an ask whose answer was lost takes nothing twice."""


class RenewalsBody(_Body):
    """What a tenant keeps, by the SHA-256 of each lease's token in hex: the state that it knows, null for none."""

    leases: Annotated[dict[str, LeaseState | None], Field(max_length=5000)]


class DrainBody(_Body):
    drained: bool


class ShareBody(_Body):
    host: str
    gpu: int
    percent: float
    address: str = ""
    """Where the lease's server answers; empty until it does."""


class LeaseBody(_Body):
    id: str
    tenant: str
    state: LeaseState
    reason: str
    notice: str
    priority: int
    shares: list[ShareBody]
    waited_seconds: float
    place: int | None = None
    """Of one that is queued, among what its tenant waits for, from 1 on: in lists, and for who brings its own token."""
    token: str | None = None
    """Shown once, to who asked."""

    @classmethod
    def of(cls, lease: Lease, now: float, token: str | None = None, place: int | None = None) -> LeaseBody:
        shares = [
            ShareBody(host=each.host, gpu=each.gpu, percent=each.milli / 10, address=lease.addresses.get(each.host, ""))
            for each in lease.shares
        ]
        return cls(
            id=lease.id,
            tenant=lease.tenant,
            state=lease.state,
            reason=lease.reason,
            notice=lease.notice,
            priority=lease.priority,
            shares=shares,
            waited_seconds=round(now - lease.asked_at, 3) if lease.state is LeaseState.QUEUED else 0.0,
            place=place,
            token=token,
        )


class RenewedBody(_Body):
    leases: dict[str, LeaseBody]
    """By the same; of several with one token the last."""
    unknown: list[str]
    """Those of which there is no lease of the tenant's."""
    settling: bool
    """Whether agents have yet to tell what they hold, so that what is unknown may be there."""


class GPUBody(_Body):
    model: str
    memory_mib: int
    healthy: bool
    free_percent: float


class HostBody(_Body):
    name: str
    gpus: list[GPUBody]
    drained: bool
    silent: bool
    heard_seconds_ago: float

    @classmethod
    def of(cls, name: str, host: KnownHost, free: list[int], now: float) -> HostBody:
        gpus = [
            GPUBody(model=gpu.model, memory_mib=gpu.memory_mib, healthy=gpu.healthy, free_percent=milli / 10)
            for gpu, milli in zip(host.gpus, free, strict=True)
        ]
        ago = round(now - host.heard_at, 3)
        return cls(name=name, gpus=gpus, drained=host.drained, silent=host.silent, heard_seconds_ago=ago)


class QuotaBody(_Body):
    tenant: str
    gpus: float | None
    gpu_memory_mib: int | None
    used_gpus: float
    used_gpu_memory_mib: int


class GrantBody(_Body):
    """None is no limit."""

    tokens: Annotated[list[Hash], Field(min_length=1, max_length=16)]
    gpus: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    gpu_memory_mib: Annotated[int, Field(ge=0, le=1 << 40)] | None = None
    max_priority: Annotated[int, Field(ge=-100, le=100)] = 0

    @property
    def grant(self) -> Grant:
        memory = None if self.gpu_memory_mib is None else f"{self.gpu_memory_mib}Mi"
        return Grant(tokens=self.tokens, gpus=self.gpus, gpuMemory=memory, maxPriority=self.max_priority)


class ErrorBody(_Body):
    error: str
