extern "C" __global__ void mandelbrot(unsigned short* steps, int width, int height, double left, double top, double step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double cr = left + x * step, ci = top + y * step, r = 0, i = 0;
    int n = 0;
    while (n < 200 && __dadd_rn(__dmul_rn(r, r), __dmul_rn(i, i)) <= 4) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(r, r), __dmul_rn(i, i)), cr);
        i = __dadd_rn(__dmul_rn(__dmul_rn(2, r), i), ci);
        r = next;
        n++;
    }
    steps[y * width + x] = n;
}
