// One step of heat on a grid, with a halo in shared memory.
#define SIDE 16

extern "C" __global__ void heat(const double* in, double* out, int width, int height) {
    __shared__ double tile[SIDE + 2][SIDE + 2];
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    auto at = [&](int x, int y) {
        x = min(max(x, 0), width - 1);
        y = min(max(y, 0), height - 1);
        return in[y * width + x];
    };
    int i = threadIdx.x + 1, j = threadIdx.y + 1;
    tile[j][i] = at(x, y);
    if (i == 1) tile[j][0] = at(x - 1, y);
    if (i == SIDE) tile[j][SIDE + 1] = at(x + 1, y);
    if (j == 1) tile[0][i] = at(x, y - 1);
    if (j == SIDE) tile[SIDE + 1][i] = at(x, y + 1);
    __syncthreads();
    if (x < width && y < height)
        out[y * width + x] = 0.5 * tile[j][i] + 0.125 * (tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i]);
}
