/* Modules and their functions. Code travels once, by its hash; the answer has all functions with their parameters and
 * attributes, so that they are found, asked about and launched without another question. */
#include "shoal.h"

#include <stdlib.h>
#include <string.h>

#include "generated/functions.h"
#include "generated/messages.h"

#define SPARES 8
static const uint64_t SEEDS[2] = {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u};

enum { JIT_INFO_LOG = 3, JIT_INFO_BYTES = 4, JIT_ERROR_LOG = 5, JIT_ERROR_BYTES = 6 };

static uint64_t hash(const struct image *image, uint64_t seed) {
    uint64_t value = seed;
    for (size_t i = 0; i < image->bytes; i++)
        value = (value ^ image->packed[i]) * 0x100000001b3u;
    return value ^ image->bytes;
}

/* Where a compiler's complaints go, if the program has given a place. Other options are the compiler's own matter. */
struct jit_log shoal_error_log(unsigned count, const int *options, void **values) {
    struct jit_log log = {0};
    for (unsigned i = 0; options && values && i < count; i++) {
        if (options[i] == JIT_ERROR_LOG)
            log.buffer = values[i];
        if (options[i] == JIT_ERROR_BYTES) {
            log.room = (size_t)(uintptr_t)values[i];
            log.told = &values[i];
        }
        if (options[i] == JIT_INFO_BYTES)
            values[i] = NULL; /* nothing is written there */
    }
    return log;
}

static void write_log(struct jit_log log, const char *text, size_t length) {
    if (log.buffer && log.room) {
        size_t most = length < log.room - 1 ? length : log.room - 1;
        memcpy(log.buffer, text, most);
        log.buffer[most] = 0;
        if (log.told)
            *log.told = (void *)(uintptr_t)most;
    } else if (length)
        shoal_say("code was refused: %.*s", (int)length, text);
}

/* Of a kernel's parameters: more is no kernel, whatever a server says. CUDA has 32,764 bytes at most. */
enum { MAX_PARAMETERS = 4096, MAX_BYTES = 1 << 15 };

static CUresult read_function(struct reader *reader, struct module *module, struct function *function) {
    function->module = module;
    function->id = get_u64(reader);
    function->name = get_text(reader);
    function->parameters = get_attributes(reader, &function->parameter_count);
    function->attributes = get_attributes(reader, &function->attribute_count);
    if (reader->short_of || function->parameter_count > MAX_PARAMETERS)
        return DEVICE_UNAVAILABLE;
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        struct attribute *each = &function->parameters[i];
        if (each->number < 0 || each->number > MAX_BYTES || each->value < 0 || each->value > MAX_BYTES)
            return DEVICE_UNAVAILABLE;
        uint32_t end = (uint32_t)each->number + (uint32_t)each->value;
        if (end > function->bytes)
            function->bytes = end;
    }
    return (function->handle = shoal_new_handle(FUNCTION, function)) ? SUCCESS : OUT_OF_MEMORY;
}

static CUresult read_module(const struct reply *reply, void *context, struct module **loaded) {
    struct reader reader = {reply->data, reply->data + reply->bytes, 0};
    get_u32(&reader);
    struct module *module = calloc(1, sizeof *module);
    if (!module)
        return OUT_OF_MEMORY;
    module->context = context;
    module->id = get_u32(&reader);
    uint32_t count = get_u32(&reader);
    CUresult status = count > reply->bytes ? DEVICE_UNAVAILABLE : SUCCESS;
    if (!status && !(module->functions = calloc(count + 1, sizeof *module->functions)))
        status = OUT_OF_MEMORY;
    for (; !status && module->function_count < count; module->function_count++)
        status = read_function(&reader, module, &module->functions[module->function_count]);
    if (!status && !(module->handle = shoal_new_handle(MODULE, module)))
        status = OUT_OF_MEMORY;
    if (status)
        shoal_unload(module);
    else
        *loaded = module;
    return status;
}

/* Modules that cuLinkComplete has loaded to try the code, for whoever loads it next. The oldest goes when there is no
 * room for one more. */
static struct spare {
    struct module *module;
    uint64_t keys[2];
} spares[SPARES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void shoal_keep_spare(struct module *module, const struct image *image) {
    pthread_mutex_lock(&lock);
    struct module *oldest = spares[0].module;
    for (int i = 1; i < SPARES; i++)
        spares[i - 1] = spares[i];
    spares[SPARES - 1] = (struct spare){module, {hash(image, SEEDS[0]), hash(image, SEEDS[1])}};
    pthread_mutex_unlock(&lock);
    if (oldest)
        shoal_unload(oldest);
}

/* With the context that they are in; or all, in a forked child. */
void shoal_forget_spares(void *context) {
    if (!context)
        pthread_mutex_init(&lock, NULL);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SPARES; i++)
        if (spares[i].module && (!context || spares[i].module->context == context))
            spares[i].module = NULL;
    pthread_mutex_unlock(&lock);
}

static struct module *take_spare(void *context, const uint64_t *keys) {
    struct module *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; !found && i < SPARES; i++)
        if (spares[i].module && spares[i].module->context == context && spares[i].keys[0] == keys[0] &&
            spares[i].keys[1] == keys[1]) {
            found = spares[i].module;
            spares[i].module = NULL;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

/* First by its hash alone; with the code itself where the server does not have it yet. */
CUresult shoal_load(void *context, const struct image *image, struct jit_log log, struct module **loaded) {
    struct call call;
    struct reply reply = {0};
    uint64_t keys[] = {hash(image, SEEDS[0]), hash(image, SEEDS[1])};
    CUresult status = SUCCESS;
    if ((*loaded = take_spare(context ? context : shoal_current_handle(), keys)))
        return SUCCESS;
    for (int with_code = 0; with_code < 2; with_code++) {
        status = shoal_context_call(&call, with_code ? M_LOAD : M_LOAD_KNOWN, context);
        if (status)
            return status;
        put_u64(&call, keys[0]);
        put_u64(&call, keys[1]);
        if (with_code)
            put_u32(&call, image->pieces);
        status = shoal_ask(&call, with_code ? image->packed : NULL, with_code ? image->bytes : 0, &reply);
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        if (status || get_u32(&reader))
            break;
        shoal_free_reply(&reply);
    }
    if (!status)
        status = read_module(&reply, context ? context : shoal_current_handle(), loaded);
    else if (reply.data)
        write_log(log, (const char *)reply.data, reply.bytes);
    shoal_free_reply(&reply);
    return status;
}

/* Free what is here; the server is not told. */
static void dissolve(struct module *module) {
    for (uint32_t i = 0; i < module->function_count; i++) {
        struct function *function = &module->functions[i];
        shoal_drop_handle(function->handle);
        free(function->name);
        free(function->parameters);
        free(function->attributes);
    }
    shoal_drop_handle(module->handle);
    free(module->functions);
    free(module);
}

void shoal_unload(struct module *module) {
    struct call call;
    if (!shoal_context_call(&call, M_UNLOAD, module->context)) {
        put_u32(&call, module->id);
        shoal_post(&call, NULL, 0);
    }
    dissolve(module);
}

struct function *shoal_find_function(struct module *module, const char *name) {
    for (uint32_t i = 0; i < module->function_count; i++)
        if (!strcmp(module->functions[i].name, name))
            return &module->functions[i];
    return NULL;
}

/* A function, or a kernel of a library in the current context. */
CUresult shoal_function(void *handle, struct function **function) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    if ((*function = shoal_object(FUNCTION, handle)))
        return SUCCESS;
    struct kernel *kernel = shoal_object(KERNEL, handle);
    return kernel ? shoal_kernel_function(kernel, function) : INVALID_HANDLE;
}

CUresult shoal_function_id(void *handle, uint64_t *id) {
    struct function *function;
    CUresult status = shoal_function(handle, &function);
    if (!status)
        *id = function->id;
    return status;
}

CUresult shoal_global(struct module *module, const char *name, uint64_t *address, size_t *bytes) {
    struct call call;
    struct reply reply = {0};
    CUresult status = name ? shoal_context_call(&call, M_VARIABLE, module->context) : INVALID_VALUE;
    if (status)
        return status;
    put_u32(&call, module->id);
    status = shoal_ask(&call, name, strlen(name), &reply);
    if (!status) {
        struct reader reader = {reply.data, reply.data + reply.bytes, 0};
        uint64_t found = get_u64(&reader);
        size_t size = get_u64(&reader);
        if (address)
            *address = found;
        if (bytes)
            *bytes = size;
    }
    shoal_free_reply(&reply);
    return status;
}

static CUresult module_of(void *handle, struct module **module) {
    if (!shoal_ready)
        return NOT_INITIALIZED;
    return (*module = shoal_object(MODULE, handle)) ? SUCCESS : INVALID_HANDLE;
}

EXPORT CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned numOptions, int *options,
                                   void **optionValues) {
    struct context *context;
    struct module *loaded;
    struct image code;
    CUresult status = shoal_current(&context);
    if (status || !module)
        return status ? status : INVALID_VALUE;
    status = shoal_read_image(image, &code);
    if (!status)
        status = shoal_load(NULL, &code, shoal_error_log(numOptions, options, optionValues), &loaded);
    if (!status)
        *module = loaded->handle;
    shoal_free_image(&code);
    return status;
}

EXPORT CUresult cuModuleLoadData(void **module, const void *image) {
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

EXPORT CUresult cuModuleLoadFatBinary(void **module, const void *fatCubin) {
    return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

EXPORT CUresult cuModuleLoad(void **module, const char *fname) {
    uint8_t *data;
    size_t bytes;
    CUresult status = shoal_read_file(fname, &data, &bytes);
    if (status)
        return status;
    status = cuModuleLoadData(module, data);
    free(data);
    return status;
}

EXPORT CUresult cuModuleUnload(void *hmod) {
    struct module *module;
    CUresult status = module_of(hmod, &module);
    if (!status)
        shoal_unload(module);
    return status;
}

EXPORT CUresult cuModuleGetFunction(void **hfunc, void *hmod, const char *name) {
    struct module *module;
    CUresult status = module_of(hmod, &module);
    if (status || !hfunc || !name)
        return status ? status : INVALID_VALUE;
    struct function *function = shoal_find_function(module, name);
    if (function)
        *hfunc = function->handle;
    return function ? SUCCESS : NOT_FOUND;
}

EXPORT CUresult cuModuleGetGlobal_v2(uint64_t *dptr, size_t *bytes, void *hmod, const char *name) {
    struct module *module;
    CUresult status = module_of(hmod, &module);
    return status ? status : shoal_global(module, name, dptr, bytes);
}

EXPORT CUresult cuModuleGetFunctionCount(unsigned *count, void *mod) {
    struct module *module;
    CUresult status = module_of(mod, &module);
    if (status || !count)
        return status ? status : INVALID_VALUE;
    *count = module->function_count;
    return SUCCESS;
}

EXPORT CUresult cuModuleEnumerateFunctions(void **functions, unsigned numFunctions, void *mod) {
    struct module *module;
    CUresult status = module_of(mod, &module);
    if (status || !functions)
        return status ? status : INVALID_VALUE;
    for (uint32_t i = 0; i < module->function_count && i < numFunctions; i++)
        functions[i] = module->functions[i].handle;
    return SUCCESS;
}

EXPORT CUresult cuModuleGetLoadingMode(int *mode) {
    if (!mode)
        return INVALID_VALUE;
    *mode = 1; /* eager */
    return SUCCESS;
}
