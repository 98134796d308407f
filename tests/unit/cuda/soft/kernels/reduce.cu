// Sums: within a warp by shuffles, within a block by shared memory, over blocks by atomics.
extern "C" __global__ void sum_by_shuffles(const float* values, float* total, int n) {
    __shared__ float parts[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += values[i];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
        for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
        if (threadIdx.x == 0) atomicAdd(total, sum);
    }
}

extern "C" __global__ void sum_by_atomics(const int* values, unsigned long long* total, int* least, int* most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(total, (unsigned long long)(long long)values[i]);
    atomicMin(least, values[i]);
    atomicMax(most, values[i]);
}

// Every second lane votes; the active lanes count one another in divergent branches.
extern "C" __global__ void votes(const int* values, unsigned* ballots, int* alike, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? values[i] : -1;
    unsigned ballot = __ballot_sync(0xffffffff, value > 3);
    unsigned same = __match_any_sync(0xffffffff, value);
    int all = __all_sync(0xffffffff, value >= 0), any = __any_sync(0xffffffff, value == 7);
    if (i < n) {
        ballots[i] = ballot;
        alike[i] = __popc(same) + 100 * all + 1000 * any;
        if (value & 1) alike[i] += 10000 * __popc(__activemask());
    }
}

// A lock taken by one thread of each warp at a time: threads that wait must let the holder run.
extern "C" __global__ void count_under_lock(int* lock, int* counter) {
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int*)counter += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// Blocks hand a result to the last that comes, as in a reduction of one pass.
extern "C" __global__ void last_block(const float* values, float* parts, unsigned* tickets, float* total, int n) {
    extern __shared__ float sums[];
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? values[i] : 0;
    __syncthreads();
    for (int step = blockDim.x / 2; step; step /= 2) {
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int block = 0; block < gridDim.x; block++) sum += ((volatile float*)parts)[block];
        *total = sum;
    }
}
