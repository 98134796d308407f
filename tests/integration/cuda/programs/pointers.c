/* What addresses are: of a device, of pinned host memory, and of neither. */
#include "driver.h"

CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr pointer);
CUresult cuPointerGetAttributes(unsigned count, int *attributes, void **data, CUdeviceptr pointer);

enum { CONTEXT = 1, TYPE, DEVICE_POINTER, HOST_POINTER, MANAGED = 8, ORDINAL, START = 11, SIZE, MAPPED };

int main(void) {
    CUcontext context = start(), of;
    CUdeviceptr device, found;
    unsigned type, ordinal = 77;
    unsigned char managed = 1;
    size_t bytes;
    void *host, *where, *nowhere = &type;
    OK(cuMemAlloc_v2(&device, 1000));
    OK(cuMemAllocHost_v2(&host, 4096));
    OK(cuPointerGetAttribute(&of, CONTEXT, device + 999));
    OK(cuPointerGetAttribute(&type, TYPE, device));
    OK(cuPointerGetAttribute(&found, DEVICE_POINTER, device + 10));
    OK(cuPointerGetAttribute(&ordinal, ORDINAL, device));
    CHECK(of == context && type == 2 && found == device + 10 && ordinal == 0);
    OK(cuPointerGetAttribute(&found, START, device + 10));
    OK(cuPointerGetAttribute(&bytes, SIZE, device + 10));
    OK(cuPointerGetAttribute(&managed, MANAGED, device));
    CHECK(found == device && bytes == 1000 && managed == 0);
    GIVES(1, cuPointerGetAttribute(&where, HOST_POINTER, device));
    GIVES(1, cuPointerGetAttribute(&type, TYPE, device + 1000));
    GIVES(1, cuPointerGetAttribute(&type, TYPE, (uintptr_t)nowhere));
    GIVES(1, cuPointerGetAttribute(NULL, TYPE, device));
    GIVES(801, cuPointerGetAttribute(&type, 12345, device));

    OK(cuPointerGetAttribute(&type, TYPE, (uintptr_t)host + 4095));
    OK(cuPointerGetAttribute(&where, HOST_POINTER, (uintptr_t)host));
    CHECK(type == 1 && where == host);

    int asked[] = {TYPE, ORDINAL, HOST_POINTER, DEVICE_POINTER, MAPPED};
    unsigned char mapped = 9;
    void *into[] = {&type, &ordinal, &where, &found, &mapped};
    OK(cuPointerGetAttributes(5, asked, into, (uintptr_t)nowhere));
    CHECK(type == 0 && ordinal == (unsigned)-2 && where == NULL && found == 0 && mapped == 0);
    OK(cuPointerGetAttributes(5, asked, into, device));
    CHECK(type == 2 && ordinal == 0 && where == NULL && found == device && mapped == 1);
    OK(cuMemFree_v2(device));
    GIVES(1, cuPointerGetAttribute(&type, TYPE, device));
    puts("done");
    return 0;
}
