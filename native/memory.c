/* Device memory, with a table of what this process has; and host memory, pinned or registered, which is plain memory
 * here, since no device reaches it. */
#include "shoal.h"

#include <stdlib.h>

#include "generated/functions.h"
#include "generated/messages.h"

#define DEVICE_MAP 2 /* CU_MEMHOSTALLOC_DEVICEMAP, and of registering */
#define PAGE 4096
#define PITCH 512

struct span {
    uintptr_t base;
    size_t bytes;
    void *context; /* of device memory */
    unsigned flags;
    int registered;
};

static struct spans {
    struct span *items;
    size_t used, room;
} device_memory, host_memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* In a forked child. Host memory is the child's own as it was the parent's. */
void shoal_forget_all_memory(void) {
    pthread_mutex_init(&lock, NULL);
    device_memory.used = 0;
}

/* The first span that begins behind the address. Spans are kept in order. */
static size_t behind(const struct spans *spans, uintptr_t address) {
    size_t low = 0, high = spans->used;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (spans->items[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static CUresult add(struct spans *spans, struct span span) {
    CUresult status = SUCCESS;
    pthread_mutex_lock(&lock);
    if (spans->used == spans->room) {
        size_t room = spans->room ? 2 * spans->room : 256;
        struct span *grown = realloc(spans->items, room * sizeof *grown);
        if (grown) {
            spans->items = grown;
            spans->room = room;
        } else
            status = OUT_OF_MEMORY;
    }
    if (!status) {
        size_t at = behind(spans, span.base);
        for (size_t i = spans->used++; i > at; i--)
            spans->items[i] = spans->items[i - 1];
        spans->items[at] = span;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* The span that holds an address, or NULL. Contexts may have the same addresses: then it is the current one's. */
static struct span *holding(const struct spans *spans, uintptr_t address) {
    size_t at = behind(spans, address);
    struct span *found = NULL;
    for (; at && (!found || spans->items[at - 1].base == found->base); at--) {
        struct span *each = &spans->items[at - 1];
        if (address - each->base < each->bytes && (!found || each->context == shoal_current_handle()))
            found = each;
        else if (!found)
            break;
    }
    return found;
}

static int find(const struct spans *spans, uintptr_t address, struct span *found) {
    pthread_mutex_lock(&lock);
    struct span *there = holding(spans, address);
    if (there)
        *found = *there;
    pthread_mutex_unlock(&lock);
    return there != NULL;
}

/* Take a span out; false where none begins there. */
static int take(struct spans *spans, uintptr_t base, int registered, struct span *taken) {
    pthread_mutex_lock(&lock);
    struct span *span = holding(spans, base);
    int there = span && span->base == base && span->registered == registered;
    if (there) {
        *taken = *span;
        spans->used--;
        for (size_t i = (size_t)(span - spans->items); i < spans->used; i++)
            spans->items[i] = spans->items[i + 1];
    }
    pthread_mutex_unlock(&lock);
    return there;
}

void shoal_forget_memory(void *context) {
    size_t kept = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < device_memory.used; i++)
        if (device_memory.items[i].context != context)
            device_memory.items[kept++] = device_memory.items[i];
    device_memory.used = kept;
    pthread_mutex_unlock(&lock);
}

int shoal_is_device_address(uint64_t address, void **context, uint64_t *base, size_t *bytes) {
    struct span span;
    if (!find(&device_memory, address, &span))
        return 0;
    *context = span.context;
    *base = span.base;
    *bytes = span.bytes;
    return 1;
}

int shoal_is_pinned(const void *address, void **base, size_t *bytes) {
    struct span span;
    if (!find(&host_memory, (uintptr_t)address, &span))
        return 0;
    *base = (void *)span.base;
    *bytes = span.bytes;
    return 1;
}

EXPORT CUresult cuMemAlloc_v2(uint64_t *dptr, size_t bytesize) {
    struct call call;
    struct reply reply = {0};
    CUresult status = shoal_current_call(&call, M_ALLOCATE);
    if (status || !dptr || !bytesize)
        return status ? status : INVALID_VALUE;
    put_u64(&call, bytesize);
    status = shoal_ask(&call, NULL, 0, &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        *dptr = get_u64(&reader);
        status = add(&device_memory, (struct span){*dptr, bytesize, shoal_current_handle(), 0, 0});
    }
    shoal_free_reply(&reply);
    return status;
}

EXPORT CUresult cuMemAllocPitch_v2(uint64_t *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                                   unsigned ElementSizeBytes) {
    if (!pPitch || (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
        return INVALID_VALUE;
    size_t pitch = (WidthInBytes + PITCH - 1) / PITCH * PITCH;
    if (pitch < WidthInBytes || (Height && pitch > SIZE_MAX / Height))
        return INVALID_VALUE;
    CUresult status = cuMemAlloc_v2(dptr, pitch * Height);
    if (!status)
        *pPitch = pitch;
    return status;
}

/* To free memory that is not there is told at once; the server need not be asked for that. */
EXPORT CUresult cuMemFree_v2(uint64_t dptr) {
    struct call call;
    struct span span;
    struct context *current;
    CUresult status = shoal_current(&current);
    if (status || !dptr)
        return status;
    if (!take(&device_memory, dptr, 0, &span))
        return INVALID_VALUE;
    status = shoal_context_call(&call, M_FREE, span.context);
    if (status)
        return status;
    put_u64(&call, dptr);
    return shoal_post(&call, NULL, 0);
}

/* Ordered by the stream on a GPU; here memory is there at once, and is freed when all that was asked before is done. */
EXPORT CUresult cuMemAllocAsync(uint64_t *dptr, size_t bytesize, void *hStream) {
    (void)hStream;
    return cuMemAlloc_v2(dptr, bytesize);
}

EXPORT CUresult cuMemFreeAsync(uint64_t dptr, void *hStream) {
    (void)hStream;
    return cuMemFree_v2(dptr);
}

EXPORT CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned Flags) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (status || !pp || !bytesize || Flags & ~7u)
        return status ? status : INVALID_VALUE;
    if (Flags & DEVICE_MAP)
        return NOT_SUPPORTED;
    if (posix_memalign(pp, PAGE, bytesize))
        return OUT_OF_MEMORY;
    return add(&host_memory, (struct span){(uintptr_t)*pp, bytesize, NULL, Flags, 0});
}

EXPORT CUresult cuMemAllocHost_v2(void **pp, size_t bytesize) {
    return cuMemHostAlloc(pp, bytesize, 0);
}

/* Copies from pinned memory read it before they return, so nothing is under way that would still need it. */
EXPORT CUresult cuMemFreeHost(void *p) {
    struct span span;
    if (!take(&host_memory, (uintptr_t)p, 0, &span))
        return INVALID_VALUE;
    free(p);
    return SUCCESS;
}

EXPORT CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned Flags) {
    struct context *context;
    struct span span;
    CUresult status = shoal_current(&context);
    if (status || !p || !bytesize)
        return status ? status : INVALID_VALUE;
    if (Flags & DEVICE_MAP)
        return NOT_SUPPORTED;
    if (find(&host_memory, (uintptr_t)p, &span))
        return HOST_MEMORY_ALREADY_REGISTERED;
    return add(&host_memory, (struct span){(uintptr_t)p, bytesize, NULL, Flags, 1});
}

EXPORT CUresult cuMemHostUnregister(void *p) {
    struct span span;
    return take(&host_memory, (uintptr_t)p, 1, &span) ? SUCCESS : HOST_MEMORY_NOT_REGISTERED;
}

EXPORT CUresult cuMemHostGetFlags(unsigned *pFlags, void *p) {
    struct span span;
    if (!pFlags || !find(&host_memory, (uintptr_t)p, &span))
        return INVALID_VALUE;
    *pFlags = span.flags;
    return SUCCESS;
}
