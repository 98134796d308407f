"""How each function is answered.

Three tables name those that are: REMOTE, whose C code is generated from their parameters; ALIASES, which are another
function under an older name or with a parameter left out; and WRITTEN, whose C code is in `native/`. All others answer
CUDA_ERROR_NOT_SUPPORTED, and REFUSED says why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from shoal.cuda.api.functions import functions


class Mode(StrEnum):
    """Whether a call waits for the server's answer, does not, or does not reach the server."""

    SYNC = "synchronous"
    POSTED = "posted"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Remote:
    """The message that a function sends, with its parameters as fields. Pointers are where the answer's fields go."""

    message: str
    mode: Mode


def _sync(message: str) -> Remote:
    return Remote(message, Mode.SYNC)


def _posted(message: str) -> Remote:
    return Remote(message, Mode.POSTED)


REMOTE = {
    "cuEventCreate": _sync("create_event"),
    "cuEventDestroy_v2": _posted("destroy_event"),
    "cuEventElapsedTime": _sync("elapsed"),
    "cuEventQuery": _sync("query_event"),
    "cuEventRecord": _posted("record_event"),
    "cuEventSynchronize": _sync("synchronize_event"),
    "cuMemGetAddressRange_v2": _sync("address_range"),
    "cuMemGetInfo_v2": _sync("memory_info"),
    "cuMemcpyDtoDAsync_v2": _posted("copy"),
    "cuMemsetD16Async": _posted("fill_16"),
    "cuMemsetD32Async": _posted("fill_32"),
    "cuMemsetD8Async": _posted("fill_8"),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": _sync("active_blocks"),
    "cuStreamCreateWithPriority": _sync("create_stream"),
    "cuStreamDestroy_v2": _posted("destroy_stream"),
    "cuStreamGetFlags": _sync("stream_flags"),
    "cuStreamGetPriority": _sync("stream_priority"),
    "cuStreamQuery": _sync("query_stream"),
    "cuStreamSynchronize": _sync("synchronize_stream"),
    "cuStreamWaitEvent": _posted("wait_event"),
}

ALIASES = {
    "cuCtxDestroy": "cuCtxDestroy_v2(ctx)",
    "cuCtxPopCurrent": "cuCtxPopCurrent_v2(pctx)",
    "cuCtxPushCurrent": "cuCtxPushCurrent_v2(ctx)",
    "cuDevicePrimaryCtxRelease": "cuDevicePrimaryCtxRelease_v2(dev)",
    "cuDevicePrimaryCtxReset": "cuDevicePrimaryCtxReset_v2(dev)",
    "cuDevicePrimaryCtxSetFlags": "cuDevicePrimaryCtxSetFlags_v2(dev, flags)",
    "cuEventDestroy": "cuEventDestroy_v2(hEvent)",
    "cuEventElapsedTime_v2": "cuEventElapsedTime(pMilliseconds, hStart, hEnd)",
    "cuEventRecordWithFlags": "cuEventRecord(hEvent, hStream)",
    "cuLaunchHostFunc_v2": "cuLaunchHostFunc(hStream, fn, userData)",
    "cuMemHostRegister": "cuMemHostRegister_v2(p, bytesize, Flags)",
    "cuMemcpyDtoD_v2": "cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, NULL)",
    "cuMemsetD16_v2": "cuMemsetD16Async(dstDevice, us, N, NULL)",
    "cuMemsetD32_v2": "cuMemsetD32Async(dstDevice, ui, N, NULL)",
    "cuMemsetD8_v2": "cuMemsetD8Async(dstDevice, uc, N, NULL)",
    "cuMemsetD2D16_v2": "cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, NULL)",
    "cuMemsetD2D32_v2": "cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, NULL)",
    "cuMemsetD2D8_v2": "cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, NULL)",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": (
        "cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, func, blockSize, dynamicSMemSize)"
    ),
    "cuStreamCreate": "cuStreamCreateWithPriority(phStream, Flags, 0)",
    "cuStreamDestroy": "cuStreamDestroy_v2(hStream)",
}

WRITTEN = {
    Mode.SYNC: """
        cuCtxCreate_v2 cuCtxCreate_v3 cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxSynchronize cuCtxSynchronize_v2
        cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain cuFuncSetAttribute
        cuKernelGetFunction cuKernelSetAttribute cuLibraryGetGlobal cuLibraryGetModule cuLibraryLoadData
        cuLibraryLoadFromFile cuLinkComplete cuMemAllocAsync cuMemAllocPitch_v2 cuMemAlloc_v2 cuMemcpy
        cuMemcpy2DAsync_v2 cuMemcpy2DUnaligned_v2 cuMemcpy2D_v2 cuMemcpyAsync cuMemcpyDtoHAsync_v2 cuMemcpyDtoH_v2
        cuMemcpyHtoD_v2 cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary
    """,
    Mode.POSTED: """
        cuLaunchHostFunc cuLaunchKernel cuLaunchKernelEx cuLibraryUnload cuLinkDestroy
        cuMemFreeAsync cuMemFree_v2 cuMemcpyHtoDAsync_v2 cuMemsetD2D16Async cuMemsetD2D32Async
        cuMemsetD2D8Async cuModuleUnload cuStreamAddCallback
    """,
    Mode.LOCAL: """
        cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetDevice_v2 cuCtxGetFlags
        cuCtxGetId cuCtxGetLimit cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2
        cuCtxPushCurrent_v2 cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetFlags cuCtxSetLimit cuCtxSetSharedMemConfig
        cuDeviceCanAccessPeer cuDeviceComputeCapability cuDeviceGet cuDeviceGetAttribute cuDeviceGetByPCIBusId
        cuDeviceGetCount cuDeviceGetName cuDeviceGetP2PAttribute cuDeviceGetPCIBusId cuDeviceGetUuid cuDeviceGetUuid_v2
        cuDevicePrimaryCtxGetState cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion
        cuFuncGetAttribute cuFuncGetModule cuFuncGetName cuFuncGetParamCount cuFuncGetParamInfo cuFuncIsLoaded
        cuFuncLoad cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuGetErrorName cuGetErrorString cuGetProcAddress
        cuGetProcAddress_v2 cuInit cuKernelGetAttribute cuKernelGetLibrary cuKernelGetName cuKernelGetParamCount
        cuKernelGetParamInfo cuKernelSetCacheConfig cuLibraryEnumerateKernels cuLibraryGetKernel cuLibraryGetKernelCount
        cuLinkAddData cuLinkAddData_v2 cuLinkAddFile cuLinkAddFile_v2 cuLinkCreate cuLinkCreate_v2 cuMemAllocHost_v2
        cuMemFreeHost cuMemHostAlloc cuMemHostGetFlags cuMemHostRegister_v2 cuMemHostUnregister
        cuModuleEnumerateFunctions cuModuleGetFunction cuModuleGetFunctionCount cuModuleGetLoadingMode
        cuPointerGetAttribute cuPointerGetAttributes cuProfilerStart cuProfilerStop cuStreamGetCtx cuStreamGetDevice
        cuStreamGetId cuStreamIsCapturing
    """,
}

OWN_VARIANTS = ("cuLaunchKernelEx_ptsz",)
"""Written by hand, since the stream is inside a structure."""

REFUSED = (
    (r"cuGetExportTable", "it gives private tables, which are no documented interface"),
    (r"cu(Graph(?!ics)|UserObject)|Capture|cuDeviceGetGraphMem|cuDeviceSetGraphMem|cuDeviceGraphMem", "graphs"),
    (r"Graphics|cuGL|cuEGL|cuVDPAU|Cig|External|NvSciSync", "graphics and memory of other interfaces"),
    (r"Tex|Surf|Array|Tensor|AtoH|HtoA|DtoA|AtoD|AtoA", "textures, surfaces and arrays"),
    (r"2D|3D", "copies of rectangles"),
    (
        r"Managed|Prefetch|Advise|RangeGetAttribute|AttachMem|HostGetDevicePointer|Discard",
        "memory that host and device share",
    ),
    (r"Peer|Multicast|Fabric|P2P|LogicalEndpoint", "devices that reach one another's memory"),
    (r"Ipc|Shareable|ImportPointer|ExportPointer|GetHandleForAddressRange", "memory that processes share"),
    (r"MemPool|FromPool|DeviceGetDefaultMemPool|DeviceSetMemPool|DeviceGetMemPool", "memory pools"),
    (r"cuMem(Address|Create|Map|Unmap|Release|SetAccess|GetAccess|GetAllocation|Retain)", "virtual memory management"),
    (r"Callback|HostFunc|Notification", "functions of the program that the device calls"),
    (r"Green|DevResource|DevSm|ExecAffinity|cuCtxRecordEvent|cuCtxWaitEvent|FromGreen", "parts of a GPU"),
    (r"Value(32|64)|BatchMemOp", "streams that wait for memory"),
    (r"Coredump|Checkpoint|Logs|Process", "debugging and checkpoints"),
    (r"Cooperative|Cluster", "launches whose blocks wait for one another"),
    (r"Pointer", "what an address is"),
    (r"cu(Launch|LaunchGrid|LaunchGridAsync|Param\w+|FuncSetBlockShape|FuncSetSharedSize)$", "launches of CUDA 3"),
)
"""Patterns of symbols, the first that fits, and what a function that is not answered belongs to."""

NOT_YET = "not yet"
OLD = "of programs with 32-bit device addresses (CUDA 3.1 and older)"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a symbol is answered: `mode` is None for one that is refused, and `why` says why."""

    mode: Mode | None
    why: str = ""


def answers() -> dict[str, Answer]:
    """For every symbol of the API."""
    return {symbol: _answer(function.base) for symbol, function in functions().items()}


def _answer(symbol: str) -> Answer:
    while symbol in ALIASES:
        symbol = ALIASES[symbol].partition("(")[0]
    if symbol in REMOTE:
        return Answer(REMOTE[symbol].mode)
    for mode, written in WRITTEN.items():
        if symbol in written.split():
            return Answer(mode)
    if any("CUdeviceptr_v1" in each.type for each in functions()[symbol].parameters):
        return Answer(None, OLD)
    return Answer(None, next((why for pattern, why in REFUSED if re.search(pattern, symbol)), NOT_YET))
