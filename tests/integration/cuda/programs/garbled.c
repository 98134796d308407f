/* Many clients in turn, each of which does what it can with a server whose replies are broken: says how each ended that
 * did not end by itself. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static void use(void) {
    CUcontext context;
    CUmodule module;
    CUfunction saxpy;
    CUdeviceptr x = 0, y = 0;
    CUstream stream = NULL;
    CUevent event;
    char name[64];
    static float host[1000];
    int value, count = 0;
    size_t bytes;
    if (cuInit(0))
        return;
    cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        cuDeviceGetName(name, sizeof name, i);
        cuDeviceTotalMem_v2(&bytes, i);
        for (int attribute = 0; attribute < 130; attribute++)
            cuDeviceGetAttribute(&value, attribute, i);
    }
    if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return;
    cuMemGetInfo_v2(&bytes, &bytes);
    cuMemAlloc_v2(&x, sizeof host);
    cuMemAlloc_v2(&y, sizeof host);
    cuStreamCreate(&stream, 0);
    cuMemcpyHtoD_v2(x, host, sizeof host);
    if (!cuModuleLoadData(&module, SAXPY)) {
        cuModuleGetGlobal_v2(&y, &bytes, module, "told");
        if (!cuModuleGetFunction(&saxpy, module, "saxpy")) {
            /* A kernel that claims other parameters than it has reads these: there is enough to read. */
            static char many[4][1 << 16];
            static void *given[4096];
            for (int i = 0; i < 4096; i++)
                given[i] = many[i % 4];
            cuFuncGetAttribute(&value, 0, saxpy);
            cuLaunchKernel(saxpy, 1, 1, 1, 1, 1, 1, 0, stream, given, NULL);
        }
    }
    if (!cuEventCreate(&event, 0)) {
        cuEventRecord(event, stream);
        cuEventSynchronize(event);
    }
    cuStreamSynchronize(stream);
    cuMemcpyDtoH_v2(host, x, sizeof host);
    cuMemGetAddressRange_v2(&y, &bytes, x);
    cuMemFree_v2(x);
    cuCtxSynchronize();
    cuDevicePrimaryCtxRelease_v2(0);
}

int main(int count, char **given) {
    int times = count > 1 ? atoi(given[1]) : 1, status, failed = 0;
    for (int i = 0; i < times; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            alarm(20);
            use();
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status)
            printf("\nclient %d: signal %d\n", i, WTERMSIG(status));
        failed |= status;
    }
    return failed != 0;
}
