/* Contexts: each thread's stack of them, and the primary one of each device. The server has one of its own for each. */
#include "shoal.h"

#include <stdlib.h>
#include <string.h>

#include "generated/functions.h"
#include "generated/messages.h"

#define DEPTH 64
#define LEGACY_STREAM ((void *)1)
#define OWN_STREAM ((void *)2)
#define OWN_STREAMS 16
#define LIMITS 10
#define API_VERSION 3020

static __thread void *stack[DEPTH];
static __thread int depth;

/* The stream that stands for stream 0 of this thread, by context: made when first used. */
static __thread struct {
    void *context;
    uint64_t stream;
} own_streams[OWN_STREAMS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the primary contexts */

void shoal_forget_contexts(void) {
    pthread_mutex_init(&lock, NULL);
    depth = 0;
    memset(own_streams, 0, sizeof own_streams);
}

void *shoal_current_handle(void) {
    return depth ? stack[depth - 1] : NULL;
}

static CUresult lookup(void *handle, struct context **found) {
    if (shoal_in_callback)
        return NOT_PERMITTED;
    if (!shoal_ready)
        return NOT_INITIALIZED;
    *found = shoal_object(CONTEXT, handle);
    return !*found ? INVALID_CONTEXT : (*found)->closed ? CONTEXT_IS_DESTROYED : SUCCESS;
}

CUresult shoal_current(struct context **context) {
    return lookup(shoal_current_handle(), context);
}

/* Begin a call on a context; NULL is the current one. */
CUresult shoal_context_call(struct call *call, uint16_t message, void *handle) {
    struct context *context;
    CUresult status = lookup(handle ? handle : shoal_current_handle(), &context);
    if (!status)
        shoal_begin(call, shoal_devices[context->device].server, message, context->id);
    return status;
}

CUresult shoal_current_call(struct call *call, uint16_t message) {
    return shoal_context_call(call, message, NULL);
}

/* A stream as the server knows it: its own number, or 0. */
uint64_t shoal_stream(void *stream) {
    if (stream != OWN_STREAM)
        return stream == LEGACY_STREAM ? 0 : (uint64_t)(uintptr_t)stream;
    void *context = shoal_current_handle();
    int free_at = 0;
    for (int i = 0; i < OWN_STREAMS; i++) {
        if (context && own_streams[i].context == context)
            return own_streams[i].stream;
        if (!own_streams[i].context)
            free_at = i;
    }
    void *made = NULL;
    if (cuStreamCreate(&made, 0))
        return 0;
    own_streams[free_at].context = context;
    own_streams[free_at].stream = (uint64_t)(uintptr_t)made;
    return own_streams[free_at].stream;
}

CUresult shoal_open_context(int device, unsigned flags, int primary, void **handle) {
    struct call call;
    struct reply reply = {0};
    shoal_begin(&call, shoal_devices[device].server, M_OPEN, 0);
    put_u32(&call, shoal_devices[device].number);
    CUresult status = shoal_ask(&call, NULL, 0, &reply);
    struct reader reader = {reply.data, reply.data + reply.bytes, 0};
    struct context *made = status ? NULL : calloc(1, sizeof *made);
    if (!status && !made)
        status = OUT_OF_MEMORY;
    if (!status) {
        made->device = device;
        made->flags = flags;
        made->primary = primary;
        made->id = get_u32(&reader);
        made->limits[0] = 1024;
        made->limits[1] = 1 << 20;
        made->limits[2] = 8 << 20;
        status = (*handle = shoal_new_handle(CONTEXT, made)) ? SUCCESS : OUT_OF_MEMORY;
    }
    shoal_free_reply(&reply);
    return status;
}

static CUresult close_context(void *handle) {
    struct context *context;
    CUresult status = lookup(handle, &context);
    if (status)
        return status;
    struct call call;
    shoal_begin(&call, shoal_devices[context->device].server, M_CLOSE, context->id);
    status = shoal_ask_plainly(&call);
    context->closed = 1;
    shoal_forget_modules(handle);
    shoal_forget_spares(handle);
    shoal_forget_memory(handle);
    return status;
}

static CUresult device_of(int device) {
    return !shoal_ready ? NOT_INITIALIZED : device < 0 || device >= shoal_device_count ? INVALID_DEVICE : SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(void **pctx, int dev) {
    CUresult status = device_of(dev);
    if (status || !pctx)
        return status ? status : INVALID_VALUE;
    struct device *device = &shoal_devices[dev];
    pthread_mutex_lock(&lock);
    if (!device->primary)
        status = shoal_open_context(dev, device->flags, 1, &device->primary);
    if (!status) {
        device->retained++;
        *pctx = device->primary;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static CUresult let_go(int dev, int all) {
    CUresult status = device_of(dev);
    if (status)
        return status;
    struct device *device = &shoal_devices[dev];
    pthread_mutex_lock(&lock);
    if (!device->retained && !all)
        status = INVALID_CONTEXT;
    else if (device->primary && (all || !--device->retained)) {
        close_context(device->primary); /* an error of earlier work dies with the context */
        device->primary = NULL;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(int dev) {
    return let_go(dev, 0);
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(int dev) {
    return let_go(dev, 1);
}

EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(int dev, unsigned flags) {
    CUresult status = device_of(dev);
    if (!status)
        shoal_devices[dev].flags = flags;
    return status;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active) {
    CUresult status = device_of(dev);
    if (status || !flags || !active)
        return status ? status : INVALID_VALUE;
    *flags = shoal_devices[dev].flags;
    *active = shoal_devices[dev].primary != NULL;
    return SUCCESS;
}

EXPORT CUresult cuCtxCreate_v2(void **pctx, unsigned flags, int dev) {
    CUresult status = device_of(dev);
    if (status || !pctx)
        return status ? status : INVALID_VALUE;
    if (depth == DEPTH)
        return OUT_OF_MEMORY;
    status = shoal_open_context(dev, flags, 0, pctx);
    if (!status)
        stack[depth++] = *pctx;
    return status;
}

EXPORT CUresult cuCtxCreate_v3(void **pctx, void *paramsArray, int numParams, unsigned flags, int dev) {
    (void)paramsArray;
    return numParams ? NOT_SUPPORTED : cuCtxCreate_v2(pctx, flags, dev);
}

EXPORT CUresult cuCtxCreate_v4(void **pctx, void *ctxCreateParams, unsigned flags, int dev) {
    return ctxCreateParams ? NOT_SUPPORTED : cuCtxCreate_v2(pctx, flags, dev);
}

EXPORT CUresult cuCtxDestroy_v2(void *ctx) {
    struct context *context;
    CUresult status = lookup(ctx, &context);
    if (status)
        return status;
    if (context->primary)
        return INVALID_CONTEXT;
    if (shoal_current_handle() == ctx)
        depth--;
    close_context(ctx);
    return SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(void *ctx) {
    struct context *context;
    CUresult status = lookup(ctx, &context);
    if (status)
        return status;
    if (depth == DEPTH)
        return INVALID_VALUE;
    stack[depth++] = ctx;
    return SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(void **pctx) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    if (!depth)
        return INVALID_CONTEXT;
    void *top = stack[--depth];
    if (pctx)
        *pctx = top;
    return SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(void *ctx) {
    struct context *context;
    CUresult status = !shoal_ready ? NOT_INITIALIZED : ctx ? lookup(ctx, &context) : SUCCESS;
    if (status)
        return status;
    depth = depth ? depth - 1 : 0;
    if (ctx)
        stack[depth++] = ctx;
    return SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(void **pctx) {
    if (!shoal_ready || !pctx)
        return shoal_ready ? INVALID_VALUE : NOT_INITIALIZED;
    *pctx = shoal_current_handle();
    return SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(int *device) {
    return cuCtxGetDevice_v2(device, NULL);
}

EXPORT CUresult cuCtxGetDevice_v2(int *device, void *ctx) {
    struct context *context;
    CUresult status = lookup(ctx ? ctx : shoal_current_handle(), &context);
    if (status || !device)
        return status ? status : INVALID_VALUE;
    *device = context->device;
    return SUCCESS;
}

EXPORT CUresult cuCtxGetFlags(unsigned *flags) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (status || !flags)
        return status ? status : INVALID_VALUE;
    *flags = context->flags;
    return SUCCESS;
}

EXPORT CUresult cuCtxSetFlags(unsigned flags) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (!status)
        context->flags = flags;
    return status;
}

EXPORT CUresult cuCtxGetId(void *ctx, unsigned long long *ctxId) {
    struct context *context;
    CUresult status = lookup(ctx ? ctx : shoal_current_handle(), &context);
    if (status || !ctxId)
        return status ? status : INVALID_VALUE;
    *ctxId = (uintptr_t)(ctx ? ctx : shoal_current_handle());
    return SUCCESS;
}

EXPORT CUresult cuCtxGetApiVersion(void *ctx, unsigned *version) {
    struct context *context;
    CUresult status = lookup(ctx ? ctx : shoal_current_handle(), &context);
    if (status || !version)
        return status ? status : INVALID_VALUE;
    *version = API_VERSION;
    return SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void) {
    return cuCtxSynchronize_v2(NULL);
}

EXPORT CUresult cuCtxSynchronize_v2(void *ctx) {
    struct call call;
    CUresult status = shoal_context_call(&call, M_SYNCHRONIZE, ctx);
    return status ? status : shoal_ask_plainly(&call);
}

/* Limits are kept and told. The server's stacks and heaps are its own, and no smaller than CUDA's default. */
EXPORT CUresult cuCtxSetLimit(int limit, size_t value) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (status || limit < 0 || limit >= LIMITS)
        return status ? status : INVALID_VALUE;
    context->limits[limit] = value;
    return SUCCESS;
}

EXPORT CUresult cuCtxGetLimit(size_t *pvalue, int limit) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (status || !pvalue || limit < 0 || limit >= LIMITS)
        return status ? status : INVALID_VALUE;
    *pvalue = context->limits[limit];
    return SUCCESS;
}

/* Preferences, which CUDA, too, is free not to follow. */
EXPORT CUresult cuCtxSetCacheConfig(int config) {
    struct context *context;
    (void)config;
    return shoal_current(&context);
}

EXPORT CUresult cuCtxGetCacheConfig(int *pconfig) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (!status && pconfig)
        *pconfig = 0;
    return status;
}

EXPORT CUresult cuCtxSetSharedMemConfig(int config) {
    struct context *context;
    (void)config;
    return shoal_current(&context);
}

EXPORT CUresult cuCtxGetSharedMemConfig(int *pConfig) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (!status && pConfig)
        *pConfig = 0;
    return status;
}

/* Priorities are hints; the server takes them for equal. Either output may be NULL. */
EXPORT CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (!status && leastPriority)
        *leastPriority = 0;
    if (!status && greatestPriority)
        *greatestPriority = 0;
    return status;
}

EXPORT CUresult cuStreamGetCtx(void *hStream, void **pctx) {
    (void)hStream;
    return cuCtxGetCurrent(pctx);
}

EXPORT CUresult cuStreamGetDevice(void *hStream, int *device) {
    (void)hStream;
    return cuCtxGetDevice(device);
}

EXPORT CUresult cuStreamIsCapturing(void *hStream, int *captureStatus) {
    struct context *context;
    (void)hStream;
    CUresult status = shoal_current(&context);
    if (!status && captureStatus)
        *captureStatus = 0; /* nothing can be captured: graphs are refused */
    return status;
}

EXPORT CUresult cuStreamGetId(void *hStream, unsigned long long *streamId) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (!status && streamId)
        *streamId = shoal_stream(hStream);
    return status;
}
