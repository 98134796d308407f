"""A software GPU as programs see it. Its multiprocessors are the host's processors; each runs a block at a time."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Mapping

from shoal.cuda.soft.compile.layout import WARP
from shoal.cuda.soft.context import SoftContext
from shoal.cuda.soft.run import MAX_BLOCK, MAX_GRID, MAX_THREADS, processors
from shoal.cuda.soft.shared import OPT_IN_BYTES, STATIC_BYTES

MAJOR, MINOR = 8, 6
"""The compute capability: that of the newest instructions which plain CUDA C++ is compiled to and which run here."""

CAPABILITY = 10 * MAJOR + MINOR
CLOCK_KHZ = 1_000_000
"""Told to programs that ask; `%clock` counts cycles of the host's processor, whatever their rate."""


def attributes() -> Mapping[int, int]:
    """By number of `CUdevice_attribute`, in the order of `cuda.h`."""
    return {
        1: MAX_THREADS,  # of a block
        2: MAX_BLOCK[0],
        3: MAX_BLOCK[1],
        4: MAX_BLOCK[2],
        5: MAX_GRID[0],
        6: MAX_GRID[1],
        7: MAX_GRID[2],
        8: STATIC_BYTES,  # shared memory of a block
        9: 65536,  # constant memory
        10: WARP,
        11: (1 << 31) - 1,  # pitch
        12: 65536,  # registers of a block
        13: CLOCK_KHZ,
        14: 512,  # alignment of textures
        15: 1,  # copies and kernels overlap
        16: processors(),  # multiprocessors
        17: 0,  # a limit on how long kernels run
        18: 0,  # integrated
        19: 0,  # mapped host memory
        20: 0,  # compute mode: the default
        31: 1,  # concurrent kernels
        32: 0,  # error correction
        33: 0,  # PCI bus, device
        34: 0,
        35: 0,  # TCC driver
        36: CLOCK_KHZ,  # of memory
        37: 64,  # bits of the memory's bus
        38: 1 << 20,  # second-level cache
        39: MAX_THREADS,  # threads of a multiprocessor
        40: 1,  # engines for copies
        41: 1,  # one address space
        50: 0,  # PCI domain
        75: MAJOR,
        76: MINOR,
        78: 1,  # priorities of streams
        81: OPT_IN_BYTES,  # shared memory of a multiprocessor
        82: 65536,  # registers of a multiprocessor
        83: 0,  # managed memory
        84: 0,  # several GPUs on a board
        87: 32,  # how much slower double precision is
        97: OPT_IN_BYTES,
        106: 1,  # blocks of a multiprocessor
        111: 0,  # reserved shared memory of a block
    }


class SoftDevice:
    """Number `number` of those that a process has."""

    def __init__(self, number: int, name: str, memory: int, seconds: float | None) -> None:
        """`seconds` is how long a kernel may run."""
        self.name, self.memory, self._seconds = name, memory, seconds
        self.uuid = uuid.uuid5(uuid.NAMESPACE_DNS, f"software-gpu-{number}.{socket.gethostname()}").bytes
        self.pci_bus_id = f"0000:{number + 1:02x}:00.0"
        self.attributes = attributes()

    def open(self) -> SoftContext:
        return SoftContext(self.memory, CAPABILITY, self._seconds)
