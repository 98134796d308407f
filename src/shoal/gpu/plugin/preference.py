"""PURE: which of the free devices a container had best be given.

Close together: from as few hosts as may be, there from as few GPUs; and where one place has enough, from the one that
is left with least, so that wide places stay for those who ask for much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def preferred(
    available: Iterable[str], required: Iterable[str], size: int, places: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """`size` of the available devices, `required` among them. `places` says where each is, the widest circle first.

    Raises ValueError where the request cannot be met.
    """
    must = list(dict.fromkeys(required))
    free = [id for id in dict.fromkeys(available) if id not in must]
    if len(must) > size:
        raise ValueError(f"{len(must)} devices must be among {size}")
    if len(must) + len(free) < size:
        raise ValueError(f"{size} devices are asked for, and {len(must) + len(free)} are available")
    return must + _nearest(free, size - len(must), must, {id: places.get(id, ()) for id in (*must, *free)})


def _nearest(free: Sequence[str], size: int, near: Sequence[str], places: Mapping[str, tuple[str, ...]]) -> list[str]:
    """`size` of the free ones: first from places where some of `near` are."""
    if size >= len(free) or not any(places[id] for id in free):
        return list(free[:size])
    groups: dict[str, list[str]] = {}
    for id in free:
        groups.setdefault(_outermost(places[id]), []).append(id)
    inner = {id: place[1:] for id, place in places.items()}
    entered = {_outermost(places[id]) for id in near}
    taken: list[str] = []
    while size > len(taken):
        lacking = size - len(taken)
        candidates = [name for name in groups if name in entered] or list(groups)
        enough = [name for name in candidates if len(groups[name]) >= lacking]
        # A place that cannot serve the rest is used up, the largest first: that makes the number of places least.
        name = min(enough, key=lambda n: len(groups[n])) if enough else max(candidates, key=lambda n: len(groups[n]))
        beside = [id for id in near if _outermost(places[id]) == name]
        taken += _nearest(groups.pop(name), lacking, beside, inner)
    return taken


def _outermost(place: tuple[str, ...]) -> str:
    return place[0] if place else ""
