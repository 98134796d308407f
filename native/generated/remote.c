/* Written by python -m shoal.cuda.api from src/shoal/cuda/api; change it there. */
#include "functions.h"
#include "messages.h"

EXPORT CUresult cuEventCreate(void **phEvent, unsigned Flags) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_CREATE_EVENT);
    if (status)
        return status;
    put_u32(&call, (uint32_t)Flags);
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t phEvent_is = get_u64(&reader);
        if (phEvent)
            *phEvent = (void *)(uintptr_t)phEvent_is;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuEventDestroy_v2(void *hEvent) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_DESTROY_EVENT);
    if (status)
        return status;
    put_u64(&call, (uintptr_t)hEvent);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuEventElapsedTime(float *pMilliseconds, void *hStart, void *hEnd) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_ELAPSED);
    if (status)
        return status;
    put_u64(&call, (uintptr_t)hStart);
    put_u64(&call, (uintptr_t)hEnd);
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        union { uint32_t bits; float value; } pMilliseconds_is = {get_u32(&reader)};
        if (pMilliseconds)
            *pMilliseconds = pMilliseconds_is.value;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuEventQuery(void *hEvent) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_QUERY_EVENT);
    if (status)
        return status;
    put_u64(&call, (uintptr_t)hEvent);
    return shoal_ask_plainly(&call);
}

EXPORT CUresult cuEventRecord(void *hEvent, void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_RECORD_EVENT);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, (uintptr_t)hEvent);
    put_u64(&call, hStream_id);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuEventSynchronize(void *hEvent) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_SYNCHRONIZE_EVENT);
    if (status)
        return status;
    put_u64(&call, (uintptr_t)hEvent);
    return shoal_ask_plainly(&call);
}

EXPORT CUresult cuMemGetAddressRange_v2(uint64_t *pbase, size_t *psize, uint64_t dptr) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_ADDRESS_RANGE);
    if (status)
        return status;
    put_u64(&call, dptr);
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t pbase_is = get_u64(&reader);
        if (pbase)
            *pbase = (uint64_t)pbase_is;
        uint64_t psize_is = get_u64(&reader);
        if (psize)
            *psize = (size_t)psize_is;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_MEMORY_INFO);
    if (status)
        return status;
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t free_is = get_u64(&reader);
        if (free)
            *free = (size_t)free_is;
        uint64_t total_is = get_u64(&reader);
        if (total)
            *total = (size_t)total_is;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(uint64_t dstDevice, uint64_t srcDevice, size_t ByteCount, void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_COPY);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, dstDevice);
    put_u64(&call, srcDevice);
    put_u64(&call, ByteCount);
    put_u64(&call, hStream_id);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuMemsetD16Async(uint64_t dstDevice, unsigned short us, size_t N, void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_FILL_16);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, dstDevice);
    put_u32(&call, (uint32_t)us);
    put_u64(&call, N);
    put_u64(&call, hStream_id);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuMemsetD32Async(uint64_t dstDevice, unsigned ui, size_t N, void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_FILL_32);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, dstDevice);
    put_u32(&call, (uint32_t)ui);
    put_u64(&call, N);
    put_u64(&call, hStream_id);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuMemsetD8Async(uint64_t dstDevice, unsigned char uc, size_t N, void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_FILL_8);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, dstDevice);
    put_u32(&call, (uint32_t)uc);
    put_u64(&call, N);
    put_u64(&call, hStream_id);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, void *func, int blockSize, size_t dynamicSMemSize) {
    struct call call;
    uint64_t func_id = 0;
    CUresult status = shoal_current_call(&call, M_ACTIVE_BLOCKS);
    if (!status)
        status = shoal_function_id(func, &func_id);
    if (status)
        return status;
    put_u64(&call, func_id);
    put_u32(&call, (uint32_t)blockSize);
    put_u64(&call, dynamicSMemSize);
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t numBlocks_is = get_u32(&reader);
        if (numBlocks)
            *numBlocks = (int)numBlocks_is;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuStreamCreateWithPriority(void **phStream, unsigned flags, int priority) {
    struct call call;
    CUresult status = shoal_current_call(&call, M_CREATE_STREAM);
    if (status)
        return status;
    put_u32(&call, (uint32_t)flags);
    put_u32(&call, (uint32_t)priority);
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t phStream_is = get_u64(&reader);
        if (phStream)
            *phStream = (void *)(uintptr_t)phStream_is;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuStreamDestroy_v2(void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_DESTROY_STREAM);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, hStream_id);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuStreamGetFlags(void *hStream, unsigned *flags) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_STREAM_FLAGS);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, hStream_id);
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t flags_is = get_u32(&reader);
        if (flags)
            *flags = (unsigned)flags_is;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuStreamGetPriority(void *hStream, int *priority) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_STREAM_PRIORITY);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, hStream_id);
    struct reply reply = {0};
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t priority_is = get_u32(&reader);
        if (priority)
            *priority = (int)priority_is;
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuStreamQuery(void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_QUERY_STREAM);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, hStream_id);
    return shoal_ask_plainly(&call);
}

EXPORT CUresult cuStreamSynchronize(void *hStream) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_SYNCHRONIZE_STREAM);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, hStream_id);
    return shoal_ask_plainly(&call);
}

EXPORT CUresult cuStreamWaitEvent(void *hStream, void *hEvent, unsigned Flags) {
    struct call call;
    uint64_t hStream_id;
    CUresult status = shoal_current_call(&call, M_WAIT_EVENT);
    if (status)
        return status;
    hStream_id = shoal_stream(hStream);
    put_u64(&call, hStream_id);
    put_u64(&call, (uintptr_t)hEvent);
    put_u32(&call, (uint32_t)Flags);
    return shoal_post(&call, NULL, 0);
}

EXPORT CUresult cuCtxDestroy(void *ctx) {
    return cuCtxDestroy_v2(ctx);
}

EXPORT CUresult cuCtxPopCurrent(void **pctx) {
    return cuCtxPopCurrent_v2(pctx);
}

EXPORT CUresult cuCtxPushCurrent(void *ctx) {
    return cuCtxPushCurrent_v2(ctx);
}

EXPORT CUresult cuDevicePrimaryCtxRelease(int dev) {
    return cuDevicePrimaryCtxRelease_v2(dev);
}

EXPORT CUresult cuDevicePrimaryCtxReset(int dev) {
    return cuDevicePrimaryCtxReset_v2(dev);
}

EXPORT CUresult cuDevicePrimaryCtxSetFlags(int dev, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

EXPORT CUresult cuEventDestroy(void *hEvent) {
    return cuEventDestroy_v2(hEvent);
}

EXPORT CUresult cuEventElapsedTime_v2(float *pMilliseconds, void *hStart, void *hEnd) {
    return cuEventElapsedTime(pMilliseconds, hStart, hEnd);
}

EXPORT CUresult cuEventRecordWithFlags(void *hEvent, void *hStream, unsigned flags) {
    (void)flags;
    return cuEventRecord(hEvent, hStream);
}

EXPORT CUresult cuLaunchHostFunc_v2(void *hStream, void *fn, void *userData, unsigned syncMode) {
    (void)syncMode;
    return cuLaunchHostFunc(hStream, fn, userData);
}

EXPORT CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned Flags) {
    return cuMemHostRegister_v2(p, bytesize, Flags);
}

EXPORT CUresult cuMemcpyDtoD_v2(uint64_t dstDevice, uint64_t srcDevice, size_t ByteCount) {
    return cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, NULL);
}

EXPORT CUresult cuMemsetD16_v2(uint64_t dstDevice, unsigned short us, size_t N) {
    return cuMemsetD16Async(dstDevice, us, N, NULL);
}

EXPORT CUresult cuMemsetD2D16_v2(uint64_t dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height) {
    return cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, NULL);
}

EXPORT CUresult cuMemsetD2D32_v2(uint64_t dstDevice, size_t dstPitch, unsigned ui, size_t Width, size_t Height) {
    return cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, NULL);
}

EXPORT CUresult cuMemsetD2D8_v2(uint64_t dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height) {
    return cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, NULL);
}

EXPORT CUresult cuMemsetD32_v2(uint64_t dstDevice, unsigned ui, size_t N) {
    return cuMemsetD32Async(dstDevice, ui, N, NULL);
}

EXPORT CUresult cuMemsetD8_v2(uint64_t dstDevice, unsigned char uc, size_t N) {
    return cuMemsetD8Async(dstDevice, uc, N, NULL);
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, void *func, int blockSize, size_t dynamicSMemSize, unsigned flags) {
    (void)flags;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, func, blockSize, dynamicSMemSize);
}

EXPORT CUresult cuStreamCreate(void **phStream, unsigned Flags) {
    return cuStreamCreateWithPriority(phStream, Flags, 0);
}

EXPORT CUresult cuStreamDestroy(void *hStream) {
    return cuStreamDestroy_v2(hStream);
}

EXPORT CUresult cuEventRecordWithFlags_ptsz(void *hEvent, void *hStream, unsigned flags) {
    return cuEventRecordWithFlags(hEvent, hStream ? hStream : (void *)2, flags);
}

EXPORT CUresult cuEventRecord_ptsz(void *hEvent, void *hStream) {
    return cuEventRecord(hEvent, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuLaunchHostFunc_ptsz(void *hStream, void *fn, void *userData) {
    return cuLaunchHostFunc(hStream ? hStream : (void *)2, fn, userData);
}

EXPORT CUresult cuLaunchHostFunc_v2_ptsz(void *hStream, void *fn, void *userData, unsigned syncMode) {
    return cuLaunchHostFunc_v2(hStream ? hStream : (void *)2, fn, userData, syncMode);
}

EXPORT CUresult cuLaunchKernel_ptsz(void *f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, void *hStream, void **kernelParams, void **extra) {
    return cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream ? hStream : (void *)2, kernelParams, extra);
}

EXPORT CUresult cuMemAllocAsync_ptsz(uint64_t *dptr, size_t bytesize, void *hStream) {
    return cuMemAllocAsync(dptr, bytesize, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemFreeAsync_ptsz(uint64_t dptr, void *hStream) {
    return cuMemFreeAsync(dptr, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemcpy2DAsync_v2_ptsz(const void *pCopy, void *hStream) {
    return cuMemcpy2DAsync_v2(pCopy, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemcpy2DUnaligned_v2_ptds(const void *pCopy) {
    return cuMemcpy2DUnaligned_v2(pCopy);
}

EXPORT CUresult cuMemcpy2D_v2_ptds(const void *pCopy) {
    return cuMemcpy2D_v2(pCopy);
}

EXPORT CUresult cuMemcpyAsync_ptsz(uint64_t dst, uint64_t src, size_t ByteCount, void *hStream) {
    return cuMemcpyAsync(dst, src, ByteCount, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2_ptsz(uint64_t dstDevice, uint64_t srcDevice, size_t ByteCount, void *hStream) {
    return cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemcpyDtoD_v2_ptds(uint64_t dstDevice, uint64_t srcDevice, size_t ByteCount) {
    return cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2_ptsz(void *dstHost, uint64_t srcDevice, size_t ByteCount, void *hStream) {
    return cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemcpyDtoH_v2_ptds(void *dstHost, uint64_t srcDevice, size_t ByteCount) {
    return cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2_ptsz(uint64_t dstDevice, const void *srcHost, size_t ByteCount, void *hStream) {
    return cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemcpyHtoD_v2_ptds(uint64_t dstDevice, const void *srcHost, size_t ByteCount) {
    return cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount);
}

EXPORT CUresult cuMemcpy_ptds(uint64_t dst, uint64_t src, size_t ByteCount) {
    return cuMemcpy(dst, src, ByteCount);
}

EXPORT CUresult cuMemsetD16Async_ptsz(uint64_t dstDevice, unsigned short us, size_t N, void *hStream) {
    return cuMemsetD16Async(dstDevice, us, N, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemsetD16_v2_ptds(uint64_t dstDevice, unsigned short us, size_t N) {
    return cuMemsetD16_v2(dstDevice, us, N);
}

EXPORT CUresult cuMemsetD2D16Async_ptsz(uint64_t dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, void *hStream) {
    return cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemsetD2D16_v2_ptds(uint64_t dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height) {
    return cuMemsetD2D16_v2(dstDevice, dstPitch, us, Width, Height);
}

EXPORT CUresult cuMemsetD2D32Async_ptsz(uint64_t dstDevice, size_t dstPitch, unsigned ui, size_t Width, size_t Height, void *hStream) {
    return cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemsetD2D32_v2_ptds(uint64_t dstDevice, size_t dstPitch, unsigned ui, size_t Width, size_t Height) {
    return cuMemsetD2D32_v2(dstDevice, dstPitch, ui, Width, Height);
}

EXPORT CUresult cuMemsetD2D8Async_ptsz(uint64_t dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, void *hStream) {
    return cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemsetD2D8_v2_ptds(uint64_t dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height) {
    return cuMemsetD2D8_v2(dstDevice, dstPitch, uc, Width, Height);
}

EXPORT CUresult cuMemsetD32Async_ptsz(uint64_t dstDevice, unsigned ui, size_t N, void *hStream) {
    return cuMemsetD32Async(dstDevice, ui, N, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemsetD32_v2_ptds(uint64_t dstDevice, unsigned ui, size_t N) {
    return cuMemsetD32_v2(dstDevice, ui, N);
}

EXPORT CUresult cuMemsetD8Async_ptsz(uint64_t dstDevice, unsigned char uc, size_t N, void *hStream) {
    return cuMemsetD8Async(dstDevice, uc, N, hStream ? hStream : (void *)2);
}

EXPORT CUresult cuMemsetD8_v2_ptds(uint64_t dstDevice, unsigned char uc, size_t N) {
    return cuMemsetD8_v2(dstDevice, uc, N);
}

EXPORT CUresult cuStreamAddCallback_ptsz(void *hStream, void *callback, void *userData, unsigned flags) {
    return cuStreamAddCallback(hStream ? hStream : (void *)2, callback, userData, flags);
}

EXPORT CUresult cuStreamGetCtx_ptsz(void *hStream, void **pctx) {
    return cuStreamGetCtx(hStream ? hStream : (void *)2, pctx);
}

EXPORT CUresult cuStreamGetDevice_ptsz(void *hStream, int *device) {
    return cuStreamGetDevice(hStream ? hStream : (void *)2, device);
}

EXPORT CUresult cuStreamGetFlags_ptsz(void *hStream, unsigned *flags) {
    return cuStreamGetFlags(hStream ? hStream : (void *)2, flags);
}

EXPORT CUresult cuStreamGetId_ptsz(void *hStream, unsigned long long *streamId) {
    return cuStreamGetId(hStream ? hStream : (void *)2, streamId);
}

EXPORT CUresult cuStreamGetPriority_ptsz(void *hStream, int *priority) {
    return cuStreamGetPriority(hStream ? hStream : (void *)2, priority);
}

EXPORT CUresult cuStreamIsCapturing_ptsz(void *hStream, int *captureStatus) {
    return cuStreamIsCapturing(hStream ? hStream : (void *)2, captureStatus);
}

EXPORT CUresult cuStreamQuery_ptsz(void *hStream) {
    return cuStreamQuery(hStream ? hStream : (void *)2);
}

EXPORT CUresult cuStreamSynchronize_ptsz(void *hStream) {
    return cuStreamSynchronize(hStream ? hStream : (void *)2);
}

EXPORT CUresult cuStreamWaitEvent_ptsz(void *hStream, void *hEvent, unsigned Flags) {
    return cuStreamWaitEvent(hStream ? hStream : (void *)2, hEvent, Flags);
}
