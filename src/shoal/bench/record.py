"""What a benchmark found, as it is shown, saved, and compared with another."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from shoal.bench.options import OptionError
from shoal.bench.timing import Speed, noise, percentile, speed

FORMAT = 1
SURE = 1.96
"""Standard errors on either side that hold 19 of 20 differences that are none."""

LOAD = "serve"
"""The kind of a saved benchmark that is a load on a server."""

RESULT = "SHOAL_BENCH: "
"""What a replica's result, a line of JSON, is told by among the lines that it prints."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process that trained, or drove those that did. It was timed every so many `steps`: `images` are those of them
    over all `devices`, `seconds` the times, `losses` those that were displayed."""

    replica: str
    images: int
    steps: int
    devices: int
    seconds: list[float]
    losses: list[float]
    machine: dict[str, Any]

    @property
    def speed(self) -> Speed:
        return speed(self.images, self.seconds)


@dataclass(frozen=True, slots=True)
class Record:
    """One benchmark. `flags` are the command line's, `roles` the processes by role, `one_worker` the images per second
    of one worker alone, where that was measured."""

    flags: list[str]
    roles: dict[str, int]
    parts: list[Part] = field(default_factory=list)
    one_worker: float | None = None

    @property
    def images_per_second(self) -> float:
        """Of all parts together."""
        return sum(part.speed.mean for part in self.parts)

    @property
    def noise(self) -> float:
        """The standard error of `images_per_second`, as a share of it."""
        total = self.images_per_second
        return math.sqrt(sum((noise(part.seconds) * part.speed.mean) ** 2 for part in self.parts)) / total

    @property
    def efficiency(self) -> float | None:
        """Images per second against those of as many workers as fast as one alone. A chief trains, too, where it does
        not drive the workers."""
        if not self.one_worker:
            return None
        chiefs = 0 if "ps" in self.roles else self.roles.get("chief", 0)
        return self.images_per_second / (self.one_worker * (self.roles.get("worker", 1) + chiefs))

    def summary(self) -> dict[str, Any]:
        """What people and programs read: speeds, and percentiles of the step's time in milliseconds."""
        told: dict[str, Any] = {
            "flags": self.flags,
            "roles": self.roles,
            "images_per_second": round(self.images_per_second, 3),
            "replicas": [
                {
                    "replica": part.replica,
                    "images_per_second": round(part.speed.mean, 3),
                    "uncertainty": round(part.speed.uncertainty, 3),
                    "jitter": round(part.speed.jitter, 3),
                    "step_ms": {
                        f"p{p}": round(1000 * percentile(part.seconds, p) / part.steps, 3) for p in (50, 90, 99)
                    },
                    "first_loss": part.losses[0] if part.losses else None,
                    "last_loss": part.losses[-1] if part.losses else None,
                    "machine": part.machine,
                }
                for part in self.parts
            ],
        }
        if self.efficiency is not None:
            told |= {"one_worker": self.one_worker, "scaling_efficiency": round(self.efficiency, 4)}
        return told

    def dump(self) -> str:
        return json.dumps({"shoal_bench": FORMAT, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def load(cls, file: Path) -> Record:
        """A record that was saved. Raises OptionError for a file that is none, OSError where it cannot be read."""
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
            if told.pop("shoal_bench") != FORMAT:
                raise OptionError(f"{file}: saved by another version of Shoal", "measure it again")
            return cls(**{**told, "parts": [Part(**part) for part in told["parts"]]})
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            if isinstance(fault, OptionError):
                raise
            raise OptionError(
                f"{file}: not a saved benchmark ({fault})", "make one with `shoal bench train --save FILE`"
            ) from None


class Difference(NamedTuple):
    """How fast the second is against the first. `sure` is half the width of the interval that holds the true ratio with
    95 % confidence; NaN where a run is too short to tell."""

    ratio: float
    sure: float

    @property
    def tells(self) -> bool:
        """Whether there is a difference that noise does not explain."""
        return abs(self.ratio - 1) > self.sure


def compare(first: Record, second: Record) -> Difference:
    """The ratio of images per second, and what its noise allows to say. Both errors are small shares, so they add as
    squares."""
    ratio = second.images_per_second / first.images_per_second
    return Difference(ratio, SURE * ratio * math.hypot(first.noise, second.noise))


def is_load(file: Path) -> bool:
    """Whether a saved benchmark is one of a server. Raises OSError where the file cannot be read."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("kind") == LOAD


def parts_in(lines: Sequence[tuple[str, str]]) -> list[Part]:
    """The results among lines that replicas wrote, as (replica, line); of one that told several, the last."""
    found: dict[str, Part] = {}
    for replica, line in lines:
        if line.startswith(RESULT):
            found[replica] = Part(**{**json.loads(line.removeprefix(RESULT)), "replica": replica})
    return [found[replica] for replica in sorted(found)]
