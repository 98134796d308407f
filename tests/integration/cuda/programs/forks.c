/* A forked child has no context, and may have a connection of its own; the parent's goes on. */
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static void compute(void) {
    CUdeviceptr x;
    unsigned host[4] = {0};
    OK(cuMemAlloc_v2(&x, sizeof host));
    OK(cuMemsetD32_v2(x, 7, 4));
    OK(cuMemcpyDtoH_v2(host, x, sizeof host));
    CHECK(host[3] == 7);
}

int main(void) {
    CUcontext current;
    CUdeviceptr x, mine;
    start();
    OK(cuMemAlloc_v2(&x, 1 << 20));
    pid_t child = fork();
    if (!child) {
        GIVES(3, cuCtxGetCurrent(&current));
        GIVES(3, cuMemAlloc_v2(&mine, 4));
        start();
        GIVES(1, cuMemFree_v2(x)); /* the parent's */
        compute();
        return 5;
    }
    int ended;
    waitpid(child, &ended, 0);
    CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 5);
    compute();
    OK(cuMemFree_v2(x));
    OK(cuCtxSynchronize());
    puts("done");
    return 0;
}
