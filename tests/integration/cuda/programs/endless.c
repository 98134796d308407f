/* A kernel that never ends: says that it runs, waits for it, and then says with which result. */
#include "driver.h"

static const char ENDLESS[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
                              ".visible .entry endless()\n{\nagain:\n  bra again;\n}\n";

int main(void) {
    CUmodule module;
    CUfunction endless;
    start();
    OK(cuModuleLoadData(&module, ENDLESS));
    OK(cuModuleGetFunction(&endless, module, "endless"));
    OK(cuLaunchKernel(endless, 64, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    GIVES(600, cuStreamQuery(NULL));
    puts("running");
    fflush(stdout);
    printf("%d\n", cuCtxSynchronize());
    return 0;
}
