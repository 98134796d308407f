"""Software GPUs: devices of a node that has none, so that everything around them works on any machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.gpu.plugin.devices import Device, Grant


@dataclass(frozen=True, slots=True)
class Software:
    """`count` GPUs of one model. They are always healthy."""

    count: int
    memory_mib: int
    model: str
    driver: str = "software"

    def devices(self) -> list[Device]:
        return [Device(f"software-{i}", model=self.model, memory_mib=self.memory_mib) for i in range(self.count)]

    def grant(self, devices: Sequence[Device]) -> Grant:
        ids = ",".join(each.id for each in devices)
        return Grant({"SHOAL_GPUS": ids, "SHOAL_GPU_MODEL": self.model, "SHOAL_GPU_MEMORY_MIB": str(self.memory_mib)})
