// What programs have beyond loops and arrays: variables of the module, functions, structures, tables, text.
#include <cassert>
#include <cstdio>

struct Shape {
    char kind;
    short sides;
    double size;
};

__constant__ float weights[4] = {0.5f, 1.5f, -2.0f, 8.0f};
__constant__ Shape shapes[2] = {{'c', 0, 2.0}, {'s', 4, 3.0}};
__device__ int counter = 41;
__device__ int* pointer_to_counter = &counter;
__device__ char text[] = "of the device";
__device__ int numbers[4] = {1, 20, 300, 4000};

struct Entry {
    int factor;
    const int* number;
};
__device__ Entry entries[2] = {{2, &numbers[1]}, {3, &numbers[3]}};
__device__ const char* names[2] = {"fish", "shoal"};

extern "C" __global__ void weighted(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * weights[i % 4];
}

extern "C" __global__ void count_up() { atomicAdd(pointer_to_counter, 1); }

extern "C" __global__ void pointers(int* out, char* name) {
    out[threadIdx.x] = entries[threadIdx.x].factor * *entries[threadIdx.x].number;
    const char* from = names[1];
    if (threadIdx.x == 0) while ((*name++ = *from++)) {}
}

__noinline__ __device__ double area(Shape shape) {
    return shape.kind == 'c' ? 3.0 * shape.size * shape.size : shape.sides * shape.size;
}

__noinline__ __device__ Shape doubled(Shape shape) {
    shape.size *= 2;
    return shape;
}

extern "C" __global__ void areas(double* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = i % 3 ? area(shapes[i % 2]) : area(doubled(shapes[i % 2]));
}

extern "C" __global__ void by_value(Shape shape, char tag, double* out) {
    out[0] = shape.size + shape.sides;
    out[1] = shape.kind + tag;
}

__noinline__ __device__ int step_of(int state, int input) {
    switch (state) {
        case 0: return input * 3;
        case 1: return input ^ 0x55;
        case 2: return input - 7;
        case 3: return input << 2;
        case 4: return input / 3;
        case 5: return -input;
        case 6: return input % 11;
        case 7: return input | 0x100;
        default: return 0;
    }
}

extern "C" __global__ void machine(int* values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = step_of(i % 9, values[i]);
}

// An array of each thread, which an index that is not known before keeps out of registers.
extern "C" __global__ void local_array(const int* order, int* out) {
    int mine[16];
    for (int i = 0; i < 16; i++) mine[i] = i * i + threadIdx.x;
    int sum = 0;
    for (int i = 0; i < 16; i++) {
        mine[order[i]] += i;
        sum = sum * 3 + mine[order[15 - i]];
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void say(int number, double real) {
    if (threadIdx.x == 0) printf("block %d: %d and %f, %s %c\n", blockIdx.x, number, real, text, 'x');
}

extern "C" __global__ void check(const int* values, int n) {
    int i = threadIdx.x;
    if (i < n) assert(values[i] >= 0 && "no value is negative");
}

extern "C" __global__ void forever(volatile int* flag) {
    while (*flag == 0) {}
}

extern "C" __global__ void __launch_bounds__(64) bounded(int* out) { out[threadIdx.x] = blockDim.x; }
