#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ void axpy(float a, const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = T(a) * x[i] + y[i];
}

extern "C" __global__ void axpy_half(float a, const __half* x, __half* y, int n) { axpy(a, x, y, n); }
extern "C" __global__ void axpy_bfloat(float a, const __nv_bfloat16* x, __nv_bfloat16* y, int n) { axpy(a, x, y, n); }
extern "C" __global__ void axpy_double(float a, const double* x, double* y, int n) { axpy(a, x, y, n); }

extern "C" __global__ void pairs(const __half2* x, __half2* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(x[i], x[i], __float2half2_rn(0.25f));
}

extern "C" __global__ void to_half(const float* in, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2half(in[i]);
}
