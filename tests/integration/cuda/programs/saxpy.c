/* The common path once: devices, memory, a module with a kernel and a variable, streams, events, copies each way. */
#include "driver.h"

enum { N = 100000 };

static void linked(float *host, CUdeviceptr x, CUdeviceptr y) {
    CUlinkState state;
    CUmodule module;
    CUfunction saxpy;
    void *made;
    size_t bytes;
    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    OK(cuLinkAddData_v2(state, 1, (void *)SAXPY, sizeof SAXPY, "saxpy", 0, NULL, NULL));
    OK(cuLinkComplete(state, &made, &bytes));
    void *kept = malloc(bytes);
    memcpy(kept, made, bytes);
    OK(cuLinkDestroy(state));
    for (int i = 0; i < 2; i++) { /* the second is not the one that was tried */
        OK(cuModuleLoadData(&module, kept));
        OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
        OK(cuMemsetD32_v2(y, 0, N));
        launch_saxpy(saxpy, N, 3, x, y, NULL);
        OK(cuMemcpyDtoH_v2(host, y, N * sizeof *host));
        CHECK(host[N - 1] == 3 * (float)(N - 1));
        OK(cuModuleUnload(module));
    }
    free(kept);
}

int main(void) {
    CUmodule module;
    CUfunction saxpy, none;
    CUstream stream, other;
    CUevent before, after;
    CUdeviceptr x, y, told, base;
    size_t bytes, total;
    int count, value;
    float milliseconds;
    char name[64];
    start();
    OK(cuDeviceGetCount(&count));
    OK(cuDeviceGetName(name, sizeof name, 0));
    OK(cuDeviceTotalMem_v2(&total, 0));
    printf("%d %s %zu\n", count, name, total >> 20);
    OK(cuDeviceGetAttribute(&value, 83, 0)); /* managed memory */
    CHECK(value == 0);
    OK(cuModuleLoadData(&module, SAXPY));
    OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    GIVES(500, cuModuleGetFunction(&none, module, "none"));
    OK(cuModuleGetGlobal_v2(&told, &bytes, module, "told"));
    CHECK(bytes == 8);
    GIVES(500, cuModuleGetGlobal_v2(&told, &bytes, module, "none"));
    OK(cuFuncGetAttribute(&value, 0, saxpy));
    CHECK(value >= 256);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, saxpy, 256, 0));
    CHECK(value >= 1);
    OK(cuMemAlloc_v2(&x, N * sizeof(float)));
    OK(cuMemAlloc_v2(&y, N * sizeof(float)));
    OK(cuMemGetAddressRange_v2(&base, &bytes, x + 100));
    CHECK(base == x && bytes == N * sizeof(float));
    float *host;
    OK(cuMemAllocHost_v2((void **)&host, N * sizeof *host));
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamCreate(&other, 1));
    OK(cuEventCreate(&before, 0));
    OK(cuEventCreate(&after, 0));
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    OK(cuEventRecord(before, stream));
    OK(cuMemcpyHtoDAsync_v2(x, host, N * sizeof *host, stream));
    OK(cuMemsetD8Async(y, 0, N * sizeof *host, stream));
    memset(host, 0xff, N * sizeof *host); /* what was handed over has been read */
    for (int i = 0; i < 10; i++)
        launch_saxpy(saxpy, N, 2, x, y, stream);
    OK(cuEventRecord(after, stream));
    OK(cuStreamWaitEvent(other, after, 0));
    OK(cuMemcpyDtoHAsync_v2(host, y, N * sizeof *host, other));
    OK(cuStreamSynchronize(other));
    for (int i = 0; i < N; i++)
        CHECK(host[i] == 20 * (float)i);
    OK(cuEventSynchronize(after));
    OK(cuEventQuery(after));
    OK(cuEventElapsedTime(&milliseconds, before, after));
    CHECK(milliseconds >= 0 && milliseconds < 60000);
    OK(cuMemcpyDtoD_v2(x, y, N * sizeof *host));
    OK(cuMemcpyDtoH_v2(host, x, N * sizeof *host));
    CHECK(host[7] == 140);
    struct { /* arguments that the program packs itself */
        unsigned n;
        float a;
        CUdeviceptr x, y;
    } packed = {N, 1, x, y};
    size_t size = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
    OK(cuLaunchKernel_ptsz(saxpy, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(host, y, N * sizeof *host));
    CHECK(host[7] == 280);
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    OK(cuMemcpyHtoD_v2(x, host, N * sizeof *host));
    linked(host, x, y);
    OK(cuEventDestroy_v2(before));
    OK(cuEventDestroy_v2(after));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuMemFreeHost(host));
    OK(cuModuleUnload(module));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease_v2(0));
    puts("done");
    return 0;
}
