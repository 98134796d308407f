"""A driver of software GPUs: what `shoal.cuda.driver` asks of a GPU, done by the host's processors."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.cuda.driver import Device
from shoal.cuda.soft.compile.compiled import run_address
from shoal.cuda.soft.device import SoftDevice

VERSION = 13000


class SoftDriver:
    version = VERSION

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = devices


def prepare() -> None:
    """Make the machine code that runs blocks, so that a process forked later has it."""
    run_address()


def driver(devices: Sequence[tuple[str, int]], kernel_seconds: float | None = None) -> SoftDriver:
    """Of devices with these names and bytes of memory. A kernel that runs longer than `kernel_seconds` is ended."""
    made = (SoftDevice(number, name, memory, kernel_seconds) for number, (name, memory) in enumerate(devices))
    return SoftDriver(list(made))
