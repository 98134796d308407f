"""What a lease's server offers: the lease's GPUs, with as much memory of each as the lease may use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shoal.cuda.driver import Driver, DriverError, Status

SOFTWARE = "software-"


@dataclass(frozen=True, slots=True)
class GPU:
    """`memory` is the lease's part, in bytes."""

    id: str
    model: str
    memory: int


@dataclass(frozen=True, slots=True)
class Offer:
    """GPUs of one kind: software GPUs, or NVIDIA's through the driver `library`."""

    gpus: tuple[GPU, ...]
    library: str

    @classmethod
    def of(cls, gpus: Sequence[dict[str, Any]], library: str) -> Offer:
        """From what the agent tells. Raises ValueError for a lease of both kinds."""
        given = tuple(GPU(each["id"], each["model"], each["memory_mib"] << 20) for each in gpus)
        if len({each.id.startswith(SOFTWARE) for each in given}) > 1:
            raise ValueError("a lease has either software GPUs or NVIDIA's on one host")
        return cls(given, library)

    @property
    def software(self) -> bool:
        return all(each.id.startswith(SOFTWARE) for each in self.gpus)

    def prepare(self) -> None:
        """Import what `driver` needs, so that it is there in every process forked later. No GPU is touched."""
        if not self.software:
            import shoal.cuda.nvidia  # noqa: F401

            return
        with suppress(ModuleNotFoundError):  # the driver says so then
            from shoal.cuda.soft.driver import prepare

            prepare()

    def driver(self) -> Driver:
        """The driver of a process that serves a client; its devices are in the order of `gpus`. Raises DriverError."""
        if self.software:
            return _software_gpus([(each.model, each.memory) for each in self.gpus])
        from shoal.cuda import nvidia

        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(each.id for each in self.gpus)
        return nvidia.driver(self.library)


def _software_gpus(devices: list[tuple[str, int]]) -> Driver:
    try:
        from shoal.cuda.soft.driver import driver
    except ModuleNotFoundError as missing:
        told = f"{missing.name} is not installed on the GPU's host; software GPUs need shoal[gpu] there"
        raise DriverError(Status.NO_DEVICE, told) from missing
    return driver(devices)
