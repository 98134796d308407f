"""Why a request cannot be placed now, in a sentence: what lacks first, what is nearest to it, and what is shut."""

from __future__ import annotations

import numpy as np

from shoal.pool.arrays import Bools, Ints
from shoal.pool.candidates import demand, of_wanted_model, room
from shoal.pool.inventory import Inventory
from shoal.pool.request import WHOLE, Locality, Mode, Request, Unplaceable


def what_lacks(inventory: Inventory, request: Request, mode: Mode) -> Unplaceable:
    """For a request that `place` found no place for."""
    together = mode is Mode.NODE_BOUND or request.locality is Locality.DEMAND
    lacking = _gpus_lacking(inventory, request, together) if request.gpus else ""
    return Unplaceable((lacking or _beside_lacking(inventory, request, mode)) + _shut(inventory))


def _gpus_lacking(inventory: Inventory, request: Request, together: bool) -> str:
    rows = np.arange(len(inventory.hosts))
    what = _gpus(request)
    of_model = of_wanted_model(inventory, rows, request)
    if not inventory.models:
        return "the pool has no GPU"
    if not of_model.any():
        return f"the pool has no GPU of model {_models(request)}; it has {', '.join(inventory.models)}"
    suited = of_model & (demand(inventory, rows, request) <= WHOLE)
    if not suited.any():
        largest = inventory.gpu_memory[of_model].max()
        return f"no GPU of the pool's that is asked for has {request.gpu_memory_mib} MiB; the largest has {largest}"
    ever = _most(inventory, suited, together)
    where = "host" if together else "model"
    if ever < request.gpus:
        return f"{what} asked for, and no {where} has more than {ever} of them, free or not"
    now = room(inventory, rows, request)
    free = _most(inventory, now, together)
    if free >= request.gpus:
        return ""
    largest = int(np.where(suited & inventory.usable, inventory.free, 0).max())
    hosts = int(suited.any(axis=1).sum())
    return (
        f"{what} asked for: {hosts} {'host has' if hosts == 1 else 'hosts have'} such GPUs, "
        f"and no {where} more than {free} with that much free (the most free of one is {largest / 10:g} %)"
    )


def _beside_lacking(inventory: Inventory, request: Request, mode: Mode) -> str:
    """CPU and memory, on hosts that have the GPUs where they must be on one host."""
    rows = np.arange(len(inventory.hosts))
    hosts = inventory.taking.copy()
    whose = "hosts"
    if mode is Mode.NODE_BOUND and request.gpus:
        hosts &= _counts(inventory, room(inventory, rows, request)).max(axis=0) >= request.gpus
        whose = "hosts with the GPUs free"
    cpu = int(inventory.cpu[hosts].max(initial=0))
    memory = int(inventory.memory[hosts].max(initial=0))
    return (
        f"{request.cpu_milli / 1000:g} CPUs and {request.memory_mib} MiB asked for, which none of {int(hosts.sum())} "
        f"{whose} has: the most free is {cpu / 1000:g} CPUs, and {memory} MiB"
    )


def _most(inventory: Inventory, which: Bools, together: bool) -> int:
    """The most GPUs among `which` that one request can have: of one model, and on one host if `together`."""
    counts = _counts(inventory, which)
    return int((counts if together else counts.sum(axis=1)).max(initial=0))


def _counts(inventory: Inventory, which: Bools) -> Ints:
    """GPUs among `which`, by model and host."""
    counts = [(which & (inventory.model == model)).sum(axis=1) for model in range(len(inventory.models))]
    return np.array(counts, np.int64).reshape(len(counts), len(inventory.hosts))


def _gpus(request: Request) -> str:
    count = "one GPU" if request.gpus == 1 else f"{request.gpus} GPUs"
    share = "" if request.milli == WHOLE else f", {request.milli / 10:g} % each,"
    share = f" with {request.gpu_memory_mib} MiB each" if request.gpu_memory_mib else share
    return f"{count}{f' of model {_models(request)}' if request.models else ''}{share}"


def _models(request: Request) -> str:
    return " or ".join(sorted(request.models))


def _shut(inventory: Inventory) -> str:
    drained = int((~inventory.taking).sum())
    sick = int(((inventory.model >= 0) & ~inventory.usable).sum())
    parts = [f"drained hosts: {drained}"] * (drained > 0) + [f"GPUs that are not healthy: {sick}"] * (sick > 0)
    return f" ({', '.join(parts)})" if parts else ""
