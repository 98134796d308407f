"""The requests that a pool expects: kinds with how often each is asked. All that a policy knows of the future."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.pool.arrays import Bools, Floats, Ints
from shoal.pool.request import WHOLE, Request


@dataclass(frozen=True)
class Workload:
    """Kinds of requests and their shares, which sum to one."""

    kinds: tuple[Request, ...]
    popularity: Floats

    @classmethod
    def of(cls, requests: Iterable[Request], covering: float = 1.0, gpu_memory_mib: int = 0) -> Workload:
        """Count requests by what they ask of CPU and GPUs, the most frequent first, until `covering` of all is covered.

        A share that is asked for by memory counts as that of a GPU with `gpu_memory_mib`; as a whole one without.
        """
        counts = Counter(_kind(request, gpu_memory_mib) for request in requests)
        ordered = sorted(counts.items(), key=lambda item: -item[1])
        total, covered, kinds = sum(counts.values()), 0, []
        for kind, count in ordered:
            if covered >= covering * total:
                break
            kinds.append((kind, count))
            covered += count
        return cls(tuple(kind for kind, _ in kinds), np.array([n for _, n in kinds], np.float64) / max(covered, 1))

    def weighted(self) -> Iterable[tuple[Request, float]]:
        """Each kind with its popularity."""
        return zip(self.kinds, self.popularity.tolist(), strict=True)


def _kind(request: Request, gpu_memory_mib: int) -> Request:
    share = request.milli
    if request.gpu_memory_mib and gpu_memory_mib:
        share = min(WHOLE, -(-WHOLE * request.gpu_memory_mib // gpu_memory_mib))
    return Request(request.gpus, share, cpu_milli=request.cpu_milli, models=request.models)


@dataclass(frozen=True)
class KindArrays:
    """A workload's kinds as arrays, for a list of models. `level[k]` is a row of the distinct (share, models) pairs."""

    cpu: Ints
    gpus: Ints
    level: Ints
    milli: Ints
    allowed: Bools

    @classmethod
    def of(cls, kinds: Sequence[Request], models: Sequence[str]) -> KindArrays:
        levels: dict[tuple[int, frozenset[str]], int] = {}
        level = [levels.setdefault((kind.milli if kind.gpus else 0, kind.models), len(levels)) for kind in kinds]
        allowed = np.array(
            [[not wanted or model in wanted for model in [*models, ""]] for _, wanted in levels], np.bool_
        )
        return cls(
            np.array([kind.cpu_milli for kind in kinds], np.int64),
            np.array([kind.gpus for kind in kinds], np.int64),
            np.array(level, np.int64),
            np.array([milli for milli, _ in levels], np.int64),
            allowed.reshape(len(levels), len(models) + 1),
        )
