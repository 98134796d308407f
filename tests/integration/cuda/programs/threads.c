/* Eight threads, each with a stream, launch at once, with the thread's own default stream and through the primary
 * context; then each with a context of its own. */
#include <pthread.h>

#include "driver.h"

enum { THREADS = 8, N = 1000, TIMES = 200 };

static CUcontext primary;

static void *work(void *own) {
    CUcontext context = primary;
    CUmodule module;
    CUfunction saxpy;
    CUstream stream;
    CUdeviceptr x, y;
    float host[N];
    if (own)
        OK(cuCtxCreate_v2(&context, 0, 0));
    else
        OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, SAXPY));
    OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    OK(cuStreamCreate(&stream, 1));
    OK(cuMemAlloc_v2(&x, sizeof host));
    OK(cuMemAlloc_v2(&y, sizeof host));
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    OK(cuMemcpyHtoDAsync_v2(x, host, sizeof host, stream));
    OK(cuMemsetD8Async(y, 0, sizeof host, stream));
    for (int i = 0; i < TIMES; i++)
        launch_saxpy(saxpy, N, 1, x, y, stream);
    OK(cuStreamSynchronize(stream));
    void *given[] = {&(unsigned){N}, &(float){1}, &x, &y};
    OK(cuLaunchKernel_ptsz(saxpy, 4, 1, 1, 256, 1, 1, 0, NULL, given, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoHAsync_v2(host, y, sizeof host, stream));
    for (int i = 0; i < N; i++)
        CHECK(host[i] == (TIMES + 1) * (float)i);
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    if (own)
        OK(cuCtxDestroy_v2(context));
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    primary = start();
    for (int own = 0; own < 2; own++) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, own ? &primary : NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    puts("done");
    return 0;
}
