/* Rectangles of linear memory, copied or filled: row by row, or as one piece where there is nothing between the rows. */
#include "shoal.h"

#include <string.h>

#include "generated/functions.h"

enum { HOST = 1, DEVICE = 2, UNIFIED = 4 }; /* of CUmemorytype; 3 is an array */

/* CUDA_MEMCPY2D, as the public header lays it out: twice where it lies, and its size. */
struct corner {
    size_t x_bytes, y;
    int type;
    void *host;
    uint64_t device;
    void *array;
    size_t pitch;
};
struct rectangle {
    struct corner source, target;
    size_t width, height;
};

/* Where the rectangle begins. */
static CUresult first_row(const struct corner *corner, const struct rectangle *rectangle, uint64_t *address, int *device) {
    void *context;
    size_t bytes;
    uint64_t base, at = corner->type == HOST ? (uintptr_t)corner->host : corner->device;
    if (corner->type != HOST && corner->type != DEVICE && corner->type != UNIFIED)
        return corner->type == 3 ? NOT_SUPPORTED : INVALID_VALUE;
    if (rectangle->height > 1 && corner->pitch < corner->x_bytes + rectangle->width)
        return INVALID_VALUE;
    *address = at + corner->y * corner->pitch + corner->x_bytes;
    *device = corner->type == DEVICE || (corner->type == UNIFIED && shoal_is_device_address(at, &context, &base, &bytes));
    return at ? SUCCESS : INVALID_VALUE;
}

static CUresult copy_row(uint64_t to, int to_device, uint64_t from, int from_device, size_t bytes, void *stream) {
    if (to_device && from_device)
        return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
    if (to_device)
        return cuMemcpyHtoDAsync_v2(to, (const void *)(uintptr_t)from, bytes, stream);
    if (from_device)
        return cuMemcpyDtoHAsync_v2((void *)(uintptr_t)to, from, bytes, stream);
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return SUCCESS;
}

static CUresult copy(const struct rectangle *given, void *stream) {
    struct context *context;
    uint64_t from = 0, to = 0;
    int from_device = 0, to_device = 0;
    CUresult status = shoal_current(&context);
    if (!status && !given)
        status = INVALID_VALUE;
    if (status || !given->width || !given->height)
        return status;
    status = first_row(&given->source, given, &from, &from_device);
    if (!status)
        status = first_row(&given->target, given, &to, &to_device);
    if (!status && !from_device && !to_device)
        status = cuStreamSynchronize(stream); /* what was asked for before may write what is copied */
    if (given->source.pitch == given->width && given->target.pitch == given->width)
        return status ? status : copy_row(to, to_device, from, from_device, given->width * given->height, stream);
    for (size_t row = 0; !status && row < given->height; row++) {
        status = copy_row(to, to_device, from, from_device, given->width, stream);
        from += given->source.pitch;
        to += given->target.pitch;
    }
    return status;
}

EXPORT CUresult cuMemcpy2DAsync_v2(const void *pCopy, void *hStream) {
    return copy(pCopy, hStream);
}

EXPORT CUresult cuMemcpy2DUnaligned_v2(const void *pCopy) {
    CUresult status = copy(pCopy, NULL);
    return status ? status : cuStreamSynchronize(NULL);
}

/* Pitches need no alignment here. */
EXPORT CUresult cuMemcpy2D_v2(const void *pCopy) {
    return cuMemcpy2DUnaligned_v2(pCopy);
}

static CUresult fill(uint64_t to, size_t pitch, unsigned value, size_t size, size_t width, size_t height, void *stream) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (!status && height > 1 && (pitch < width * size || pitch % size))
        status = INVALID_VALUE;
    if (status || !width)
        return status;
    if (pitch == width * size) {
        width *= height;
        height = height ? 1 : 0;
    }
    for (size_t row = 0; !status && row < height; row++, to += pitch)
        status = size == 1   ? cuMemsetD8Async(to, (unsigned char)value, width, stream)
                 : size == 2 ? cuMemsetD16Async(to, (unsigned short)value, width, stream)
                             : cuMemsetD32Async(to, value, width, stream);
    return status;
}

EXPORT CUresult cuMemsetD2D8Async(uint64_t dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                                  void *hStream) {
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream);
}

EXPORT CUresult cuMemsetD2D16Async(uint64_t dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
                                   void *hStream) {
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream);
}

EXPORT CUresult cuMemsetD2D32Async(uint64_t dstDevice, size_t dstPitch, unsigned ui, size_t Width, size_t Height,
                                   void *hStream) {
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream);
}
