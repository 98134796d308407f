/* What is wrong is told of by CUDA's results, and never crashes. */
#include "driver.h"

typedef CUresult (*Named)(void);

int main(void) {
    CUcontext context, none = (CUcontext)0x1234;
    CUmodule module;
    CUfunction saxpy;
    CUdeviceptr x;
    CUstream stream;
    CUevent event;
    void *host, *function, *found, *graph;
    int status;
    size_t bytes, total;
    char log[256] = "";
    int options[] = {5, 6};
    void *values[] = {log, (void *)sizeof log};
    GIVES(3, cuDeviceGetCount(&status));
    GIVES(3, cuMemAlloc_v2(&x, 4));
    OK(cuInit(0));
    GIVES(101, cuDeviceGet(&status, 99));
    GIVES(201, cuMemAlloc_v2(&x, 4));
    GIVES(201, cuCtxSetCurrent(none));
    context = start();
    GIVES(201, cuCtxDestroy_v2(context)); /* the primary one is not destroyed, but released */
    GIVES(1, cuMemAlloc_v2(&x, 0));
    OK(cuMemAlloc_v2(&x, 4));
    OK(cuMemFree_v2(x));
    GIVES(1, cuMemFree_v2(x));
    OK(cuMemFree_v2(0));
    GIVES(1, cuMemFree_v2(0x1234));
    GIVES(1, cuMemcpyHtoD_v2(0x40, "abcd", 4));
    OK(cuMemGetInfo_v2(&bytes, &total));
    GIVES(2, cuMemAlloc_v2(&x, total + 1));
    GIVES(400, cuModuleUnload((CUmodule)0x1234));
    GIVES(400, cuLaunchKernel((CUfunction)0x1234, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    GIVES(400, cuStreamSynchronize((CUstream)0x5678));
    GIVES(400, cuEventQuery((CUevent)0x5678));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, (CUstream)0x5678)); /* posted: its fault comes with a later call, once */
    GIVES(400, cuCtxSynchronize());
    OK(cuCtxSynchronize());
    CHECK(cuModuleLoadDataEx(&module, "bad code", 2, options, values));
    CHECK(strlen(log) > 5 && (size_t)values[1] == strlen(log));
    OK(cuModuleLoadData(&module, SAXPY));
    OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    GIVES(1, cuLaunchKernel(saxpy, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    GIVES(1, cuLaunchKernel(saxpy, 1, 1, 1, 4096, 1, 1, 0, NULL, NULL, NULL));
    GIVES(1, cuLaunchKernel(saxpy, 1, 1, 1, 1, 1, 1, 1 << 30, NULL, NULL, NULL));
    GIVES(1, cuLaunchKernel(saxpy, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    GIVES(801, cuMemHostAlloc(&host, 4, 2)); /* mapped */
    GIVES(801, cuMemAllocManaged(&x, 4, 1));
    GIVES(801, cuGraphCreate(&graph, 0));
    OK(cuGetProcAddress_v2("cuCtxSynchronize", &function, 12000, 0, &status));
    CHECK(status == 0 && function == (void *)cuCtxSynchronize);
    OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
    CHECK(function == (void *)cuMemAlloc_v2);
    OK(cuGetProcAddress_v2("cuMemAlloc", &found, 2000, 0, &status));
    CHECK(found && found != function);
    OK(cuGetProcAddress_v2("cuLaunchKernel", &function, 12000, 2, &status));
    CHECK(function == (void *)cuLaunchKernel_ptsz);
    OK(cuGetProcAddress_v2("cuLaunchKernel", &function, 12000, 1, &status));
    CHECK(function == (void *)cuLaunchKernel);
    GIVES(500, cuGetProcAddress_v2("cuLaunchKernel", &function, 3000, 0, &status));
    CHECK(status == 2 && !function);
    GIVES(500, cuGetProcAddress_v2("cuNone", &function, 12000, 0, &status));
    CHECK(status == 1);
    OK(cuCtxCreate_v2(&none, 0, 0)); /* another context has nothing of the first one's */
    OK(cuStreamCreate(&stream, 0));
    OK(cuCtxPopCurrent_v2(&none));
    GIVES(400, cuStreamSynchronize(stream));
    OK(cuCtxDestroy_v2(none));
    GIVES(709, cuCtxSetCurrent(none));
    puts("done");
    return 0;
}
