// Bitonic sort of one block's worth of keys, which are a power of two.
extern "C" __global__ void sort(int* keys, int n) {
    extern __shared__ int shared[];
    int i = threadIdx.x;
    shared[i] = keys[i];
    __syncthreads();
    for (int size = 2; size <= n; size *= 2)
        for (int step = size / 2; step; step /= 2) {
            int other = i ^ step;
            if (other > i) {
                bool up = (i & size) == 0;
                int a = shared[i], b = shared[other];
                if ((a > b) == up) {
                    shared[i] = b;
                    shared[other] = a;
                }
            }
            __syncthreads();
        }
    keys[i] = shared[i];
}
