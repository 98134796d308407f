"""Which of several clusters a job goes to, and why. Pure.

First where most of its pods find room: a cluster that does not say what is free comes after those that have room for
all, and before those that have not. Of several with room for all, a job without GPUs leaves those that have some, and
then goes where the larger part of the CPUs is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from shoal.kubernetes.clusters.room import NONE, Object, Room, places, requests

GIBI = 1024**3


class Choice(NamedTuple):
    """`reasons` has a sentence for each cluster, the chosen one's first."""

    cluster: str
    reasons: list[str]


def choose(pods: Sequence[Object], rooms: Mapping[str, Room]) -> Choice:
    """`rooms` is by cluster, and has one at least."""
    devices = sorted({resource for pod in pods for resource in requests(pod) if "/" in resource})
    found = {cluster: places(pods, room) for cluster, room in rooms.items()}

    def rank(cluster: str) -> tuple[int, int, bool, Decimal]:
        room, placed = rooms[cluster], found[cluster]
        sure = 0 if placed < len(pods) else 2 if room.known else 1
        spared = not devices and not _has_devices(room)
        return sure, placed, spared, room.free("cpu") or NONE

    ranked = sorted(rooms, key=rank, reverse=True)
    return Choice(ranked[0], [_sentence(each, rooms[each], found[each], len(pods), devices) for each in ranked])


def _has_devices(room: Room) -> bool:
    return any(amount > 0 for node in room.nodes or () for resource, amount in node.free.items() if "/" in resource)


def _sentence(cluster: str, room: Room, placed: int, wanted: int, devices: Sequence[str]) -> str:
    if not room.known:
        return f"{cluster} does not say what is free"
    amounts = [("CPUs", room.free("cpu"), 1), ("GiB", room.free("memory"), GIBI)]
    amounts += [(device, room.free(device), 1) for device in devices]
    free = ", ".join(f"{amount / unit:.3g} {name}" for name, amount, unit in amounts if amount is not None)
    whose = "" if room.nodes is not None else " in the quota"
    all_of_them = "the one replica" if wanted == 1 else f"all {wanted} replicas"
    some = f"{placed} of {wanted} replicas" if placed else "no replica"
    has_room = all_of_them if placed == wanted else some
    return f"{cluster} has room for {has_room}" + (f" ({free} free{whose})" if free else "")
