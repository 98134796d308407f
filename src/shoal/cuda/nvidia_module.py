"""A module that NVIDIA's driver has loaded, its kernels and its variables. See `shoal.cuda.nvidia`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from shoal.cuda.driver import DriverError, Function, Status

FUNCTION_ATTRIBUTES = range(16)


class NvidiaModule:
    """Its variables are looked up when asked for: the driver does not list them."""

    def __init__(self, call: Any, handle: c_void_p) -> None:
        self._call, self._handle = call, handle
        count = c_uint()
        call("cuModuleGetFunctionCount", byref(count), handle)
        handles = (c_void_p * count.value)()
        call("cuModuleEnumerateFunctions", handles, count, handle)
        functions = [NvidiaFunction(call, c_void_p(each)) for each in handles]
        self.functions: Mapping[str, Function] = {each.name: each for each in functions}
        self.variables: Mapping[str, tuple[int, int]] = _Variables(call, handle)

    def unload(self) -> None:
        self._call("cuModuleUnload", self._handle)


class _Variables(Mapping[str, tuple[int, int]]):
    def __init__(self, call: Any, module: c_void_p) -> None:
        self._call, self._module = call, module

    def __getitem__(self, name: str) -> tuple[int, int]:
        address, size = c_uint64(), c_size_t()
        try:
            self._call("cuModuleGetGlobal_v2", byref(address), byref(size), self._module, name.encode())
        except DriverError as fault:
            if fault.status == Status.NOT_FOUND:
                raise KeyError(name) from fault
            raise
        return address.value, size.value

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class NvidiaFunction:
    def __init__(self, call: Any, handle: c_void_p) -> None:
        self._call, self._handle = call, handle
        name = c_char_p()
        call("cuFuncGetName", byref(name), handle)
        self.name = (name.value or b"").decode()
        self.parameters: Sequence[tuple[int, int]] = list(self._parameters())
        self._attributes = dict(attributes(call, "cuFuncGetAttribute", FUNCTION_ATTRIBUTES, handle))
        self.attributes: Mapping[int, int] = self._attributes

    def _parameters(self) -> Iterator[tuple[int, int]]:
        offset, size, index = c_size_t(), c_size_t(), 0
        while True:
            try:
                self._call("cuFuncGetParamInfo", self._handle, c_size_t(index), byref(offset), byref(size))
            except DriverError as fault:
                if fault.status == Status.INVALID_VALUE:
                    return  # there are no more
                raise
            yield offset.value, size.value
            index += 1

    def set_attribute(self, attribute: int, value: int) -> None:
        self._call("cuFuncSetAttribute", self._handle, attribute, value)
        self._attributes[attribute] = value

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        shared_bytes: int = 0,
        stream: int = 0,
    ) -> None:
        packed = ctypes.create_string_buffer(arguments, max(len(arguments), 1))
        size = c_size_t(len(arguments))
        extra = (c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), None)  # CU_LAUNCH_PARAM_…
        self._call("cuLaunchKernel", self._handle, *grid, *block, shared_bytes, c_void_p(stream), None, extra)

    def active_blocks(self, block_threads: int, shared_bytes: int = 0) -> int:
        found = c_int()
        function = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        self._call(function, byref(found), self._handle, block_threads, c_size_t(shared_bytes))
        return found.value


def attributes(call: Any, function: str, numbers: range, of: Any) -> Iterator[tuple[int, int]]:
    """Those of the numbers that the driver knows."""
    value = c_int()
    for number in numbers:
        try:
            call(function, byref(value), number, of)
        except DriverError as fault:
            if fault.status != Status.INVALID_VALUE:
                raise
        else:
            yield number, value.value
