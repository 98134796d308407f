/* What calls cost a program on the CUDA wire: wire launches N | trips N | upload BYTES N | download BYTES N | start |
   steps N. Prints seconds, one number a line. */
#include "driver.h"
#include <time.h>

enum { SMALL = 256, LAUNCHES = 2000, COPY = 1 << 16 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static CUfunction saxpy;
static CUdeviceptr x, y;

static void prepare(void) {
    CUmodule module;
    OK(cuModuleLoadData(&module, SAXPY));
    OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    OK(cuMemAlloc_v2(&x, SMALL * sizeof(float)));
    OK(cuMemAlloc_v2(&y, SMALL * sizeof(float)));
    launch_saxpy(saxpy, SMALL, 1, x, y, NULL);
    OK(cuCtxSynchronize());
}

/* The caller's part of a launch, and the whole of it until all are done. */
static void launches(int count) {
    prepare();
    double began = now();
    for (int i = 0; i < count; i++)
        launch_saxpy(saxpy, SMALL, 1, x, y, NULL);
    double asked = now();
    OK(cuCtxSynchronize());
    printf("%.9f\n%.9f\n", (asked - began) / count, (now() - began) / count);
}

static void trips(int count) {
    size_t free, total;
    for (int i = 0; i < count; i++) {
        double began = now();
        OK(cuMemGetInfo_v2(&free, &total));
        printf("%.9f\n", now() - began);
    }
}

static void copies(int down, size_t bytes, int count) {
    char *host = malloc(bytes);
    CUdeviceptr there;
    memset(host, 1, bytes);
    OK(cuMemAlloc_v2(&there, bytes));
    for (int i = 0; i < count; i++) {
        double began = now();
        if (down)
            OK(cuMemcpyDtoH_v2(host, there, bytes));
        else
            OK(cuMemcpyHtoD_v2(there, host, bytes));
        printf("%.9f\n", now() - began);
    }
}

/* As a step of training is: many small launches, a copy each way, one wait. */
static void steps(int count) {
    char *host = malloc(COPY);
    CUdeviceptr there;
    memset(host, 1, COPY);
    prepare();
    OK(cuMemAlloc_v2(&there, COPY));
    for (int i = 0; i < count; i++) {
        double began = now();
        OK(cuMemcpyHtoDAsync_v2(there, host, COPY, NULL));
        for (int j = 0; j < LAUNCHES; j++)
            launch_saxpy(saxpy, SMALL, 1, x, y, NULL);
        OK(cuMemcpyDtoHAsync_v2(host, there, COPY, NULL));
        OK(cuCtxSynchronize());
        printf("%.9f\n", now() - began);
    }
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    double began = now();
    start();
    if (!strcmp(what, "start"))
        printf("%.9f\n", now() - began);
    else if (!strcmp(what, "launches"))
        launches(atoi(words[2]));
    else if (!strcmp(what, "trips"))
        trips(atoi(words[2]));
    else if (!strcmp(what, "steps"))
        steps(atoi(words[2]));
    else
        copies(!strcmp(what, "download"), strtoull(words[2], NULL, 10), atoi(words[3]));
    return 0;
}
