// Prefix sums of one block (Hillis and Steele), in shared memory whose size the launch says.
extern "C" __global__ void scan(const int* in, int* out, int n) {
    extern __shared__ int buffer[];
    int* now = buffer;
    int* next = buffer + blockDim.x;
    int i = threadIdx.x;
    now[i] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        next[i] = i >= step ? now[i] + now[i - step] : now[i];
        __syncthreads();
        int* swap = now;
        now = next;
        next = swap;
    }
    if (i < n) out[i] = now[i];
}
