/* Devices, as the server told of them when the connection was made: nothing here asks it again. */
#include "shoal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "generated/functions.h"

#define MAJOR 75
#define MINOR 76

static CUresult find(int number, const struct device **device) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    if (number < 0 || number >= shoal_device_count)
        return INVALID_DEVICE;
    *device = &shoal_devices[number];
    return SUCCESS;
}

int shoal_attribute(int device, int number) {
    const struct device *found = &shoal_devices[device];
    for (uint32_t i = 0; i < found->attribute_count; i++)
        if (found->attributes[i].number == number)
            return found->attributes[i].value;
    return 0;
}

static void copy_text(char *to, int room, const char *from) {
    size_t length = strlen(from), most = (size_t)room - 1;
    memset(to, 0, (size_t)room);
    memcpy(to, from, length < most ? length : most);
}

EXPORT CUresult cuInit(unsigned Flags) {
    return Flags ? INVALID_VALUE : shoal_initialize();
}

EXPORT CUresult cuDriverGetVersion(int *driverVersion) {
    if (!driverVersion)
        return INVALID_VALUE;
    CUresult status = shoal_ready ? SUCCESS : shoal_initialize(); /* may be asked before cuInit */
    if (!status)
        *driverVersion = (int)shoal_devices[0].server->version;
    return status;
}

EXPORT CUresult cuDeviceGetCount(int *count) {
    if (!shoal_ready || !count)
        return shoal_ready ? INVALID_VALUE : NOT_INITIALIZED;
    *count = shoal_device_count;
    return SUCCESS;
}

EXPORT CUresult cuDeviceGet(int *device, int ordinal) {
    const struct device *found;
    CUresult status = find(ordinal, &found);
    if (status || !device)
        return status ? status : INVALID_VALUE;
    *device = ordinal;
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int len, int dev) {
    const struct device *device;
    CUresult status = find(dev, &device);
    if (status || !name || len < 1)
        return status ? status : INVALID_VALUE;
    copy_text(name, len, device->name);
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, int dev) {
    const struct device *device;
    CUresult status = find(dev, &device);
    if (status || !pciBusId || len < 1)
        return status ? status : INVALID_VALUE;
    copy_text(pciBusId, len, device->bus);
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetByPCIBusId(int *dev, const char *pciBusId) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    for (int i = 0; dev && pciBusId && i < shoal_device_count; i++)
        if (!strcasecmp(shoal_devices[i].bus, pciBusId)) {
            *dev = i;
            return SUCCESS;
        }
    return dev && pciBusId ? INVALID_DEVICE : INVALID_VALUE;
}

EXPORT CUresult cuDeviceGetUuid(void *uuid, int dev) {
    const struct device *device;
    CUresult status = find(dev, &device);
    if (status || !uuid)
        return status ? status : INVALID_VALUE;
    memcpy(uuid, device->uuid, sizeof device->uuid);
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(void *uuid, int dev) {
    return cuDeviceGetUuid(uuid, dev);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, int dev) {
    const struct device *device;
    CUresult status = find(dev, &device);
    if (status || !bytes)
        return status ? status : INVALID_VALUE;
    *bytes = device->memory;
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *pi, int attrib, int dev) {
    const struct device *device;
    CUresult status = find(dev, &device);
    if (status || !pi || attrib < 1)
        return status ? status : INVALID_VALUE;
    *pi = shoal_attribute(dev, attrib);
    return SUCCESS;
}

EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, int dev) {
    const struct device *device;
    CUresult status = find(dev, &device);
    if (status || !major || !minor)
        return status ? status : INVALID_VALUE;
    *major = shoal_attribute(dev, MAJOR);
    *minor = shoal_attribute(dev, MINOR);
    return SUCCESS;
}

/* Devices do not reach one another's memory. */
EXPORT CUresult cuDeviceCanAccessPeer(int *canAccessPeer, int dev, int peerDev) {
    const struct device *device;
    CUresult status = find(dev, &device);
    if (!status)
        status = find(peerDev, &device);
    if (status || !canAccessPeer)
        return status ? status : INVALID_VALUE;
    *canAccessPeer = 0;
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetP2PAttribute(int *value, int attrib, int srcDevice, int dstDevice) {
    (void)attrib;
    return cuDeviceCanAccessPeer(value, srcDevice, dstDevice);
}
