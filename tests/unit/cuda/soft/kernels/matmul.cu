// c = a b for row-major matrices of any size, by tiles in shared memory.
#define TILE 16

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int rows, int inner, int columns) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < inner; start += TILE) {
        int k = start + threadIdx.x, l = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && k < inner ? a[row * inner + k] : 0;
        right[threadIdx.y][threadIdx.x] = l < inner && column < columns ? b[l * columns + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}
