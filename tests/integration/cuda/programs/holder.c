/* Holds memory (argument: MiB), says what is free, and at each line of input again; says which result it got. */
#include "driver.h"

int main(int count, char **given) {
    CUdeviceptr x;
    size_t free_bytes = 0, total = 0;
    char line[16];
    start();
    CUresult result = count > 1 ? cuMemAlloc_v2(&x, (size_t)atoi(given[1]) << 20) : 0;
    do {
        CUresult told = cuMemGetInfo_v2(&free_bytes, &total);
        printf("%d %d %zu %zu\n", result, told, free_bytes >> 20, total >> 20);
        fflush(stdout);
    } while (fgets(line, sizeof line, stdin));
    return 0;
}
