"""NVIDIA's driver behind the contract of `shoal.cuda.driver`: its public API, called through ctypes.

What kernels print, NVIDIA's driver writes to the process's standard output. So a process that serves a client has a
file in its place, and what appears there is the client's.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from itertools import count
from typing import Any, Generic, TypeVar

from shoal.cuda.driver import Device, DriverError, Status
from shoal.cuda.nvidia_module import NvidiaModule, attributes

OLDEST = 12040
"""CUDA 12.4, of driver 550, tells of a module's functions and their parameters."""

DEVICE_ATTRIBUTES = range(1, 160)
LOG_BYTES = 16384
JIT_ERROR_LOG, JIT_ERROR_BYTES = 5, 6
CUBIN, PTX, FAT_BINARY = 0, 1, 2
STREAM_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)
ELF_MAGIC, FAT_MAGIC = b"\x7fELF", b"\x50\xed\x55\xba"


def driver(library: str = "libcuda.so.1") -> NvidiaDriver:
    """Raises DriverError where there is no driver, or one that is too old. To be called once a process."""
    return NvidiaDriver(_Library(library))


class _Library:
    """The library's functions by name; each raises DriverError for any result but success."""

    def __init__(self, name: str) -> None:
        try:
            self._library = ctypes.CDLL(name)
        except OSError as fault:
            raise DriverError(Status.NO_DEVICE, f"{fault}; NVIDIA's driver must be installed on this host") from fault
        self._thread = threading.local()

    def __call__(self, function: str, *given: Any) -> None:
        try:
            found = getattr(self._library, function)
        except AttributeError:
            raise DriverError(Status.NOT_SUPPORTED, f"the driver has no {function}; it is too old") from None
        if status := found(*given):
            raise DriverError(status, f"{function}: {self._name(status)}")

    def use(self, context: c_void_p) -> None:
        """Make a context current in this thread."""
        if getattr(self._thread, "current", None) is not context:
            self("cuCtxSetCurrent", context)
            self._thread.current = context

    def _name(self, status: int) -> str:
        name = c_char_p()
        self._library.cuGetErrorName(status, byref(name))
        return (name.value or b"").decode() or f"error {status}"


class NvidiaDriver:
    """All devices that the driver shows to this process."""

    def __init__(self, call: _Library) -> None:
        version, count = c_int(), c_int()
        call("cuInit", 0)
        call("cuDriverGetVersion", byref(version))
        self.version = version.value
        if self.version < OLDEST:
            told = f"CUDA {self.version // 1000}.{self.version % 1000 // 10}"
            raise DriverError(Status.NOT_SUPPORTED, f"the driver is of {told}; Shoal needs one of CUDA 12.4 or newer")
        call("cuDeviceGetCount", byref(count))
        printed = _Printed()
        self.devices: Sequence[Device] = [NvidiaDevice(call, number, printed) for number in range(count.value)]


class _Printed:
    """What is written to standard output, which is a file in memory from now on."""

    def __init__(self) -> None:
        self._file = os.memfd_create("printed")
        os.dup2(self._file, 1)
        self._libc = ctypes.CDLL(None)

    def take(self) -> bytes:
        self._libc.fflush(None)
        if not (size := os.lseek(self._file, 0, os.SEEK_CUR)):
            return b""
        found = os.pread(self._file, size, 0)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return found


class NvidiaDevice:
    """The device of this number."""

    def __init__(self, call: _Library, number: int, printed: _Printed) -> None:
        self._call, self._number, self._printed = call, number, printed
        name, bus, uuid = ctypes.create_string_buffer(256), ctypes.create_string_buffer(32), (ctypes.c_ubyte * 16)()
        memory = c_size_t()
        call("cuDeviceGetName", name, len(name), number)
        call("cuDeviceGetPCIBusId", bus, len(bus), number)
        call("cuDeviceGetUuid_v2", byref(uuid), number)
        call("cuDeviceTotalMem_v2", byref(memory), number)
        self.name, self.pci_bus_id, self.uuid = name.value.decode(), bus.value.decode(), bytes(uuid)
        self.memory = memory.value
        self.attributes: Mapping[int, int] = dict(attributes(call, "cuDeviceGetAttribute", DEVICE_ATTRIBUTES, number))

    def open(self) -> NvidiaContext:
        handle = c_void_p()
        self._call("cuCtxCreate_v2", byref(handle), 0, self._number)
        self._call.use(handle)
        return NvidiaContext(self._call, handle, self._printed)


T = TypeVar("T")


class _Pending(Generic[T]):
    """`done` tells of all that it waits for, and `wait` is done by whoever waits: both ask the driver."""

    def __init__(self, done: Callable[[], bool], wait: Callable[[], T]) -> None:
        self.done, self.wait = done, wait


class NvidiaContext:
    """Handles of streams and events are NVIDIA's own: they are addresses, and no two live ones are the same."""

    def __init__(self, call: _Library, handle: c_void_p, printed: _Printed) -> None:
        self._library, self._handle, self._printed = call, handle, printed
        self._closed = False
        self._numbers = count(1)
        self._callbacks: dict[int, object] = {}  # those that are yet to be called, and must not be collected

    def _call(self, function: str, *given: Any) -> None:
        self._library.use(self._handle)
        self._library(function, *given)

    def memory(self) -> tuple[int, int]:
        free, total = c_size_t(), c_size_t()
        self._call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> int:
        address = c_uint64()
        self._call("cuMemAlloc_v2", byref(address), c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        self._call("cuMemFree_v2", c_uint64(address))

    def find(self, address: int) -> tuple[int, int]:
        base, size = c_uint64(), c_size_t()
        self._call("cuMemGetAddressRange_v2", byref(base), byref(size), c_uint64(address))
        return base.value, size.value

    def write(self, address: int, data: bytes | memoryview, stream: int = 0) -> None:
        # From memory that is not pinned a copy has left it when the call returns.
        given: Any = bytes(data) if isinstance(data, bytes) or data.readonly else _place(data)
        self._call("cuMemcpyHtoDAsync_v2", c_uint64(address), given, c_size_t(len(given)), c_void_p(stream))

    def read(self, address: int, size: int, stream: int = 0) -> bytes:
        into = bytearray(size)
        place = (ctypes.c_char * size).from_buffer(into)
        self._call("cuMemcpyDtoHAsync_v2", place, c_uint64(address), c_size_t(size), c_void_p(stream))
        self._call("cuStreamSynchronize", c_void_p(stream))
        return bytes(into)

    def reading(self, address: int, size: int, stream: int = 0) -> _Pending[bytes]:
        return _Pending(lambda: self.stream_done(stream), lambda: self.read(address, size, stream))

    def copy(self, target: int, source: int, size: int, stream: int = 0) -> None:
        self._call("cuMemcpyDtoDAsync_v2", c_uint64(target), c_uint64(source), c_size_t(size), c_void_p(stream))

    def fill(self, address: int, pattern: bytes, count: int, stream: int = 0) -> None:
        value = c_uint(int.from_bytes(pattern, "little"))
        function = f"cuMemsetD{8 * len(pattern)}Async"
        self._call(function, c_uint64(address), value, c_size_t(count), c_void_p(stream))

    def load(self, images: Sequence[bytes]) -> NvidiaModule:
        handle, log = c_void_p(), ctypes.create_string_buffer(LOG_BYTES)
        options = (c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        try:
            if len(images) == 1:
                self._call("cuModuleLoadDataEx", byref(handle), _ended(images[0]), 2, options, values)
            else:
                self._link(images, handle, options, values)
        except DriverError as fault:
            told = log.value.decode(errors="replace").strip()
            raise DriverError(fault.status, f"{fault}: {told}" if told else str(fault)) from fault
        return NvidiaModule(self._call, handle)

    def _link(self, images: Sequence[bytes], handle: c_void_p, options: Any, values: Any) -> None:
        state, result, size = c_void_p(), c_void_p(), c_size_t()
        self._call("cuLinkCreate_v2", 2, options, values, byref(state))
        try:
            for each in images:
                given = _ended(each)
                self._call("cuLinkAddData_v2", state, _kind(each), given, c_size_t(len(given)), None, 0, None, None)
            self._call("cuLinkComplete", state, byref(result), byref(size))
            self._call("cuModuleLoadData", byref(handle), result)
        finally:
            self._call("cuLinkDestroy", state)

    def create_stream(self, flags: int = 0, priority: int = 0) -> int:
        handle = c_void_p()
        self._call("cuStreamCreateWithPriority", byref(handle), flags, priority)
        return handle.value or 0

    def destroy_stream(self, stream: int) -> None:
        self._call("cuStreamDestroy_v2", c_void_p(stream))

    def stream_done(self, stream: int) -> bool:
        return self._done("cuStreamQuery", stream)

    def synchronize_stream(self, stream: int) -> None:
        self._call("cuStreamSynchronize", c_void_p(stream))

    def create_event(self, flags: int = 0) -> int:
        handle = c_void_p()
        self._call("cuEventCreate", byref(handle), flags)
        return handle.value or 0

    def destroy_event(self, event: int) -> None:
        self._call("cuEventDestroy_v2", c_void_p(event))

    def record_event(self, event: int, stream: int = 0) -> None:
        self._call("cuEventRecord", c_void_p(event), c_void_p(stream))

    def wait_event(self, stream: int, event: int) -> None:
        self._call("cuStreamWaitEvent", c_void_p(stream), c_void_p(event), 0)

    def event_done(self, event: int) -> bool:
        return self._done("cuEventQuery", event)

    def synchronize_event(self, event: int) -> None:
        self._call("cuEventSynchronize", c_void_p(event))

    def pending_event(self, event: int) -> _Pending[None]:
        return _Pending(lambda: self.event_done(event), lambda: self.synchronize_event(event))

    def elapsed(self, start: int, end: int) -> float:
        milliseconds = c_float()
        self._call("cuEventElapsedTime", byref(milliseconds), c_void_p(start), c_void_p(end))
        return milliseconds.value

    def synchronize(self) -> None:
        self._call("cuCtxSynchronize")

    def pending(self, stream: int | None = None) -> _Pending[None]:
        if stream is None:
            return _Pending(lambda: False, self.synchronize)
        return _Pending(lambda: self.stream_done(stream), lambda: self.synchronize_stream(stream))

    def call(self, function: Callable[[int], None], stream: int = 0) -> None:
        number = next(self._numbers)

        def called(_stream: int, status: int, _data: int) -> None:
            function(status)
            del self._callbacks[number]

        self._callbacks[number] = callback = STREAM_CALLBACK(called)
        self._call("cuStreamAddCallback", c_void_p(stream), callback, None, 0)

    def output(self) -> bytes:
        return self._printed.take()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._library("cuCtxDestroy_v2", self._handle)
            self._library.use(c_void_p())

    def _done(self, function: str, handle: int) -> bool:
        try:
            self._call(function, c_void_p(handle))
        except DriverError as fault:
            if fault.status == Status.NOT_READY:
                return False
            raise
        return True


def _place(data: memoryview) -> Any:
    return (ctypes.c_char * len(data)).from_buffer(data)


def _kind(image: bytes) -> int:
    return CUBIN if image.startswith(ELF_MAGIC) else FAT_BINARY if image.startswith(FAT_MAGIC) else PTX


def _ended(image: bytes) -> bytes:
    """PTX ends with a zero byte; ctypes puts one behind all bytes, but does not count it."""
    return image if image.endswith(b"\0") else image + b"\0"
