/* What an address is: read off the tables of what this process has on devices and has pinned. */
#include "shoal.h"

#include <string.h>

#include "generated/functions.h"

enum { /* of CUpointer_attribute */
    CONTEXT_OF = 1,
    MEMORY_TYPE = 2,
    DEVICE_POINTER = 3,
    HOST_POINTER = 4,
    SYNC_MEMOPS = 6,
    IS_MANAGED = 8,
    DEVICE_ORDINAL = 9,
    IS_IPC_CAPABLE = 10,
    RANGE_START = 11,
    RANGE_SIZE = 12,
    MAPPED = 13,
    ALLOWED_HANDLE_TYPES = 14,
    IS_RDMA_CAPABLE = 15,
    ACCESS_FLAGS = 16,
    POOL = 17,
};
enum { HOST = 1, DEVICE = 2 };      /* of CUmemorytype */
enum { READ_AND_WRITE = 3 };        /* of CU_POINTER_ATTRIBUTE_ACCESS_FLAGS */
#define NO_DEVICE_ORDINAL ((unsigned)-2) /* CU_DEVICE_INVALID */

struct place {
    unsigned type; /* 0: neither */
    void *context;
    int device;
    uint64_t base;
    size_t bytes;
};

static struct place place_of(uint64_t address) {
    struct place place = {0};
    void *base;
    if (shoal_is_device_address(address, &place.context, &place.base, &place.bytes))
        place.type = DEVICE;
    else if (shoal_is_pinned((const void *)(uintptr_t)address, &base, &place.bytes)) {
        place.type = HOST;
        place.base = (uintptr_t)base;
        place.context = shoal_current_handle();
    }
    struct context *context = shoal_object(CONTEXT, place.context);
    place.device = context ? context->device : 0;
    return place;
}

/* How many bytes the attribute has; 0 for one that is not known here. */
static size_t size_of(int attribute) {
    switch (attribute) {
    case CONTEXT_OF:
    case DEVICE_POINTER:
    case HOST_POINTER:
    case RANGE_START:
    case RANGE_SIZE:
    case ALLOWED_HANDLE_TYPES:
    case POOL:
        return 8;
    case MEMORY_TYPE:
    case DEVICE_ORDINAL:
    case ACCESS_FLAGS:
        return 4;
    case SYNC_MEMOPS:
    case IS_MANAGED:
    case IS_IPC_CAPABLE:
    case MAPPED:
    case IS_RDMA_CAPABLE:
        return 1;
    }
    return 0;
}

/* The value, or 0 and false for what this address has none of. */
static int value_of(const struct place *place, int attribute, uint64_t address, uint64_t *value) {
    *value = attribute == DEVICE_ORDINAL ? NO_DEVICE_ORDINAL : 0;
    if (!place->type)
        return 0;
    switch (attribute) {
    case CONTEXT_OF:
        *value = (uintptr_t)place->context;
        break;
    case MEMORY_TYPE:
        *value = place->type;
        break;
    case DEVICE_POINTER:
    case HOST_POINTER:
        if (place->type != (attribute == HOST_POINTER ? HOST : DEVICE))
            return 0;
        *value = address;
        break;
    case DEVICE_ORDINAL:
        *value = (unsigned)place->device;
        break;
    case RANGE_START:
        *value = place->base;
        break;
    case RANGE_SIZE:
        *value = place->bytes;
        break;
    case MAPPED:
        *value = place->type == DEVICE;
        break;
    case ACCESS_FLAGS:
        *value = place->type == DEVICE ? READ_AND_WRITE : 0;
        break;
    }
    return 1;
}

EXPORT CUresult cuPointerGetAttribute(void *data, int attribute, uint64_t ptr) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (status)
        return status;
    struct place place = place_of(ptr);
    uint64_t value;
    if (!data)
        return INVALID_VALUE;
    if (!size_of(attribute))
        return NOT_SUPPORTED;
    if (!value_of(&place, attribute, ptr, &value))
        return INVALID_VALUE;
    memcpy(data, &value, size_of(attribute)); /* little-endian, as all machines with CUDA */
    return SUCCESS;
}

EXPORT CUresult cuPointerGetAttributes(unsigned numAttributes, int *attributes, void **data, uint64_t ptr) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (status)
        return status;
    if (!numAttributes || !attributes || !data)
        return INVALID_VALUE;
    struct place place = place_of(ptr);
    for (unsigned i = 0; i < numAttributes; i++) {
        uint64_t value;
        if (!size_of(attributes[i]))
            return NOT_SUPPORTED;
        value_of(&place, attributes[i], ptr, &value);
        if (data[i])
            memcpy(data[i], &value, size_of(attributes[i]));
    }
    return SUCCESS;
}
