"""What a refused request is told."""

from __future__ import annotations

import pytest

from shoal.pool import GPU, Host, Inventory, Locality, Mode, Placement, Request, Share, Unplaceable, place
from shoal.pool.policies.best_fit import BestFit

HOSTS = [
    Host("a", 8_000, 8_000, (GPU("A100", 40_000), GPU("A100", 40_000))),
    Host("b", 8_000, 8_000, (GPU("A100", 40_000), GPU("T4", 16_000))),
    Host("c", 64_000, 64_000),
]


@pytest.mark.parametrize(
    ("request_", "mode", "told"),
    [
        (Request(models=frozenset({"H100"})), "node-bound", "no GPU of model H100; it has A100, T4"),
        (Request(gpu_memory_mib=50_000), "node-bound", "has 50000 MiB; the largest has 40000"),
        (Request(gpus=3), "node-bound", "3 GPUs asked for, and no host has more than 2 of them, free or not"),
        (Request(gpus=4), "pooled", "4 GPUs asked for, and no model has more than 3 of them, free or not"),
        (
            Request(models=frozenset({"T4"}), milli=700),
            "node-bound",
            "one GPU of model T4, 70 % each, asked for: 1 host has such GPUs, "
            "and no host more than 0 with that much free (the most free of one is 40 %)",
        ),
        (
            Request(gpus=2, cpu_milli=9_000),
            "node-bound",
            "9 CPUs and 0 MiB asked for, which none of 1 hosts with the GPUs free has: "
            "the most free is 8 CPUs, and 8000 MiB",
        ),
        (Request(gpus=0, memory_mib=70_000), "pooled", "none of 3 hosts has: the most free is 64 CPUs, and 64000 MiB"),
        (Request(gpus=3, locality=Locality.DEMAND), "pooled", "no host has more than 2"),
    ],
)
def test_the_first_thing_that_lacks_is_named(request_, mode, told):
    inventory = Inventory(HOSTS)
    inventory.take(Placement(None, 0, 0, (Share("b", 1, 600),)))
    found = place(inventory, request_, BestFit(), Mode(mode))
    assert isinstance(found, Unplaceable)
    assert told in found.reason


def test_what_is_shut_is_told_too():
    inventory = Inventory([Host("a", 1, 1, (GPU("A"),), drained=True), Host("b", 1, 1, (GPU("A", healthy=False),))])
    found = place(inventory, Request(), BestFit())
    assert isinstance(found, Unplaceable)
    assert found.reason.endswith("(drained hosts: 1, GPUs that are not healthy: 1)")
