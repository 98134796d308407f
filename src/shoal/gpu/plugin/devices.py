"""What a plugin offers: devices, and what a container is given with those that it gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU of the node, or one share of the pool. `id` has at most 63 characters; `place` says where it is, from
    the widest circle inwards (host, GPU), and devices are handed out from as few places as may be."""

    id: str
    healthy: bool = True
    model: str = ""
    memory_mib: int = 0
    numa_node: int | None = None
    place: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """What the kubelet adds to a container: environment, mounts (host → container, read-only), device nodes and names
    of the Container Device Interface."""

    environment: dict[str, str] = field(default_factory=dict)
    mounts: dict[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    cdi: tuple[str, ...] = ()


class PassBy(StrEnum):
    """How a container is given NVIDIA GPUs: by the environment that NVIDIA's container runtime reads, as device nodes,
    or by names of the Container Device Interface, which `nvidia-ctk cdi generate` must have described on the node."""

    ENV = "env"
    NODES = "nodes"
    CDI = "cdi"


class SourceError(Exception):
    """The devices cannot be asked. `hint` says what may be done."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


class Source(Protocol):
    """Where devices come from. Methods are called in a thread and may block."""

    @property
    def driver(self) -> str:
        """Version of the driver; empty where GPUs are not this node's."""
        ...

    def devices(self) -> list[Device]:
        """All devices, with their health now. Raises SourceError."""
        ...

    def grant(self, devices: Sequence[Device]) -> Grant:
        """What a container needs that was given these."""
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """Devices of another source whose model matches a pattern, less the health of those that a file names.

    The pattern is Bitfusion's REG_EXP_SFC. The file, one id a line, lets an administrator take a GPU out of use while
    the plugin runs: it is read anew each time, and is empty where there is none.
    """

    source: Source
    pattern: re.Pattern[str] | None = None
    unhealthy: Path | None = None

    @property
    def driver(self) -> str:
        return self.source.driver

    def devices(self) -> list[Device]:
        found = [each for each in self.source.devices() if not self.pattern or self.pattern.search(each.model)]
        out = self._taken_out()
        return [replace(each, healthy=each.healthy and each.id not in out) for each in found]

    def grant(self, devices: Sequence[Device]) -> Grant:
        return self.source.grant(devices)

    def _taken_out(self) -> set[str]:
        if not self.unhealthy:
            return set()
        try:
            return {line.strip() for line in self.unhealthy.read_text(encoding="utf-8").splitlines()}
        except FileNotFoundError:
            return set()
        except (OSError, UnicodeError) as fault:
            raise SourceError(f"--unhealthy-file {self.unhealthy}: {fault}", "one id a line, in UTF-8") from fault
