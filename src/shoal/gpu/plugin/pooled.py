"""Shares of the pool: GPUs that are somewhere on the network, which a container reaches by Shoal's client library.

The kubelet counts them, so that a pod which asks for one is placed and started like any other; who gets which GPU is
the broker's decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.gpu.plugin.devices import Device, Grant

CLIENT_FOLDER = "/opt/shoal/client"


@dataclass(frozen=True, slots=True)
class Pooled:
    """`count` shares. `library` is the node's folder with the client library, which a container finds as
    `client_folder`; `broker` is where it asks for its lease. Either may be empty."""

    count: int
    library: str = ""
    broker: str = ""
    client_folder: str = CLIENT_FOLDER
    driver: str = ""

    def devices(self) -> list[Device]:
        return [Device(f"share-{i}") for i in range(self.count)]

    def grant(self, devices: Sequence[Device]) -> Grant:
        environment = {"SHOAL_GPU_COUNT": str(len(devices))}
        if self.broker:
            environment["SHOAL_BROKER"] = self.broker
        if not self.library:
            return Grant(environment)
        return Grant({**environment, "LD_LIBRARY_PATH": self.client_folder}, {self.library: self.client_folder})
