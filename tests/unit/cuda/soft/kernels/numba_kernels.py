"""Kernels in Python, which numba-cuda compiles: `make ptx` runs this to write a `.ptx` for each."""

from __future__ import annotations

import math
from pathlib import Path

from numba import cuda, float32, float64, int64

TILE = 8


def saxpy(a, x, y):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


def matmul(a, b, c):  # type: ignore[no-untyped-def]
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        left[ty, tx] = a[y, start + tx] if y < a.shape[0] and start + tx < a.shape[1] else 0
        right[ty, tx] = b[start + ty, x] if start + ty < b.shape[0] and x < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def reduce(values, total, most):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    value = values[i] if i < values.size else 0.0
    step = 16
    while step:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(total, 0, value)
    if i < values.size:
        cuda.atomic.max(most, 0, values[i])


def divide(a, b, quotients, rests):  # type: ignore[no-untyped-def]
    """Python's division of whole numbers, which rounds down."""
    i = cuda.grid(1)
    if i < a.size:
        quotients[i] = a[i] // b[i]
        rests[i] = a[i] % b[i]


def distances(points, found):  # type: ignore[no-untyped-def]
    mine = cuda.local.array(4, float64)
    i = cuda.grid(1)
    if i < points.shape[0]:
        for k in range(points.shape[1]):
            mine[k] = points[i, k] ** 2
        total = 0.0
        for k in range(points.shape[1]):
            total += mine[points.shape[1] - 1 - k]
        found[i] = math.sqrt(total) + math.sin(total)


SIGNATURES = {
    saxpy: (float32, float32[::1], float32[::1]),
    matmul: (float32[:, ::1], float32[:, ::1], float32[:, ::1]),
    reduce: (float64[::1], float64[::1], float64[::1]),
    divide: (int64[::1], int64[::1], int64[::1], int64[::1]),
    distances: (float64[:, ::1], float64[::1]),
}


if __name__ == "__main__":
    for function, signature in SIGNATURES.items():
        text, _ = cuda.compile_ptx(function, signature, cc=(8, 0))
        Path(f"numba_{function.__name__}.ptx").write_text(text)
