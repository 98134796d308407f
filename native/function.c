/* What is asked about functions, answered by what came with their module. */
#include "shoal.h"

#include "generated/functions.h"
#include "generated/messages.h"

EXPORT CUresult cuFuncGetAttribute(int *pi, int attrib, void *hfunc) {
    struct function *function;
    CUresult status = shoal_function(hfunc, &function);
    if (status || !pi)
        return status ? status : INVALID_VALUE;
    for (uint32_t i = 0; i < function->attribute_count; i++)
        if (function->attributes[i].number == attrib) {
            *pi = function->attributes[i].value;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

EXPORT CUresult cuFuncSetAttribute(void *hfunc, int attrib, int value) {
    struct function *function;
    struct call call;
    CUresult status = shoal_function(hfunc, &function);
    if (!status)
        status = shoal_context_call(&call, M_SET_ATTRIBUTE, function->module->context);
    if (status)
        return status;
    put_u64(&call, function->id);
    put_u32(&call, (uint32_t)attrib);
    put_u32(&call, (uint32_t)value);
    status = shoal_ask_plainly(&call);
    for (uint32_t i = 0; !status && i < function->attribute_count; i++)
        if (function->attributes[i].number == attrib)
            function->attributes[i].value = value;
    return status;
}

/* Preferences, which CUDA, too, is free not to follow. */
EXPORT CUresult cuFuncSetCacheConfig(void *hfunc, int config) {
    struct function *function;
    (void)config;
    return shoal_function(hfunc, &function);
}

EXPORT CUresult cuFuncSetSharedMemConfig(void *hfunc, int config) {
    return cuFuncSetCacheConfig(hfunc, config);
}

EXPORT CUresult cuFuncGetModule(void **hmod, void *hfunc) {
    struct function *function;
    CUresult status = shoal_function(hfunc, &function);
    if (status || !hmod)
        return status ? status : INVALID_VALUE;
    *hmod = function->module->handle;
    return SUCCESS;
}

EXPORT CUresult cuFuncGetName(const char **name, void *hfunc) {
    struct function *function;
    CUresult status = shoal_function(hfunc, &function);
    if (status || !name)
        return status ? status : INVALID_VALUE;
    *name = function->name;
    return SUCCESS;
}

EXPORT CUresult cuFuncGetParamInfo(void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize) {
    struct function *function;
    CUresult status = shoal_function(func, &function);
    if (status || !paramOffset || paramIndex >= function->parameter_count)
        return status ? status : INVALID_VALUE;
    *paramOffset = (size_t)function->parameters[paramIndex].number;
    if (paramSize)
        *paramSize = (size_t)function->parameters[paramIndex].value;
    return SUCCESS;
}

EXPORT CUresult cuFuncGetParamCount(void *func, size_t *paramCount) {
    struct function *function;
    CUresult status = shoal_function(func, &function);
    if (status || !paramCount)
        return status ? status : INVALID_VALUE;
    *paramCount = function->parameter_count;
    return SUCCESS;
}

EXPORT CUresult cuFuncIsLoaded(int *state, void *function) {
    struct function *found;
    CUresult status = shoal_function(function, &found);
    if (!status && state)
        *state = 1;
    return status;
}

EXPORT CUresult cuFuncLoad(void *function) {
    struct function *found;
    return shoal_function(function, &found);
}
