/* Libraries: code that belongs to no context. It is loaded into each context that uses one of its kernels, when it
 * first does; into the current one, or else the first device's, at once, so that wrong code is told of. */
#include "shoal.h"

#include <stdlib.h>
#include <string.h>

#include "generated/functions.h"

struct library {
    struct image image;
    struct module **modules; /* one a context */
    size_t module_count;
    struct kernel **kernels;
    size_t kernel_count;
    void *handle;
    int keeps_primary;
    struct library *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct library *libraries;

static CUresult module_in(struct library *library, void *context, struct jit_log log, struct module **module) {
    for (size_t i = 0; i < library->module_count; i++)
        if (library->modules[i]->context == context) {
            *module = library->modules[i];
            return SUCCESS;
        }
    struct module **grown = realloc(library->modules, (library->module_count + 1) * sizeof(struct module *));
    if (!grown)
        return OUT_OF_MEMORY;
    library->modules = grown;
    CUresult status = shoal_load(context, &library->image, log, module);
    if (!status)
        library->modules[library->module_count++] = *module;
    return status;
}

static CUresult current_module(struct library *library, struct module **module) {
    struct context *context;
    CUresult status = shoal_current(&context);
    if (status && library->module_count) {
        *module = library->modules[0]; /* enough to know what there is */
        return SUCCESS;
    }
    return status ? status : module_in(library, shoal_current_handle(), (struct jit_log){0}, module);
}

/* A context has ended, and its modules with it. */
void shoal_forget_modules(void *context) {
    pthread_mutex_lock(&lock);
    for (struct library *each = libraries; each; each = each->next) {
        size_t kept = 0;
        for (size_t i = 0; i < each->module_count; i++)
            if (each->modules[i]->context != context)
                each->modules[kept++] = each->modules[i];
        each->module_count = kept;
    }
    pthread_mutex_unlock(&lock);
}

/* In a forked child. */
void shoal_forget_libraries(void) {
    pthread_mutex_init(&lock, NULL);
    libraries = NULL;
}

CUresult shoal_kernel_function(struct kernel *kernel, struct function **function) {
    struct module *module;
    pthread_mutex_lock(&lock);
    CUresult status = current_module(kernel->library, &module);
    if (!status && !(*function = shoal_find_function(module, kernel->name)))
        status = NOT_FOUND;
    pthread_mutex_unlock(&lock);
    return status;
}

static CUresult library_of(void *handle, struct library **library) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    return (*library = shoal_object(LIBRARY, handle)) ? SUCCESS : INVALID_HANDLE;
}

static CUresult kernel_of(void *handle, struct kernel **kernel) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    return (*kernel = shoal_object(KERNEL, handle)) ? SUCCESS : INVALID_HANDLE;
}

/* The kernel of this name; with the lock held. */
static CUresult kernel_named(struct library *library, const char *name, void **handle) {
    for (size_t i = 0; i < library->kernel_count; i++)
        if (!strcmp(library->kernels[i]->name, name)) {
            *handle = library->kernels[i]->handle;
            return SUCCESS;
        }
    struct kernel **grown = realloc(library->kernels, (library->kernel_count + 1) * sizeof(struct kernel *));
    if (grown)
        library->kernels = grown;
    struct kernel *made = grown ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return OUT_OF_MEMORY;
    made->library = library;
    made->name = strdup(name);
    made->handle = made->name ? shoal_new_handle(KERNEL, made) : NULL;
    if (!made->handle) {
        free(made->name);
        free(made);
        return OUT_OF_MEMORY;
    }
    library->kernels[library->kernel_count++] = made;
    *handle = made->handle;
    return SUCCESS;
}

static void dissolve(struct library *library) {
    for (size_t i = 0; i < library->module_count; i++)
        shoal_unload(library->modules[i]);
    for (size_t i = 0; i < library->kernel_count; i++) {
        shoal_drop_handle(library->kernels[i]->handle);
        free(library->kernels[i]->name);
        free(library->kernels[i]);
    }
    shoal_drop_handle(library->handle);
    shoal_free_image(&library->image);
    free(library->modules);
    free(library->kernels);
    free(library);
}

EXPORT CUresult cuLibraryLoadData(void **library, const void *code, int *jitOptions, void **jitOptionsValues,
                                  unsigned numJitOptions, int *libraryOptions, void **libraryOptionValues,
                                  unsigned numLibraryOptions) {
    (void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions; /* how it is kept is our own matter */
    struct module *module;
    void *context = shoal_current_handle();
    struct library *made = shoal_ready && library ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return !shoal_ready ? NOT_INITIALIZED : library ? OUT_OF_MEMORY : INVALID_VALUE;
    CUresult status = shoal_read_image(code, &made->image);
    if (!status && !context) {
        status = cuDevicePrimaryCtxRetain(&context, 0);
        made->keeps_primary = !status;
    }
    pthread_mutex_lock(&lock);
    if (!status)
        status = module_in(made, context, shoal_error_log(numJitOptions, jitOptions, jitOptionsValues), &module);
    if (!status && !(made->handle = shoal_new_handle(LIBRARY, made)))
        status = OUT_OF_MEMORY;
    if (!status) {
        made->next = libraries;
        libraries = made;
        *library = made->handle;
    }
    pthread_mutex_unlock(&lock);
    if (status) {
        if (made->keeps_primary)
            cuDevicePrimaryCtxRelease_v2(0);
        dissolve(made);
    }
    return status;
}

EXPORT CUresult cuLibraryLoadFromFile(void **library, const char *fileName, int *jitOptions, void **jitOptionsValues,
                                      unsigned numJitOptions, int *libraryOptions, void **libraryOptionValues,
                                      unsigned numLibraryOptions) {
    uint8_t *data;
    size_t bytes;
    CUresult status = shoal_read_file(fileName, &data, &bytes);
    if (status)
        return status;
    status = cuLibraryLoadData(library, data, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                               libraryOptionValues, numLibraryOptions);
    free(data);
    return status;
}

EXPORT CUresult cuLibraryUnload(void *library) {
    struct library *found;
    CUresult status = library_of(library, &found);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    for (struct library **each = &libraries; *each; each = &(*each)->next)
        if (*each == found) {
            *each = found->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    int release = found->keeps_primary;
    dissolve(found);
    if (release)
        cuDevicePrimaryCtxRelease_v2(0);
    return SUCCESS;
}

EXPORT CUresult cuLibraryGetKernel(void **pKernel, void *library, const char *name) {
    struct library *found;
    struct module *module;
    CUresult status = library_of(library, &found);
    if (status || !pKernel || !name)
        return status ? status : INVALID_VALUE;
    pthread_mutex_lock(&lock);
    status = current_module(found, &module);
    if (!status)
        status = shoal_find_function(module, name) ? kernel_named(found, name, pKernel) : NOT_FOUND;
    pthread_mutex_unlock(&lock);
    return status;
}

EXPORT CUresult cuLibraryGetKernelCount(unsigned *count, void *lib) {
    struct library *found;
    struct module *module;
    CUresult status = library_of(lib, &found);
    if (status || !count)
        return status ? status : INVALID_VALUE;
    pthread_mutex_lock(&lock);
    status = current_module(found, &module);
    if (!status)
        *count = module->function_count;
    pthread_mutex_unlock(&lock);
    return status;
}

EXPORT CUresult cuLibraryEnumerateKernels(void **kernels, unsigned numKernels, void *lib) {
    struct library *found;
    struct module *module;
    CUresult status = library_of(lib, &found);
    if (status || !kernels)
        return status ? status : INVALID_VALUE;
    pthread_mutex_lock(&lock);
    status = current_module(found, &module);
    for (uint32_t i = 0; !status && i < module->function_count && i < numKernels; i++)
        status = kernel_named(found, module->functions[i].name, &kernels[i]);
    pthread_mutex_unlock(&lock);
    return status;
}

EXPORT CUresult cuLibraryGetModule(void **pMod, void *library) {
    struct library *found;
    struct module *module;
    CUresult status = library_of(library, &found);
    if (status || !pMod)
        return status ? status : INVALID_VALUE;
    pthread_mutex_lock(&lock);
    status = current_module(found, &module);
    if (!status)
        *pMod = module->handle;
    pthread_mutex_unlock(&lock);
    return status;
}

EXPORT CUresult cuLibraryGetGlobal(uint64_t *dptr, size_t *bytes, void *library, const char *name) {
    struct library *found;
    struct module *module;
    CUresult status = library_of(library, &found);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    status = current_module(found, &module);
    if (!status)
        status = shoal_global(module, name, dptr, bytes);
    pthread_mutex_unlock(&lock);
    return status;
}

EXPORT CUresult cuKernelGetFunction(void **pFunc, void *kernel) {
    struct kernel *found;
    struct function *function;
    CUresult status = kernel_of(kernel, &found);
    if (status || !pFunc)
        return status ? status : INVALID_VALUE;
    status = shoal_kernel_function(found, &function);
    if (!status)
        *pFunc = function->handle;
    return status;
}

EXPORT CUresult cuKernelGetLibrary(void **pLib, void *kernel) {
    struct kernel *found;
    CUresult status = kernel_of(kernel, &found);
    if (status || !pLib)
        return status ? status : INVALID_VALUE;
    *pLib = found->library->handle;
    return SUCCESS;
}

EXPORT CUresult cuKernelGetName(const char **name, void *hfunc) {
    struct kernel *found;
    CUresult status = kernel_of(hfunc, &found);
    if (status || !name)
        return status ? status : INVALID_VALUE;
    *name = found->name;
    return SUCCESS;
}

/* As long as contexts of one device have the same attributes, the device need not be looked at. */
EXPORT CUresult cuKernelGetAttribute(int *pi, int attrib, void *kernel, int dev) {
    (void)dev;
    return cuFuncGetAttribute(pi, attrib, kernel);
}

EXPORT CUresult cuKernelSetAttribute(int attrib, int val, void *kernel, int dev) {
    (void)dev;
    return cuFuncSetAttribute(kernel, attrib, val);
}

EXPORT CUresult cuKernelSetCacheConfig(void *kernel, int config, int dev) {
    (void)dev;
    return cuFuncSetCacheConfig(kernel, config);
}

EXPORT CUresult cuKernelGetParamInfo(void *kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize) {
    return cuFuncGetParamInfo(kernel, paramIndex, paramOffset, paramSize);
}

EXPORT CUresult cuKernelGetParamCount(void *kernel, size_t *paramCount) {
    return cuFuncGetParamCount(kernel, paramCount);
}
