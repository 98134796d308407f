"""Which versions of a model are served: what is wanted of what lies on disk, and the order in which that comes about.

A version is a folder whose name reads as an integer. The one that is wanted is loaded before the one that is not is
given up, so at each moment some version answers. A folder may be in the middle of being copied: it counts as there when
it holds a SavedModel and nothing in it has changed for a while.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

SETTLE_SECONDS = 2.0
"""How long a folder must have been left alone. Copying goes on in steps far shorter than this."""

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)


class State(IntEnum):
    """Where a version stands, numbered as `ModelVersionStatus.State` of GetModelStatus."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclass(frozen=True, slots=True)
class VersionPolicy:
    """Which versions to serve: the `latest` so many, those in `specific`, or all there are (`latest` is None)."""

    latest: int | None = 1
    specific: frozenset[int] | None = None

    def wanted(self, there: Collection[int]) -> set[int]:
        """Those of the versions on disk that are to be served."""
        if self.specific is not None:
            return set(there) & self.specific
        return set(there) if self.latest is None else set(sorted(there)[-self.latest :])


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now: versions to load, the newest first, and versions to unload."""

    load: tuple[int, ...] = ()
    unload: tuple[int, ...] = ()


def next_step(wanted: Collection[int], states: Mapping[int, State]) -> Step:
    """What brings the loaded versions nearer to the wanted ones without leaving the model unserved in between."""
    load = sorted((version for version in wanted if states.get(version, State.START) is State.START), reverse=True)
    served = any(states.get(version) is State.AVAILABLE for version in wanted)
    unload = [
        version
        for version, state in sorted(states.items())
        if state is State.AVAILABLE and version not in wanted and (served or not wanted)
    ]
    return Step(tuple(load), tuple(unload))


def parse_version(name: str) -> int | None:
    """The version that a folder's name stands for, as TensorFlow Serving reads it: `00000123` is 123. None where it is
    no 64-bit integer."""
    if not _INTEGER.fullmatch(name):
        return None
    number = int(name)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(slots=True)
class Settling:
    """Tells whether folders have come to rest. It remembers how each looked last, and since when it has looked so."""

    _seen: dict[Hashable, tuple[Hashable, float]] = field(default_factory=dict)

    def settled(self, folder: Hashable, look: Hashable, age: float, now: float) -> bool:
        """Whether `folder`, which now looks like `look`, has been left alone for long enough. `age` is how many seconds
        ago its newest file changed by the clock of the file system, which may be wrong; `now` is a steady clock."""
        before, since = self._seen.get(folder, (None, now))
        if look != before:
            since = now
        self._seen[folder] = (look, since)
        return age >= SETTLE_SECONDS or now - since >= SETTLE_SECONDS

    def forget_all_but(self, folders: Collection[Hashable]) -> None:
        """Drop what is known of folders that are gone."""
        self._seen = {folder: seen for folder, seen in self._seen.items() if folder in folders}
