/* Each thread of a kernel prints, one fails an assertion, and all later calls say so. */
#include "driver.h"

static const char PRINTS[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 format, .param .b64 arguments);\n"
    ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s) .noreturn;\n"
    ".global .align 1 .b8 text[8] = {105, 32, 61, 32, 37, 100, 10, 0};\n" /* i = %d */
    ".global .align 1 .b8 small[6] = {105, 32, 60, 32, 51, 0};\n"         /* i < 3 */
    ".visible .entry prints()\n{\n"
    "  .local .align 8 .b8 depot[8];\n  .reg .b32 %r<3>;\n  .reg .b64 %d<5>;\n  .reg .pred %p<2>;\n"
    "  mov.u32 %r1, %tid.x;\n  st.local.u32 [depot], %r1;\n  mov.u64 %d1, text;\n  cvta.global.u64 %d2, %d1;\n"
    "  mov.u64 %d3, depot;\n  cvta.local.u64 %d4, %d3;\n"
    "  {\n    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n"
    "    st.param.b64 [a], %d2;\n    st.param.b64 [b], %d4;\n    call.uni (c), vprintf, (a, b);\n  }\n"
    "  setp.lt.u32 %p1, %r1, 3;\n  @%p1 bra done;\n  mov.u64 %d1, small;\n  cvta.global.u64 %d2, %d1;\n"
    "  {\n    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n    .param .b64 d;\n    .param .b64 e;\n"
    "    st.param.b64 [a], %d2;\n    st.param.b64 [b], %d2;\n    st.param.b32 [c], 42;\n    st.param.b64 [d], %d2;\n"
    "    st.param.b64 [e], 1;\n    call.uni __assertfail, (a, b, c, d, e);\n  }\ndone:\n  ret;\n}\n";

int main(void) {
    CUmodule module;
    CUfunction prints;
    start();
    OK(cuModuleLoadData(&module, PRINTS));
    OK(cuModuleGetFunction(&prints, module, "prints"));
    OK(cuLaunchKernel(prints, 1, 1, 1, 3, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuLaunchKernel(prints, 1, 1, 1, 4, 1, 1, 0, NULL, NULL, NULL));
    GIVES(710, cuCtxSynchronize());
    GIVES(710, cuCtxSynchronize());
    puts("done");
    return 0;
}
