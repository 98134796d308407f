"""What a node's labels say of its GPUs, so that jobs find the models that they ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from shoal.kubernetes.gpu_names import GPU_NAMES, LABEL_PREFIX
from shoal.kubernetes.operator.api import API, APIError, UnreachableError
from shoal.kubernetes.operator.kinds import Kind
from shoal.kubernetes.operator.views import Owned
from shoal.resources.gpu_model import label_value

log = structlog.get_logger()

NODES = Kind("v1", "Node", "nodes", Owned, namespaced=False)
MEMORY, COUNT, DRIVER = f"{LABEL_PREFIX}memory", f"{LABEL_PREFIX}count", f"{LABEL_PREFIX}driver"


def gpu_labels(
    models: set[str], memory_mib: int, count: int, driver: str, model_label: str = GPU_NAMES.model_label
) -> dict[str, str | None]:
    """The labels of a node with `count` GPUs; None takes one away. A node with several models is given none, since a
    job that asks for one of them could get the other. `memory_mib` is what each has at least."""
    return {
        model_label: label_value(next(iter(models))) if len(models) == 1 else None,
        MEMORY: str(memory_mib) if memory_mib else None,
        COUNT: str(count),
        DRIVER: label_value(driver) or None,
    }


async def keep_labelled(
    api: API, node: str, labels: Callable[[], dict[str, str | None]], look_seconds: float = 5, again_seconds: float = 60
) -> None:
    """Keep these labels of the node, and no other, as they should be: written when they change, and from time to time,
    since a node that registers anew has lost them. A server that refuses or is away is asked again."""
    written: dict[str, str | None] | None = None
    since = 0.0
    while True:
        wanted, now = labels(), asyncio.get_running_loop().time()
        if wanted != written or now - since >= again_seconds:
            try:
                await api.patch(NODES, None, node, {"metadata": {"labels": wanted}})
            except (APIError, UnreachableError) as fault:
                log.warning("the node is not labelled", node=node, fault=str(fault))
            else:
                if wanted != written:
                    log.info("labelled", node=node, labels={name: text for name, text in wanted.items() if text})
                written, since = wanted, now
        await asyncio.sleep(look_seconds)
