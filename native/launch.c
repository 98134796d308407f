/* Launches: posted, with their arguments packed as the kernel has them in memory. What CUDA tells of a launch at once
 * is told at once here, by the device's and the function's attributes; the rest surfaces later, as CUDA's does. */
#include "shoal.h"

#include <stdlib.h>
#include <string.h>

#include "generated/functions.h"
#include "generated/messages.h"

enum { MAX_THREADS = 1, BLOCK_X = 2, GRID_X = 5, SHARED = 8, SHARED_OPT_IN = 97 }; /* of CUdevice_attribute */
enum { ARGUMENTS_END = 0, ARGUMENTS = 1, ARGUMENTS_SIZE = 2 };                   /* CU_LAUNCH_PARAM_… */
enum { COOPERATIVE = 2, CLUSTER = 4, EVENT = 7, COMPLETION_EVENT = 12, UPDATABLE_NODE = 13 }; /* of CUlaunchAttributeID */

#define ON_STACK 1024

/* CUlaunchConfig and CUlaunchAttribute, as the public header lays them out. */
struct launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct {
        int id;
        char pad[4];
        union {
            char bytes[64];
            int cooperative;
            unsigned cluster[3];
            void *align;
        } value;
    } *attributes;
    unsigned attribute_count;
};

static CUresult check(int device, const unsigned *grid, const unsigned *block, unsigned shared) {
    for (int i = 0; i < 3; i++) {
        if (!grid[i] || grid[i] > (unsigned)shoal_attribute(device, GRID_X + i))
            return INVALID_VALUE;
        if (!block[i] || block[i] > (unsigned)shoal_attribute(device, BLOCK_X + i))
            return INVALID_VALUE;
    }
    if ((uint64_t)block[0] * block[1] * block[2] > (unsigned)shoal_attribute(device, MAX_THREADS))
        return INVALID_VALUE;
    unsigned most = (unsigned)shoal_attribute(device, SHARED), opt_in = (unsigned)shoal_attribute(device, SHARED_OPT_IN);
    return shared > (opt_in > most ? opt_in : most) ? INVALID_VALUE : SUCCESS;
}

static CUresult pack(const struct function *function, void **parameters, void **extra, uint8_t *packed, size_t *bytes) {
    if (parameters) {
        memset(packed, 0, function->bytes);
        for (uint32_t i = 0; i < function->parameter_count; i++) {
            const struct attribute *each = &function->parameters[i];
            if (!parameters[i])
                return INVALID_VALUE;
            memcpy(packed + each->number, parameters[i], (size_t)each->value);
        }
        *bytes = function->bytes;
        return SUCCESS;
    }
    const void *given = NULL;
    *bytes = 0;
    for (size_t i = 0; extra && extra[i] != (void *)ARGUMENTS_END; i += 2) {
        if (extra[i] == (void *)ARGUMENTS)
            given = extra[i + 1];
        else if (extra[i] == (void *)ARGUMENTS_SIZE)
            *bytes = *(size_t *)extra[i + 1];
        else
            return INVALID_VALUE;
    }
    if (*bytes > function->bytes) /* a struct's padding behind the last parameter */
        *bytes = function->bytes;
    if (*bytes < function->bytes || (*bytes && !given))
        return INVALID_VALUE;
    if (*bytes)
        memcpy(packed, given, *bytes);
    return SUCCESS;
}

static CUresult launch(void *handle, const unsigned *grid, const unsigned *block, unsigned shared, void *stream,
                       void **parameters, void **extra) {
    struct function *function;
    struct context *context;
    struct call call;
    uint8_t small[ON_STACK], *packed = small;
    size_t bytes;
    CUresult status = shoal_current(&context);
    if (!status)
        status = shoal_function(handle, &function);
    if (!status && function->module->context != shoal_current_handle())
        status = INVALID_HANDLE;
    if (!status)
        status = check(context->device, grid, block, shared);
    if (status)
        return status;
    if (function->bytes > sizeof small && !(packed = malloc(function->bytes)))
        return OUT_OF_MEMORY;
    status = pack(function, parameters, extra, packed, &bytes);
    uint64_t on = status ? 0 : shoal_stream(stream);
    if (!status)
        status = shoal_current_call(&call, M_LAUNCH);
    if (!status) {
        put_u64(&call, function->id);
        for (int i = 0; i < 3; i++)
            put_u32(&call, grid[i]);
        for (int i = 0; i < 3; i++)
            put_u32(&call, block[i]);
        put_u32(&call, shared);
        put_u64(&call, on);
        status = shoal_post(&call, packed, bytes);
    }
    if (packed != small)
        free(packed);
    return status;
}

EXPORT CUresult cuLaunchKernel(void *f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX,
                               unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, void *hStream,
                               void **kernelParams, void **extra) {
    unsigned grid[] = {gridDimX, gridDimY, gridDimZ}, block[] = {blockDimX, blockDimY, blockDimZ};
    return launch(f, grid, block, sharedMemBytes, hStream, kernelParams, extra);
}

static CUresult launch_by(const struct launch_config *config, void *stream, void *f, void **parameters, void **extra) {
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const unsigned *cluster = config->attributes[i].value.cluster;
        switch (config->attributes[i].id) {
        case COOPERATIVE:
            if (config->attributes[i].value.cooperative)
                return NOT_SUPPORTED;
            break;
        case CLUSTER:
            if (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1)
                return NOT_SUPPORTED;
            break;
        case EVENT:
        case COMPLETION_EVENT:
        case UPDATABLE_NODE:
            return NOT_SUPPORTED;
        default: /* hints, or leave to order more loosely than is done here */
            break;
        }
    }
    return launch(f, config->grid, config->block, config->shared, stream, parameters, extra);
}

EXPORT CUresult cuLaunchKernelEx(const void *config, void *f, void **kernelParams, void **extra) {
    const struct launch_config *given = config;
    return given ? launch_by(given, given->stream, f, kernelParams, extra) : INVALID_VALUE;
}

EXPORT CUresult cuLaunchKernelEx_ptsz(const void *config, void *f, void **kernelParams, void **extra) {
    const struct launch_config *given = config;
    void *stream = given && given->stream ? given->stream : (void *)2; /* CU_STREAM_PER_THREAD */
    return given ? launch_by(given, stream, f, kernelParams, extra) : INVALID_VALUE;
}
