/* A kernel stores where nothing is: all later calls say so, and another context is not touched. */
#include "driver.h"

int main(void) {
    CUmodule module;
    CUfunction saxpy;
    CUcontext first, second;
    CUdeviceptr x;
    CUstream stream;
    start();
    OK(cuCtxCreate_v2(&first, 0, 0));
    OK(cuModuleLoadData(&module, SAXPY));
    OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    launch_saxpy(saxpy, 1, 1, 64, 64, NULL);
    GIVES(700, cuCtxSynchronize());
    GIVES(700, cuCtxSynchronize());
    GIVES(700, cuMemAlloc_v2(&x, 4));
    GIVES(700, cuStreamCreate(&stream, 0));
    OK(cuCtxCreate_v2(&second, 0, 0));
    OK(cuMemAlloc_v2(&x, 4));
    OK(cuMemFree_v2(x));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy_v2(second));
    OK(cuCtxDestroy_v2(first));
    puts("done");
    return 0;
}
