"""Kernels that numba-cuda made of `kernels/numba_kernels.py` (`make ptx`), against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.cuda.soft.running import Gpu, compiled

KERNELS = Path(__file__).parent / "kernels"
CHANCE = np.random.default_rng(7)


class Numba(Gpu):
    def __init__(self, name: str) -> None:
        super().__init__(compiled((KERNELS / f"numba_{name}.ptx").read_text()))
        (self.kernel,) = self.program.kernels

    def array(self, values: np.ndarray) -> list[int | np.generic]:
        """numba gives an array as two pointers of its own, size, size of an element, data, shape, and strides."""
        shape, strides = (list(map(np.int64, part)) for part in (values.shape, values.strides))
        return [0, 0, np.int64(values.size), np.int64(values.itemsize), self.give(values), *shape, *strides]

    def result(self, array: list[int | np.generic], like: np.ndarray) -> np.ndarray:
        return self.take(int(array[4]), like)


def test_saxpy() -> None:
    g = Numba("saxpy")
    x, y = CHANCE.random((2, 100), np.float32)
    out = g.array(y)
    assert g.launch(g.kernel, 1, 128, np.float32(2), *g.array(x), *out) is None
    assert np.array_equal(g.result(out, y), 2 * x + y)


def test_tiled_matmul() -> None:
    g = Numba("matmul")
    a, b = CHANCE.integers(-5, 5, (19, 30)).astype(np.float32), CHANCE.integers(-5, 5, (30, 21)).astype(np.float32)
    c = np.zeros((19, 21), np.float32)
    out = g.array(c)
    assert g.launch(g.kernel, (3, 3, 1), (8, 8, 1), *g.array(a), *g.array(b), *out, workers=2) is None
    assert np.array_equal(g.result(out, c), a @ b)


def test_shuffles_and_atomics_of_64_bits() -> None:
    g = Numba("reduce")
    values = CHANCE.integers(-100, 100, 300).astype(np.float64)
    total, most = g.array(np.zeros(1)), g.array(np.full(1, -np.inf))
    assert g.launch(g.kernel, 4, 96, *g.array(values), *total, *most, workers=2) is None
    assert g.result(total, np.zeros(1))[0] == values.sum()
    assert g.result(most, np.zeros(1))[0] == values.max()


def test_division_rounds_down() -> None:
    g = Numba("divide")
    a, b = CHANCE.integers(-(2**62), 2**62, 50), CHANCE.integers(-1000, 1000, 50) * 2 + 1
    quotients, rests = g.array(a * 0), g.array(a * 0)
    assert g.launch(g.kernel, 1, 64, *g.array(a), *g.array(b), *quotients, *rests) is None
    assert np.array_equal(g.result(quotients, a), a // b)
    assert np.array_equal(g.result(rests, a), a % b)


def test_local_arrays_and_functions_of_64_bits() -> None:
    g = Numba("distances")
    points, found = CHANCE.random((40, 3)), np.zeros(40)
    out = g.array(found)
    assert g.launch(g.kernel, 1, 64, *g.array(points), *out) is None
    total = (points[:, ::-1] ** 2).cumsum(1)[:, -1]
    assert g.result(out, found) == pytest.approx(np.sqrt(total) + np.sin(total), rel=1e-15)
