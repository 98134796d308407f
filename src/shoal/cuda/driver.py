"""What a server asks of a GPU, whoever made it: NVIDIA's driver, or the software GPU.

The words and rules are those of the CUDA driver API. Addresses are device addresses, sizes are bytes, and stream 0 is
the context's default stream. Work on one stream happens in the order in which it was asked for. `launch`, `write`,
`copy` and `fill` may return before the work is done, and then its faults are raised by a later call on the context, as
CUDA does; `read` and the `synchronize` calls wait. What waits has a form that does not, and gives a `Pending`. Every
fault is a `DriverError`. A context is used by one thread, but for what is pending: that may be waited for by any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Generic, Protocol, TypeVar


class Status(IntEnum):
    """The results of the driver API (`CUresult` in the public `cuda.h`) that Shoal's own code gives."""

    SUCCESS = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    NOT_INITIALIZED = 3
    NO_DEVICE = 100
    INVALID_DEVICE = 101
    INVALID_IMAGE = 200
    INVALID_CONTEXT = 201
    NO_BINARY_FOR_GPU = 209
    INVALID_PTX = 218
    UNSUPPORTED_PTX_VERSION = 222
    INVALID_HANDLE = 400
    NOT_FOUND = 500
    NOT_READY = 600
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_TIMEOUT = 702
    ASSERT = 710
    MISALIGNED_ADDRESS = 716
    LAUNCH_FAILED = 719
    NOT_SUPPORTED = 801
    UNKNOWN = 999


class DriverError(Exception):
    """A call that failed. `status` is what the program is told; the text is for a log, and for a JIT's error log."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


T = TypeVar("T", covariant=True)


class Pending(Protocol, Generic[T]):
    """What was asked for, and what it gives in the end."""

    def done(self) -> bool:
        """Whether `wait` would return at once; False where that is not known."""
        ...

    def wait(self) -> T: ...


class Driver(Protocol):
    """`version` is that of `cuDriverGetVersion`, as 12080 for CUDA 12.8."""

    version: int
    devices: Sequence[Device]


class Device(Protocol):
    """`memory` is the total in bytes; `attributes` is by number of `CUdevice_attribute`; `uuid` has 16 bytes."""

    name: str
    uuid: bytes
    memory: int
    pci_bus_id: str
    attributes: Mapping[int, int]

    def open(self) -> Context:
        """A context of its own for one client: nothing in it is seen by others."""
        ...


class Context(Protocol):
    """Memory, modules, streams and events of one client on one device. A fault of a kernel is sticky: every later call
    but `close` raises it again. Handles of streams and events are positive numbers that are never used twice."""

    def memory(self) -> tuple[int, int]:
        """Free and total bytes, as `cuMemGetInfo`."""
        ...

    def allocate(self, size: int) -> int: ...

    def free(self, address: int) -> None: ...

    def find(self, address: int) -> tuple[int, int]:
        """Base and size of the allocation that an address lies in, as `cuMemGetAddressRange`."""
        ...

    def write(self, address: int, data: bytes | memoryview, stream: int = 0) -> None:
        """The data are not looked at any more when this returns."""
        ...

    def read(self, address: int, size: int, stream: int = 0) -> bytes: ...

    def reading(self, address: int, size: int, stream: int = 0) -> Pending[bytes | memoryview]:
        """What it gives is to be used at once: it may be the memory itself."""
        ...

    def copy(self, target: int, source: int, size: int, stream: int = 0) -> None: ...

    def fill(self, address: int, pattern: bytes, count: int, stream: int = 0) -> None:
        """`count` times the pattern, which has 1, 2 or 4 bytes."""
        ...

    def load(self, images: Sequence[bytes]) -> Module:
        """Load PTX text or fat binaries, linked with one another. What cannot run here is refused with a message that
        tells how to get what can."""
        ...

    def create_stream(self, flags: int = 0, priority: int = 0) -> int: ...

    def destroy_stream(self, stream: int) -> None: ...

    def stream_done(self, stream: int) -> bool: ...

    def synchronize_stream(self, stream: int) -> None: ...

    def create_event(self, flags: int = 0) -> int: ...

    def destroy_event(self, event: int) -> None: ...

    def record_event(self, event: int, stream: int = 0) -> None: ...

    def wait_event(self, stream: int, event: int) -> None: ...

    def event_done(self, event: int) -> bool: ...

    def synchronize_event(self, event: int) -> None: ...

    def pending_event(self, event: int) -> Pending[None]: ...

    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two events that are done."""
        ...

    def synchronize(self) -> None: ...

    def pending(self, stream: int | None = None) -> Pending[None]:
        """All that was asked for so far, on one stream or on all."""
        ...

    def call(self, function: Callable[[int], None], stream: int = 0) -> None:
        """Have the host call `function` with the status of the context when the stream has come to it, as
        `cuStreamAddCallback`; what follows on the stream waits until it returns. It may be called by any thread, and
        raises nothing."""
        ...

    def output(self) -> bytes:
        """What kernels have printed since the last call. Complete up to the last synchronization."""
        ...

    def close(self) -> None:
        """Wait for what runs, or end it, and give everything back. May be called twice."""
        ...


class Module(Protocol):
    """`variables` holds address and size of each global variable by name."""

    functions: Mapping[str, Function]
    variables: Mapping[str, tuple[int, int]]

    def unload(self) -> None: ...


class Function(Protocol):
    """A kernel. `parameters` holds offset and size of each, in bytes; `attributes` is by number of
    `CUfunction_attribute`."""

    name: str
    parameters: Sequence[tuple[int, int]]
    attributes: Mapping[int, int]

    def set_attribute(self, attribute: int, value: int) -> None: ...

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        shared_bytes: int = 0,
        stream: int = 0,
    ) -> None:
        """`arguments` is the parameters' memory: each at its offset."""
        ...

    def active_blocks(self, block_threads: int, shared_bytes: int = 0) -> int:
        """How many blocks a multiprocessor holds at once, as `cuOccupancyMaxActiveBlocksPerMultiprocessor`."""
        ...
