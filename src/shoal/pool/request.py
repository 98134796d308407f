"""What is asked of the pool, and the two answers: where it goes, or what lacks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

WHOLE = 1000
"""A whole GPU, in thousandths."""


class Mode(StrEnum):
    """Where a request's GPUs may lie."""

    NODE_BOUND = "node-bound"
    """CPU, memory and all GPUs on one host, as Kubernetes places pods."""

    POOLED = "pooled"
    """CPU and memory on one host, GPUs anywhere on the network; several may lie on several hosts."""


class Locality(StrEnum):
    """Whether the GPUs of one request must share a host. It means something in pooled mode alone."""

    ANY = "any"
    WISH = "wish"
    DEMAND = "demand"


@dataclass(frozen=True)
class Request:
    """GPUs, with the CPU and memory beside them. Without a fraction they are whole; `gpus` is 0 for CPU alone.

    A fraction is `milli` thousandths of each GPU, or `gpu_memory_mib` of each one's memory. Several GPUs of one request
    are different ones of the same model. An empty `models` takes any.
    """

    gpus: int = 1
    milli: int = WHOLE
    gpu_memory_mib: int = 0
    cpu_milli: int = 0
    memory_mib: int = 0
    models: frozenset[str] = frozenset()
    locality: Locality = Locality.WISH

    def __post_init__(self) -> None:
        if self.gpus < 0 or self.cpu_milli < 0 or self.memory_mib < 0 or self.gpu_memory_mib < 0:
            raise ValueError("a request asks for no negative amount")
        if not 1 <= self.milli <= WHOLE:
            raise ValueError(f"a share of a GPU is 1 to 1000 thousandths, not {self.milli}")
        if self.gpu_memory_mib and self.milli != WHOLE:
            raise ValueError("a fraction is asked for by memory or by percent, not by both")


@dataclass(frozen=True)
class Share:
    """So many thousandths of one GPU, named by its host and its place there."""

    host: str
    gpu: int
    milli: int


@dataclass(frozen=True)
class Placement:
    """Where a request goes: what it takes of one host's CPU and memory, and of which GPUs."""

    host: str | None
    cpu_milli: int
    memory_mib: int
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Unplaceable:
    """Nowhere now; `reason` names what lacks."""

    reason: str
