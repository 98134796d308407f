// The functions of CUDA's math library, of which nvcc makes plain instructions.
extern "C" __global__ void functions(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    float* row = out + 16 * i;
    row[0] = sinf(x);
    row[1] = cosf(x);
    row[2] = expf(x);
    row[3] = logf(fabsf(x));
    row[4] = sqrtf(fabsf(x));
    row[5] = tanhf(x);
    row[6] = powf(fabsf(x), 1.5f);
    row[7] = atan2f(x, 2.0f);
    row[8] = erff(x);
    row[9] = fmodf(x, 0.7f);
    row[10] = rintf(x);
    row[11] = __sinf(x);
    row[12] = __expf(x);
    row[13] = __fdividef(x, 3.0f);
    row[14] = cbrtf(x);
    row[15] = floorf(x) + truncf(x) + roundf(x);
}

extern "C" __global__ void functions_double(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = in[i];
    double* row = out + 8 * i;
    row[0] = sin(x);
    row[1] = exp(x);
    row[2] = log(fabs(x));
    row[3] = sqrt(fabs(x));
    row[4] = tanh(x);
    row[5] = pow(fabs(x), 1.5);
    row[6] = x / 3.0;
    row[7] = fmod(x, 0.7);
}

extern "C" __global__ void integers(const unsigned* in, unsigned long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i], y = in[(i + 1) % n];
    unsigned long long* row = out + 8 * i;
    row[0] = __popc(x) + 100 * __clz(x) + 10000 * __ffs(x);
    row[1] = __brev(x);
    row[2] = __byte_perm(x, y, 0x5160);
    row[3] = __umulhi(x, y);
    row[4] = (unsigned)__dp4a((int)x, (int)y, (int)i);
    row[5] = __umul64hi((unsigned long long)x << 17 | y, (unsigned long long)y << 29 | x);
    row[6] = __funnelshift_l(x, y, i);
    row[7] = x / (y | 1) + x % (y | 1);
}
