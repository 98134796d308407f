/* A thread that waits does not keep others from what it waits for; and streams call functions of the program, in their
 * order, and also after a fault where the program asked for that. */
#include <pthread.h>
#include <unistd.h>

#include "driver.h"

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *), void *data);
CUresult cuStreamAddCallback(CUstream stream, void (*callback)(CUstream, CUresult, void *), void *data, unsigned flags);

/* while (!*flag); *flag += 6;    and    *to = *from + 1;    and    a fault */
static const char KERNELS[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".visible .entry await(.param .u64 flag)\n{\n  .reg .pred %p;\n  .reg .b32 %r<3>;\n  .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [flag];\nagain:\n  ld.volatile.global.u32 %r1, [%rd1];\n"
    "  setp.eq.u32 %p, %r1, 0;\n  @%p bra again;\n  add.u32 %r2, %r1, 6;\n  st.global.u32 [%rd1], %r2;\n  ret;\n}\n"
    ".visible .entry next(.param .u64 to, .param .u64 from)\n{\n  .reg .b32 %r<3>;\n  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [to];\n  ld.param.u64 %rd2, [from];\n  ld.global.u32 %r1, [%rd2];\n"
    "  add.u32 %r2, %r1, 1;\n  st.global.u32 [%rd1], %r2;\n  ret;\n}\n"
    ".visible .entry trap()\n{\n  trap;\n}\n";

static CUcontext context;
static CUmodule module;
static volatile int waits;

static CUfunction kernel(const char *name) {
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

static void *wait_for_stream(void *stream) {
    OK(cuCtxSetCurrent(context));
    waits = 1;
    OK(cuStreamSynchronize(stream));
    return NULL;
}

static void a_waiting_thread_leaves_others_alone(void) {
    CUdeviceptr flag;
    CUstream first, second;
    CUevent end;
    pthread_t threads[3];
    unsigned one = 1, found;
    OK(cuMemAlloc_v2(&flag, 4));
    OK(cuMemsetD32_v2(flag, 0, 1));
    OK(cuStreamCreate(&first, 1));
    OK(cuStreamCreate(&second, 1));
    OK(cuEventCreate(&end, 0));
    OK(cuLaunchKernel(kernel("await"), 1, 1, 1, 1, 1, 1, 0, first, (void *[]){&flag}, NULL));
    OK(cuEventRecord(end, first));
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, wait_for_stream, first);
    while (!waits)
        usleep(1000);
    usleep(50000); /* so that it does wait */
    GIVES(600, cuEventQuery(end));
    OK(cuMemcpyHtoDAsync_v2(flag, &one, 4, second));
    OK(cuStreamSynchronize(second));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    OK(cuEventSynchronize(end));
    OK(cuMemcpyDtoH_v2(&found, flag, 4));
    CHECK(found == 7);
}

struct told {
    unsigned *host;
    unsigned seen;
    CUstream stream;
    CUresult status, allocating;
    int times;
};

static void add_ten(void *given) {
    struct told *told = given;
    CUdeviceptr none;
    usleep(20000);
    told->allocating = cuMemAlloc_v2(&none, 4);
    told->seen = *told->host;
    *told->host += 10;
    told->times++;
}

static void note(CUstream stream, CUresult status, void *given) {
    struct told *told = given;
    told->stream = stream;
    told->status = status;
    told->times++;
}

static void streams_call_functions_in_their_order(void) {
    CUdeviceptr a, b;
    CUstream stream;
    unsigned *host;
    struct told first = {0}, second = {0};
    OK(cuMemAllocHost_v2((void **)&host, 4));
    OK(cuMemAlloc_v2(&a, 4));
    OK(cuMemAlloc_v2(&b, 4));
    OK(cuStreamCreate(&stream, 0));
    *host = 5;
    first.host = host;
    OK(cuMemcpyHtoDAsync_v2(a, host, 4, stream));
    OK(cuLaunchKernel(kernel("next"), 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&b, &a}, NULL)); /* 6 */
    OK(cuMemcpyDtoHAsync_v2(host, b, 4, stream));
    OK(cuLaunchHostFunc(stream, add_ten, &first)); /* 16 */
    OK(cuMemcpyHtoDAsync_v2(a, host, 4, stream));
    OK(cuLaunchKernel(kernel("next"), 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&b, &a}, NULL)); /* 17 */
    OK(cuStreamAddCallback(stream, note, &second, 0));
    OK(cuMemcpyDtoHAsync_v2(host, b, 4, stream));
    CHECK(first.seen == 6 && first.allocating == 800 && first.times == 1);
    CHECK(second.stream == stream && second.status == 0 && second.times == 1);
    CHECK(*host == 17);
    OK(cuLaunchHostFunc(stream, add_ten, &first));
    OK(cuMemFree_v2(a)); /* waits for the function, as all that runs */
    OK(cuCtxSynchronize());
    CHECK(first.times == 2 && *host == 27);
    GIVES(1, cuLaunchHostFunc(stream, NULL, NULL));
    GIVES(1, cuStreamAddCallback(stream, note, NULL, 1));
    for (int i = 0; i < 100; i++)
        OK(cuStreamAddCallback(i % 2 ? stream : NULL, note, &second, 0));
    OK(cuCtxSynchronize());
    CHECK(second.times == 101);
}

static void after_a_fault_a_callback_is_told_of_it_and_a_function_is_not_called(void) {
    CUcontext own;
    struct told function = {0}, callback = {0};
    unsigned host = 0;
    function.host = &host;
    OK(cuCtxCreate_v2(&own, 0, 0));
    OK(cuModuleLoadData(&module, KERNELS));
    OK(cuLaunchKernel(kernel("trap"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLaunchHostFunc(NULL, add_ten, &function));
    OK(cuStreamAddCallback(NULL, note, &callback, 0));
    GIVES(719, cuCtxSynchronize());
    OK(cuCtxDestroy_v2(own));
    CHECK(function.times == 0 && host == 0);
    CHECK(callback.times == 1 && callback.status == 719);
}

int main(void) {
    context = start();
    OK(cuModuleLoadData(&module, KERNELS));
    a_waiting_thread_leaves_others_alone();
    streams_call_functions_in_their_order();
    after_a_fault_a_callback_is_told_of_it_and_a_function_is_not_called();
    puts("done");
    return 0;
}
