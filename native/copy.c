/* Copies between host and device. What goes to the device has left the program's memory when the call returns; what
 * comes from it is there. Large ones travel in pieces, so that neither end needs memory for the whole. */
#include "shoal.h"

#include <string.h>

#include "generated/functions.h"
#include "generated/messages.h"

/* `wait` has the last piece answered, and with it all before it. */
static CUresult write_to(uint64_t device, const void *host, size_t bytes, uint64_t stream, int wait) {
    CUresult status = host || !bytes ? SUCCESS : INVALID_VALUE;
    for (size_t done = 0; !status && done < bytes;) {
        size_t step = bytes - done < CHUNK ? bytes - done : CHUNK;
        struct call call;
        struct reply reply = {0};
        int last = done + step == bytes;
        status = shoal_current_call(&call, wait && last ? M_WRITE_AND_WAIT : M_WRITE);
        if (status)
            break;
        put_u64(&call, device + done);
        put_u64(&call, stream);
        if (wait && last) {
            status = shoal_ask(&call, (const uint8_t *)host + done, step, &reply);
            shoal_free_reply(&reply);
        } else
            status = shoal_post(&call, (const uint8_t *)host + done, step);
        done += step;
    }
    return status;
}

static CUresult read_from(void *host, uint64_t device, size_t bytes, uint64_t stream) {
    CUresult status = host || !bytes ? SUCCESS : INVALID_VALUE;
    for (size_t done = 0; !status && done < bytes;) {
        size_t step = bytes - done < CHUNK ? bytes - done : CHUNK;
        struct call call;
        struct reply reply = {.into = (uint8_t *)host + done, .room = step};
        status = shoal_current_call(&call, M_READ);
        if (status)
            break;
        put_u64(&call, device + done);
        put_u64(&call, step);
        put_u64(&call, stream);
        status = shoal_ask(&call, NULL, 0, &reply);
        if (!status && reply.data != reply.into) {
            if (reply.bytes == step)
                memcpy((uint8_t *)host + done, reply.data, step);
            else
                status = DEVICE_UNAVAILABLE;
        }
        shoal_free_reply(&reply);
        done += step;
    }
    return status;
}

static CUresult check(void) {
    struct context *context;
    return shoal_current(&context);
}

/* Without waiting for it; but where a function that the stream is to call may write what is copied, it is called first. */
static CUresult write_later(uint64_t device, const void *host, size_t bytes, void *stream) {
    void *base;
    size_t whole;
    CUresult status = SUCCESS;
    if (shoal_callbacks_outstanding() && shoal_is_pinned(host, &base, &whole))
        status = cuStreamSynchronize(stream);
    return status ? status : write_to(device, host, bytes, shoal_stream(stream), 0);
}

EXPORT CUresult cuMemcpyHtoD_v2(uint64_t dstDevice, const void *srcHost, size_t ByteCount) {
    CUresult status = check();
    return status ? status : write_to(dstDevice, srcHost, ByteCount, 0, 1);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(uint64_t dstDevice, const void *srcHost, size_t ByteCount, void *hStream) {
    CUresult status = check();
    return status ? status : write_later(dstDevice, srcHost, ByteCount, hStream);
}

EXPORT CUresult cuMemcpyDtoH_v2(void *dstHost, uint64_t srcDevice, size_t ByteCount) {
    CUresult status = check();
    return status ? status : read_from(dstHost, srcDevice, ByteCount, 0);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *dstHost, uint64_t srcDevice, size_t ByteCount, void *hStream) {
    CUresult status = check();
    return status ? status : read_from(dstHost, srcDevice, ByteCount, shoal_stream(hStream));
}

/* Which kind each address is of is read off the table of device memory. */
static CUresult copy_any(uint64_t dst, uint64_t src, size_t bytes, void *stream, int wait) {
    void *context;
    uint64_t base;
    size_t whole;
    int to_device = shoal_is_device_address(dst, &context, &base, &whole);
    int from_device = shoal_is_device_address(src, &context, &base, &whole);
    CUresult status = check();
    if (status)
        return status;
    if (to_device && from_device)
        return cuMemcpyDtoDAsync_v2(dst, src, bytes, stream);
    if (to_device && wait)
        return write_to(dst, (const void *)(uintptr_t)src, bytes, shoal_stream(stream), 1);
    if (to_device)
        return write_later(dst, (const void *)(uintptr_t)src, bytes, stream);
    if (from_device)
        return read_from((void *)(uintptr_t)dst, src, bytes, shoal_stream(stream));
    return INVALID_VALUE; /* a host's own copy is not ours, and a wrong address must not crash */
}

EXPORT CUresult cuMemcpy(uint64_t dst, uint64_t src, size_t ByteCount) {
    return copy_any(dst, src, ByteCount, NULL, 1);
}

EXPORT CUresult cuMemcpyAsync(uint64_t dst, uint64_t src, size_t ByteCount, void *hStream) {
    return copy_any(dst, src, ByteCount, hStream, 0);
}
