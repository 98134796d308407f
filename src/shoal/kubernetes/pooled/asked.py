"""What a pod asks of the pool: GPUs by its containers' limits, and by its annotations a part of each, and which. PURE.

shoal.dev/gpu-memory: 4Gi            of each GPU, or
shoal.dev/gpu-percent: "50"
shoal.dev/gpu-models: A100,H100      one of these; all GPUs of a container are of one model
shoal.dev/gpu-same-host: "true"      all GPUs of a container on one host
shoal.dev/gpu-priority: "2"          in the queue, as high as the tenant may
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.kubernetes.gpu_names import LABEL_PREFIX
from shoal.resources.quantity import parse_quantity

Object = Mapping[str, Any]

POOLED_RESOURCES = ("shoal.dev/gpu", "bitfusion.io/gpu")
"""What stands for GPUs of the pool, unless an installation says otherwise."""

MEMORY, PERCENT, MODELS, SAME_HOST, PRIORITY = (
    f"{LABEL_PREFIX}{word}" for word in ("memory", "percent", "models", "same-host", "priority")
)

MIB = 1 << 20
MOST_GPUS = 1024
"""Of one container, as the broker has it."""

MOST_PRIORITY = 100
"""Or least, below 0, as the broker has it."""


class AskedError(ValueError):
    """What a pod says cannot be asked for. The message names the field, what is wrong, and what to write."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container that asks, and for how many GPUs. `index` is its place in the pod."""

    index: int
    name: str
    gpus: int


@dataclass(frozen=True, slots=True)
class Asked:
    """All that a pod asks for."""

    containers: tuple[Container, ...]
    memory_mib: int | None = None
    percent: float | None = None
    models: tuple[str, ...] = ()
    same_host: bool = False
    priority: int = 0

    @property
    def gpus(self) -> int:
        return sum(each.gpus for each in self.containers)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """As the broker takes them, one for each container."""
        common: dict[str, Any] = {"models": list(self.models), "same_host": self.same_host}
        if self.memory_mib is not None:
            common["memory_mib"] = self.memory_mib
        if self.percent is not None:
            common["percent"] = self.percent
        return [{"gpus": each.gpus, **common} for each in self.containers]


def asked(annotations: Mapping[str, str], spec: Object, resources: Collection[str]) -> Asked | None:
    """None for a pod that asks for no GPU of the pool. `spec` is the pod's. Raises AskedError."""
    found = []
    for i, container in enumerate(spec.get("containers") or []):
        gpus = _gpus(container, f"spec.containers[{i}].resources.limits", resources)
        if gpus:
            found.append(Container(i, str(container["name"]), gpus))
    if not found:
        return None
    for i, container in enumerate(spec.get("initContainers") or []):
        if _gpus(container, f"spec.initContainers[{i}].resources.limits", resources):
            raise AskedError(
                f"spec.initContainers[{i}]: the pool lends to containers only; ask for GPUs in one of these"
            )
    memory, percent = _memory(annotations.get(MEMORY)), _percent(annotations.get(PERCENT))
    if memory is not None and percent is not None:
        raise AskedError(f"{_at(MEMORY)} and {PERCENT}: a part is asked for by memory or by percent; leave one out")
    models = tuple(dict.fromkeys(word for text in annotations.get(MODELS, "").split(",") if (word := text.strip())))
    if MODELS in annotations and not models:
        raise AskedError(f"{_at(MODELS)}: no model is named; write some, as A100,H100, or leave it out")
    same_host, priority = _yes(annotations.get(SAME_HOST)), _priority(annotations.get(PRIORITY))
    return Asked(tuple(found), memory, percent, models, same_host, priority)


def _gpus(container: Object, path: str, resources: Collection[str]) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    named = [name for name in resources if name in limits]
    if len(named) > 1:
        raise AskedError(f"{path}: {' and '.join(named)} both stand for GPUs of the pool; leave one out")
    if not named:
        return 0
    try:
        number = parse_quantity(limits[named[0]])
    except ValueError as fault:
        raise AskedError(f"{path}.{named[0]}: {fault}") from fault
    if number != int(number) or not 0 <= number <= MOST_GPUS:
        told = f"a part of a GPU is asked for by the annotation {PERCENT} or {MEMORY}"
        raise AskedError(f"{path}.{named[0]}: {limits[named[0]]} is no whole number up to {MOST_GPUS}; {told}")
    return int(number)


def _memory(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        mib = -(-int(parse_quantity(text.strip())) // MIB)
    except ValueError as fault:
        raise AskedError(f"{_at(MEMORY)}: {fault}") from fault
    if not 1 <= mib <= MIB << 4:
        raise AskedError(f"{_at(MEMORY)}: {text!r} is no memory of a GPU; write how much of each, as 4Gi")
    return mib


def _percent(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = 0.0
    if not 0.1 <= percent <= 100:
        raise AskedError(f'{_at(PERCENT)}: {text!r} is no number from 0.1 to 100; write how much of each GPU, as "50"')
    return percent


def _yes(text: str | None) -> bool:
    if text not in (None, "true", "false"):
        raise AskedError(f'{_at(SAME_HOST)}: {text!r} is neither "true" nor "false"')
    return text == "true"


def _priority(text: str | None) -> int:
    if text is None:
        return 0
    if not re.fullmatch(r"-?[0-9]{1,3}", text) or abs(priority := int(text)) > MOST_PRIORITY:
        told = f"no whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}"
        raise AskedError(f'{_at(PRIORITY)}: {text!r} is {told}; write one, as "2"')
    return priority


def _at(annotation: str) -> str:
    return f"metadata.annotations.{annotation}"
