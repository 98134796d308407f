/* Names: of functions, for programs that ask for them with a version, and of results. */
#include "shoal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generated/functions.h"
#include "generated/tables.h"

enum { FOUND, NO_SUCH_NAME, TOO_OLD }; /* CUdriverProcAddressQueryResult */
enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 };
enum { COUNT = sizeof shoal_symbols / sizeof shoal_symbols[0] };

static uint8_t told[COUNT];

static int by_name(const void *key, const void *item) {
    return strcmp(key, ((const struct symbol *)item)->name);
}

/* What answers a function that is not covered. The first call of each is told of by name. */
CUresult shoal_refuse(const char *name) {
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(shoal_symbols[i].symbol, name) && !__atomic_exchange_n(&told[i], 1, __ATOMIC_RELAXED))
            shoal_say("%s is not supported here", name);
    return NOT_SUPPORTED;
}

/* The newest version of a function that is no newer than the CUDA version asked for. */
EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, uint64_t flags,
                                    int *symbolStatus) {
    if (!symbol || !pfn)
        return INVALID_VALUE;
    int status = NO_SUCH_NAME;
    const struct symbol *best = NULL;
    const struct symbol *at = bsearch(symbol, shoal_symbols, COUNT, sizeof *at, by_name);
    while (at && at > shoal_symbols && !strcmp(at[-1].name, symbol))
        at--;
    for (; at && at < shoal_symbols + COUNT && !strcmp(at->name, symbol); at++) {
        if (at->per_thread && !(flags & PER_THREAD_STREAM))
            continue;
        if (at->version > cudaVersion)
            status = best ? status : TOO_OLD;
        else if (!best || at->per_thread > best->per_thread ||
                 (at->per_thread == best->per_thread && at->version > best->version)) {
            best = at;
            status = FOUND;
        }
    }
    *pfn = best ? best->function : NULL;
    if (symbolStatus)
        *symbolStatus = status;
    return best ? SUCCESS : NOT_FOUND;
}

EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}

static const struct result *result(int number) {
    for (size_t i = 0; i < sizeof shoal_results / sizeof shoal_results[0]; i++)
        if (shoal_results[i].number == number)
            return &shoal_results[i];
    return NULL;
}

EXPORT CUresult cuGetErrorName(int error, const char **pStr) {
    const struct result *found = result(error);
    if (pStr)
        *pStr = found ? found->name : NULL;
    return found && pStr ? SUCCESS : INVALID_VALUE;
}

EXPORT CUresult cuGetErrorString(int error, const char **pStr) {
    const struct result *found = result(error);
    if (pStr)
        *pStr = found ? found->text : NULL;
    return found && pStr ? SUCCESS : INVALID_VALUE;
}

EXPORT CUresult cuProfilerStart(void) {
    return SUCCESS;
}

EXPORT CUresult cuProfilerStop(void) {
    return SUCCESS;
}
