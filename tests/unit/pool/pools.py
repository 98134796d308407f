"""Small pools, requests of every kind, and every way in which one can be placed, by trying all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from shoal.pool import GPU, Host, Inventory, Locality, Mode, Placement, Request, Share
from shoal.pool.policies import POLICIES

gpus = st.builds(
    GPU, st.sampled_from("AB"), st.sampled_from([0, 8_000, 16_000]), st.sampled_from([True, True, True, False])
)

requests = st.one_of(
    st.builds(
        Request,
        gpus=st.integers(0, 3),
        milli=st.sampled_from([10, 300, 470, 500, 810, 1000]),
        cpu_milli=st.sampled_from([0, 1_000, 3_000]),
        memory_mib=st.sampled_from([0, 1_000, 3_000]),
        models=st.frozensets(st.sampled_from("ABC"), max_size=2),
        locality=st.sampled_from(Locality),
    ),
    st.builds(Request, gpus=st.integers(1, 2), gpu_memory_mib=st.sampled_from([1, 5_000, 8_000, 12_000])),
)

modes = st.sampled_from(Mode)
policies = st.sampled_from(sorted(POLICIES))


@st.composite
def pools(draw: st.DrawFn) -> list[Host]:
    return [
        Host(f"h{i}", draw(st.sampled_from([2_000, 5_000])), 5_000, tuple(draw(st.lists(gpus, max_size=3))), drained)
        for i, drained in enumerate(draw(st.lists(st.sampled_from([False, False, False, True]), max_size=4)))
    ]


def every_way(inventory: Inventory, request: Request, mode: Mode) -> Iterator[Placement]:
    """All placements that what is free allows, by the rules as one would say them."""
    free = [host for host in inventory.hosts if not host.drained]
    beside = [host for host in free if _beside(inventory, host, request)]
    cells = [(host, j) for host in free for j in range(len(host.gpus)) if _share(inventory, host, j, request)]
    for chosen in itertools.combinations(cells, request.gpus):
        if len({host.gpus[j].model for host, j in chosen}) > 1:
            continue
        on = {host.name for host, _ in chosen}
        shares = tuple(Share(host.name, j, _share(inventory, host, j, request)) for host, j in chosen)
        if len(on) > 1 and (mode is Mode.NODE_BOUND or request.locality is Locality.DEMAND):
            continue
        if mode is Mode.POOLED and request.gpus and not (request.cpu_milli or request.memory_mib):
            yield Placement(None, 0, 0, shares)
            continue
        for host in beside:
            if mode is Mode.POOLED or on <= {host.name}:
                yield Placement(host.name, request.cpu_milli, request.memory_mib, shares)


def _beside(inventory: Inventory, host: Host, request: Request) -> bool:
    row = inventory.row[host.name]
    return bool(inventory.cpu[row] >= request.cpu_milli and inventory.memory[row] >= request.memory_mib)


def _share(inventory: Inventory, host: Host, j: int, request: Request) -> int:
    """Thousandths to take of this GPU; 0 if it cannot give them."""
    gpu, share = host.gpus[j], request.milli
    if request.gpu_memory_mib:
        share = -(-1000 * request.gpu_memory_mib // gpu.memory_mib) if gpu.memory_mib else 1001
    fits = gpu.healthy and (not request.models or gpu.model in request.models)
    return share if fits and share <= inventory.free[inventory.row[host.name], j] else 0
