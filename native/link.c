/* Linking: the pieces are gathered here, and linked and compiled by the server. What comes out is the row of pieces,
 * which a program may keep and load as it would a cubin. */
#include "shoal.h"

#include <stdlib.h>
#include <string.h>

#include "generated/functions.h"

enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBINARY, INPUT_OBJECT, INPUT_LIBRARY };

struct link {
    struct image image;
    struct jit_log log;
    uint8_t *result;
};

static CUresult link_of(void *handle, struct link **link) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    return (*link = shoal_object(LINK, handle)) ? SUCCESS : INVALID_HANDLE;
}

EXPORT CUresult cuLinkCreate_v2(unsigned numOptions, int *options, void **optionValues, void **stateOut) {
    struct context *context;
    CUresult status = shoal_current(&context);
    struct link *made = status || !stateOut ? NULL : calloc(1, sizeof *made);
    if (!made)
        return status ? status : stateOut ? OUT_OF_MEMORY : INVALID_VALUE;
    made->log = shoal_error_log(numOptions, options, optionValues);
    *stateOut = shoal_new_handle(LINK, made);
    return *stateOut ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT CUresult cuLinkCreate(unsigned numOptions, int *options, void **optionValues, void **stateOut) {
    return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

EXPORT CUresult cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name,
                                 unsigned numOptions, int *options, void **optionValues) {
    struct link *link;
    (void)name, (void)numOptions, (void)options, (void)optionValues;
    CUresult status = link_of(state, &link);
    if (status || !data || !size || link->result)
        return status ? status : INVALID_VALUE;
    if (type == INPUT_LIBRARY || type > INPUT_LIBRARY)
        return NOT_SUPPORTED;
    if (type == INPUT_PTX) /* the size may count the zero byte at the end */
        size = strnlen(data, size);
    return shoal_add_piece(&link->image, data, size);
}

EXPORT CUresult cuLinkAddData(void *state, int type, void *data, size_t size, const char *name, unsigned numOptions,
                              int *options, void **optionValues) {
    return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

EXPORT CUresult cuLinkAddFile_v2(void *state, int type, const char *path, unsigned numOptions, int *options,
                                 void **optionValues) {
    uint8_t *data;
    size_t bytes;
    CUresult status = shoal_read_file(path, &data, &bytes);
    if (status)
        return status;
    status = cuLinkAddData_v2(state, type, data, bytes, path, numOptions, options, optionValues);
    free(data);
    return status;
}

EXPORT CUresult cuLinkAddFile(void *state, int type, const char *path, unsigned numOptions, int *options,
                              void **optionValues) {
    return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

/* The code is tried, so that its faults are told here; who loads the result gets what was compiled then. */
EXPORT CUresult cuLinkComplete(void *state, void **cubinOut, size_t *sizeOut) {
    struct link *link;
    struct module *tried;
    size_t bytes;
    CUresult status = link_of(state, &link);
    if (status || !cubinOut || link->result)
        return status ? status : INVALID_VALUE;
    status = shoal_load(NULL, &link->image, link->log, &tried);
    if (status)
        return status;
    shoal_keep_spare(tried, &link->image);
    status = shoal_pack_link(&link->image, &link->result, &bytes);
    if (status)
        return status;
    *cubinOut = link->result;
    if (sizeOut)
        *sizeOut = bytes;
    return SUCCESS;
}

EXPORT CUresult cuLinkDestroy(void *state) {
    struct link *link;
    CUresult status = link_of(state, &link);
    if (status)
        return status;
    shoal_drop_handle(state);
    shoal_free_image(&link->image);
    free(link->result);
    free(link);
    return SUCCESS;
}
