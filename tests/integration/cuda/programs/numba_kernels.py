"""Kernels of numba-cuda as its users write them, each against numpy. The last of them stores beyond everything."""

import math

import numpy as np
from numba import cuda, float32, vectorize
from numba.cuda.cudadrv.driver import CudaAPIError

TILE = 16
random = np.random.default_rng(1)


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def total(x, out):
    part = cuda.shared.array(256, float32)
    i, lane = cuda.grid(1), cuda.threadIdx.x
    part[lane] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 128
    while half:
        if lane < half:
            part[lane] += part[lane + half]
        cuda.syncthreads()
        half //= 2
    if lane == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def warp_totals(x, out):
    i = cuda.grid(1)
    value = x[i]
    step = 16
    while step:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


@cuda.jit
def matmul(a, b, c):
    left, right = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    value = float32(0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        at = step * TILE
        left[ty, tx] = a[y, at + tx] if y < a.shape[0] and at + tx < a.shape[1] else 0
        right[ty, tx] = b[at + ty, x] if x < b.shape[1] and at + ty < b.shape[0] else 0
        cuda.syncthreads()
        for k in range(TILE):
            value += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = value


@cuda.jit
def formula(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.sin(x[i]) + math.exp(x[i]) * math.log(x[i] + 1) + x[i] ** 1.5 + math.tanh(x[i])


@cuda.jit
def histogram(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, x[i], 1)


@cuda.jit(device=True)
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@cuda.jit
def fibonaccis(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = fibonacci(i)


@cuda.jit
def greet():
    print("thread", cuda.threadIdx.x)


@vectorize(["float32(float32, float32)"], target="cuda")
def plus_twice(a, b):
    return a + b * 2


@cuda.jit
def beyond(x):
    x[cuda.grid(1) + 1_000_000_000] = 1


def fault_of(kernel, *arguments):
    try:
        kernel[1, 1](*arguments)
        cuda.synchronize()
    except CudaAPIError as fault:
        return int(fault.code)
    return 0


def main():
    x, y = random.random((2, 1000), np.float32)
    on_x, on_y = cuda.to_device(x), cuda.to_device(y)
    saxpy[4, 256](np.float32(2), on_x, on_y)
    assert np.allclose(on_y.copy_to_host(), y + 2 * x)

    many, sums = random.random(100_000, np.float32), np.zeros(1, np.float32)
    total[(many.size + 255) // 256, 256](many, sums)
    assert np.isclose(sums[0], many.sum(dtype=np.float64), rtol=1e-5)

    sums = np.zeros(8, np.float32)
    warp_totals[1, 256](many[:256].copy(), sums)
    assert np.allclose(sums, many[:256].reshape(8, 32).sum(1))

    a, b, c = random.random((100, 70), np.float32), random.random((70, 90), np.float32), np.zeros((100, 90), np.float32)
    matmul[(6, 7), (TILE, TILE)](a, b, c)
    assert np.allclose(c, a @ b, rtol=1e-4)

    reals, found = random.random(1000), np.zeros(1000)
    formula[4, 256](reals, found)
    expected = np.sin(reals) + np.exp(reals) * np.log(reals + 1) + reals**1.5 + np.tanh(reals)
    assert np.allclose(found, expected, rtol=1e-12)

    numbers, counts = random.integers(0, 10, 5000), np.zeros(10, np.int64)
    histogram[20, 256](numbers, counts)
    assert (counts == np.bincount(numbers, minlength=10)).all()

    row = np.zeros(50, np.int64)
    fibonaccis[1, 64](row)
    assert (row[10], row[49]) == (55, 7778742049)

    assert np.allclose(plus_twice(a, a), 3 * a)
    assert np.isclose(cuda.reduce(lambda a, b: a + b)(reals), reals.sum())

    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    with cuda.pinned(a):
        start.record(stream)
        again = cuda.to_device(a, stream=stream).copy_to_host(stream=stream)
        end.record(stream)
        stream.synchronize()
    assert (again == a).all()
    assert cuda.event_elapsed_time(start, end) > 0

    greet[1, 3]()
    cuda.synchronize()
    print(fault_of(beyond, on_y))


main()
