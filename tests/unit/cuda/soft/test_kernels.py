"""Kernels that nvcc made of the `.cu` files beside their `.ptx` (`make ptx`), against numpy."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from shoal.cuda.soft.compile.compiled import Program
from shoal.cuda.soft.compile.control import ASSERT, PRINT
from shoal.cuda.soft.compile.layout import Reason
from tests.unit.cuda.soft.reference import BF16, F64, add
from tests.unit.cuda.soft.running import HEADER, Gpu, compiled, string_at

KERNELS = Path(__file__).parent / "kernels"


@cache
def program(name: str) -> Program:
    return compiled((KERNELS / f"{name}.ptx").read_text())


def gpu(name: str, memory: int = 1 << 20) -> Gpu:
    return Gpu(program(name), memory)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1)


def test_saxpy(random: np.random.Generator) -> None:
    g = gpu("saxpy")
    x, y = random.random((2, 1000), np.float32)
    at_x, at_y = g.give(x), g.give(y)
    assert g.launch("saxpy", 8, 128, np.float32(2), at_x, at_y, np.int32(1000), workers=2) is None
    assert np.array_equal(g.take(at_y, y), 2 * x + y)


def test_a_grid_of_three_dimensions_covers_every_thread_once() -> None:
    g = Gpu(
        compiled(
            """.version 8.0
            .target sm_75
            .address_size 64
            .visible .entry count(.param .u64 out) {
              .reg .b32 %r<20>; .reg .b64 %d<4>;
              mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
              mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;
              mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;
              mov.u32 %r7, %tid.x; mov.u32 %r8, %tid.y; mov.u32 %r9, %tid.z;
              mov.u32 %r10, %ntid.x; mov.u32 %r11, %ntid.y; mov.u32 %r12, %ntid.z;
              mul.lo.u32 %r13, %r10, %r11; mul.lo.u32 %r13, %r13, %r12;
              mad.lo.u32 %r14, %r9, %r11, %r8; mad.lo.u32 %r14, %r14, %r10, %r7;
              mad.lo.u32 %r15, %r6, %r13, %r14;
              ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r15, 4; add.u64 %d1, %d1, %d2;
              red.global.add.u32 [%d1], 1;
              ret;
            }"""
        )
    )
    counts = np.zeros(4 * 3 * 2 * 5 * 6 * 7, np.uint32)
    at = g.give(counts)
    assert g.launch("count", (4, 3, 2), (5, 6, 7), at, workers=2) is None
    assert (g.take(at, counts) == 1).all()


def test_tiled_matmul(random: np.random.Generator) -> None:
    g = gpu("matmul")
    a, b = random.integers(-5, 5, (37, 50)).astype(np.float32), random.integers(-5, 5, (50, 41)).astype(np.float32)
    c = np.zeros((37, 41), np.float32)
    at_a, at_b, at_c = g.give(a), g.give(b), g.give(c)
    sizes = [np.int32(size) for size in (37, 50, 41)]
    assert g.launch("matmul", (3, 3, 1), (16, 16, 1), at_a, at_b, at_c, *sizes, workers=2) is None
    assert np.array_equal(g.take(at_c, c), a @ b)


def test_sum_by_shuffles(random: np.random.Generator) -> None:
    g = gpu("reduce")
    values = random.integers(0, 100, 5000).astype(np.float32)
    total = np.zeros(1, np.float32)
    at, at_total = g.give(values), g.give(total)
    assert g.launch("sum_by_shuffles", 4, 256, at, at_total, np.int32(5000), workers=2) is None
    assert g.take(at_total, total)[0] == values.sum()


def test_sum_by_atomics(random: np.random.Generator) -> None:
    g = gpu("reduce")
    values = random.integers(-(2**31), 2**31, 3000).astype(np.int32)
    total, least, most = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int32)
    at, results = g.give(values), [g.give(part) for part in (total, least, most)]
    assert g.launch("sum_by_atomics", 12, 256, at, *results, np.int32(3000), workers=2) is None
    assert g.take(results[0], total)[0] == values.sum(dtype=np.int64)
    assert g.take(results[1], least)[0] == values.min()
    assert g.take(results[2], most)[0] == values.max()


def test_votes_and_matches(random: np.random.Generator) -> None:
    g = gpu("reduce")
    values = random.integers(0, 8, 90).astype(np.int32)
    ballots, alike = np.zeros(90, np.uint32), np.zeros(90, np.int32)
    at, at_ballots, at_alike = g.give(values), g.give(ballots), g.give(alike)
    assert g.launch("votes", 1, 96, at, at_ballots, at_alike, np.int32(90)) is None
    padded = np.concatenate([values, -np.ones(6, np.int32)]).reshape(3, 32)
    for row, warp in enumerate(padded):
        ballot = sum(1 << lane for lane, value in enumerate(warp) if value > 3)
        for lane, value in enumerate(warp):
            if (i := 32 * row + lane) < 90:
                expected = (warp == value).sum() + 100 * (warp >= 0).all() + 1000 * (warp == 7).any()
                expected += 10000 * (warp[warp >= 0] & 1).sum() if value & 1 else 0
                assert g.take(at_ballots, ballots)[i] == ballot
                assert g.take(at_alike, alike)[i] == expected


def test_a_lock_among_the_threads_of_a_warp_and_of_several_blocks() -> None:
    g = gpu("reduce")
    lock, counter = (g.give(np.zeros(1, np.int32)) for _ in range(2))
    assert g.launch("count_under_lock", 6, 64, lock, counter, workers=2) is None
    assert g.take(counter, np.zeros(1, np.int32))[0] == 6 * 64


def test_the_last_block_adds_what_all_have_found(random: np.random.Generator) -> None:
    g = gpu("reduce")
    values = random.integers(0, 100, 1000).astype(np.float32)
    at, parts = g.give(values), g.give(np.zeros(8, np.float32))
    tickets, total = g.give(np.zeros(1, np.uint32)), g.give(np.zeros(1, np.float32))
    for _ in range(2):  # the ticket counter is at 0 again after each
        fault = g.launch("last_block", 8, 128, at, parts, tickets, total, np.int32(1000), shared=512, workers=2)
        assert fault is None
        assert g.take(total, np.zeros(1, np.float32))[0] == values.sum()
        assert g.take(tickets, np.zeros(1, np.uint32))[0] == 0


def test_scan_in_dynamic_shared_memory(random: np.random.Generator) -> None:
    g = gpu("scan")
    values = random.integers(-100, 100, 300).astype(np.int32)
    at, out = g.give(values), g.give(values)
    assert g.launch("scan", 1, 512, at, out, np.int32(300), shared=4096) is None
    assert np.array_equal(g.take(out, values), np.cumsum(values))


def test_too_little_dynamic_shared_memory_is_a_fault() -> None:
    g = gpu("scan")
    at = g.give(np.zeros(300, np.int32))
    fault = g.launch("scan", 1, 512, at, at, np.int32(300), shared=1024)
    assert fault is not None
    assert (fault.reason, fault.address, fault.thread) == (Reason.STORE, 1024, (256, 0, 0))
    assert not fault.misaligned


def test_histogram(random: np.random.Generator) -> None:
    g = gpu("histogram")
    data = random.integers(0, 256, 10_000).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    at, at_bins = g.give(data), g.give(bins)
    assert g.launch("histogram", 5, 96, at, at_bins, np.int32(len(data)), workers=2) is None
    assert np.array_equal(g.take(at_bins, bins), np.bincount(data, minlength=256))


def test_bitonic_sort(random: np.random.Generator) -> None:
    g = gpu("sort")
    keys = random.integers(-1000, 1000, 512).astype(np.int32)
    at = g.give(keys)
    assert g.launch("sort", 1, 512, at, np.int32(512), shared=2048) is None
    assert np.array_equal(g.take(at, keys), np.sort(keys))


def test_stencil_with_a_halo(random: np.random.Generator) -> None:
    g = gpu("stencil")
    grid = random.random((40, 35))
    at, out = g.give(grid), g.give(grid)
    assert g.launch("heat", (3, 3, 1), (16, 16, 1), at, out, np.int32(35), np.int32(40), workers=2) is None
    edge = np.pad(grid, 1, mode="edge")
    expected = 0.5 * grid + 0.125 * (edge[1:-1, :-2] + edge[1:-1, 2:] + edge[:-2, 1:-1] + edge[2:, 1:-1])
    assert np.allclose(g.take(out, grid), expected, rtol=1e-15, atol=0)


def test_nbody(random: np.random.Generator) -> None:
    g = gpu("nbody")
    bodies = random.random((100, 4), np.float32)
    found = np.zeros((100, 3), np.float32)
    at, out = g.give(bodies), g.give(found)
    assert g.launch("accelerations", 2, 64, at, out, np.int32(100), workers=2) is None
    apart = bodies[None, :, :3].astype(float) - bodies[:, None, :3]
    factor = bodies[:, 3] / ((apart**2).sum(-1) + 0.01) ** 1.5
    assert np.allclose(g.take(out, found), (factor[:, :, None] * apart).sum(1), rtol=1e-4, atol=1e-4)


def test_mandelbrot() -> None:
    g = gpu("mandelbrot")
    steps = np.zeros((48, 64), np.uint16)
    at = g.give(steps)
    where = [np.float64(value) for value in (-2.0, -1.2, 0.05)]
    assert g.launch("mandelbrot", (4, 6, 1), (16, 8, 1), at, np.int32(64), np.int32(48), *where, workers=2) is None
    expected = np.zeros((48, 64), np.uint16)
    for y in range(48):
        for x in range(64):
            c, r, i, n = (-2.0 + x * 0.05, -1.2 + y * 0.05), 0.0, 0.0, 0
            while n < 200 and r * r + i * i <= 4:
                r, i, n = (r * r - i * i) + c[0], (2 * r) * i + c[1], n + 1
            expected[y, x] = n
    # nvcc may fuse `left + x * step`; a point on the edge of the set then takes another number of steps.
    assert (g.take(at, steps) == expected).mean() > 0.99


def test_constant_memory() -> None:
    g = gpu("program")
    values = np.arange(10, dtype=np.float32)
    at, out = g.give(values), g.give(values)
    assert g.launch("weighted", 1, 32, at, out, np.int32(10)) is None
    assert np.array_equal(g.take(out, values), values * np.array([0.5, 1.5, -2, 8], np.float32)[np.arange(10) % 4])


def test_a_variable_that_starts_with_the_address_of_another() -> None:
    g = gpu("program")
    assert g.launch("count_up", 3, 32) is None
    assert g.variable("counter").view(np.int32)[0] == 41 + 96


def test_variables_that_hold_addresses_within_others() -> None:
    g = gpu("program")
    out, name = g.give(np.zeros(2, np.int32)), g.give(np.zeros(8, np.uint8))
    assert g.launch("pointers", 1, 2, out, name) is None
    assert g.take(out, np.zeros(2, np.int32)).tolist() == [2 * 20, 3 * 4000]
    assert g.take(name, np.zeros(8, np.uint8)).tobytes() == b"shoal\0\0\0"


def test_functions_take_and_give_structures() -> None:
    g = gpu("program")
    out = np.zeros(8)
    at = g.give(out)
    assert g.launch("areas", 1, 32, at, np.int32(8)) is None
    shapes = [("c", 0, 2.0), ("s", 4, 3.0)]

    def area(kind: str, sides: int, size: float) -> float:
        return 3 * size * size if kind == "c" else sides * size

    expected = []
    for i in range(8):
        kind, sides, size = shapes[i % 2]
        expected.append(area(kind, sides, size if i % 3 else 2 * size))
    assert g.take(at, out).tolist() == expected


def test_a_structure_as_parameter() -> None:
    g = gpu("program")
    assert g.program.kernels["by_value"].parameters == ((0, 16), (16, 1), (24, 8))
    shape = np.zeros(1, np.dtype([("kind", "S1"), ("sides", np.int16), ("size", float)], align=True))
    shape[0] = (b"c", 4, 2.5)
    out = np.zeros(2)
    at = g.give(out)
    assert g.launch("by_value", 1, 1, shape[0], np.int8(7), at) is None
    assert g.take(at, out).tolist() == [6.5, ord("c") + 7]


def test_a_switch(random: np.random.Generator) -> None:
    g = gpu("program")
    values = random.integers(-1000, 1000, 200).astype(np.int32)
    at = g.give(values)
    assert g.launch("machine", 2, 128, at, np.int32(200)) is None

    def step(state: int, value: int) -> int:
        return [value * 3, value ^ 0x55, value - 7, value << 2, int(value / 3), -value, int(math.fmod(value, 11))][
            state
        ]

    expected = [
        step(i % 9, int(v)) if i % 9 < 7 else (int(v) | 0x100 if i % 9 == 7 else 0) for i, v in enumerate(values)
    ]
    assert g.take(at, values).tolist() == expected


def test_an_array_of_each_thread(random: np.random.Generator) -> None:
    g = gpu("program")
    order = random.permutation(16).astype(np.int32)
    out = np.zeros(40, np.int32)
    at, at_out = g.give(order), g.give(out)
    assert g.launch("local_array", 1, 40, at, at_out) is None
    for thread in range(40):
        mine, total = [i * i + thread for i in range(16)], 0
        for i in range(16):
            mine[order[i]] += i
            total = total * 3 + mine[order[15 - i]]
        assert g.take(at_out, out)[thread] == np.int64(total).astype(np.int32)


def test_an_array_is_not_left_by_a_wrong_index() -> None:
    g = gpu("program")
    order = np.arange(16, dtype=np.int32)
    order[5] = 1 << 20
    at = g.give(order)
    fault = g.launch("local_array", 1, 1, at, g.give(np.zeros(1, np.int32)))
    assert fault is not None
    assert fault.reason in (Reason.LOAD, Reason.STORE)


def test_printf_gives_the_host_format_and_arguments() -> None:
    g = gpu("program")
    assert g.launch("say", 1, 32, np.int32(-5), np.float64(2.5)) is None
    ((what, (form, arguments, *_)),) = g.asked
    assert what == PRINT
    assert string_at(form) == "block %d: %d and %f, %s %c\n"
    del arguments  # they lie in the memory of a thread that has ended


def test_an_assertion_ends_the_launch() -> None:
    g = gpu("program")
    at = g.give(np.array([3, 2, -1, 5], np.int32))
    fault = g.launch("check", 1, 32, at, np.int32(4))
    assert fault is not None
    assert (fault.reason, fault.thread) == (Reason.ASSERT, (2, 0, 0))
    ((what, (message, file, line, function, width)),) = g.asked
    assert what == ASSERT
    assert string_at(message) == 'values[i] >= 0 && "no value is negative"'
    assert string_at(file).endswith("program.cu")
    assert "check" in string_at(function)
    assert (line > 50, width) == (True, 1)


def test_an_endless_kernel_is_ended_from_outside() -> None:
    g = gpu("program")
    flag = g.give(np.zeros(1, np.int32))
    fault = g.launch("forever", 4, 64, flag, workers=2, stop_after=0.05)
    assert fault is not None
    assert fault.reason is Reason.STOPPED


@pytest.mark.parametrize("wait", ["bar.sync 0;", "bar.warp.sync -1;", "shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;"])
def test_an_endless_kernel_whose_threads_wait_for_one_another_is_ended(wait: str) -> None:
    text = f"""{HEADER}.visible .entry forever() {{
      .reg .b32 %r<2>;
      mov.b32 %r1, 0;
    AGAIN:
      {wait}
      bra AGAIN;
    }}"""
    fault = Gpu(compiled(text)).launch("forever", 4, 64, workers=2, stop_after=0.05)
    assert fault is not None
    assert fault.reason is Reason.STOPPED


def test_threads_that_wait_for_nobody_are_a_fault() -> None:
    text = f"""{HEADER}.visible .entry alone() {{
      .reg .b32 %r<2>; .reg .pred %p;
      mov.u32 %r1, %tid.x;
      setp.eq.u32 %p, %r1, 3;
      @%p bar.sync 1, 64;
    }}"""
    fault = Gpu(compiled(text)).launch("alone", 1, 32)
    assert fault is not None
    assert (fault.reason, fault.thread) == (Reason.DEADLOCK, (3, 0, 0))


def test_launch_bounds() -> None:
    assert gpu("program").program.kernels["bounded"].max_threads == 64


def test_a_template_over_types(random: np.random.Generator) -> None:
    g = gpu("half")
    x, y = random.random((2, 100))
    for name, kind in (("axpy_half", np.float16), ("axpy_double", np.float64)):
        first, second = x.astype(kind), y.astype(kind)
        at_x, at_y = g.give(first), g.give(second)
        assert g.launch(name, 1, 128, np.float32(1.5), at_x, at_y, np.int32(100)) is None
        fused = kind is np.float64  # nvcc's choice
        expected = [
            _fused(1.5, float(a), float(b)) if fused else kind(1.5) * a + b for a, b in zip(first, second, strict=True)
        ]
        assert g.take(at_y, second).tolist() == [float(value) for value in expected]


def _fused(a: float, b: float, c: float) -> float:
    pattern = F64.round(add(Fraction(a) * Fraction(b), Fraction(c)))
    return float(np.array(pattern, np.uint64).view(np.float64))


def test_bfloat(random: np.random.Generator) -> None:
    g = gpu("half")
    x, y = ((random.random(100, np.float32).view(np.uint32) >> 16).astype(np.uint16) for _ in range(2))
    at_x, at_y = g.give(x), g.give(y)
    assert g.launch("axpy_bfloat", 1, 128, np.float32(1.5), at_x, at_y, np.int32(100)) is None
    expected = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        product = BF16.round(Fraction(3, 2) * Fraction(BF16.value(a)))
        expected.append(BF16.round(add(BF16.value(int(product)), BF16.value(b))))
    assert g.take(at_y, y).tolist() == expected


def test_pairs_of_half(random: np.random.Generator) -> None:
    g = gpu("half")
    x = random.random((50, 2)).astype(np.float16)
    at, out = g.give(x), g.give(x)
    assert g.launch("pairs", 1, 64, at, out, np.int32(50)) is None
    assert np.array_equal(g.take(out, x), (x.astype(np.float64) ** 2 + 0.25).astype(np.float16))


def test_float_to_half() -> None:
    g = gpu("half")
    values = np.array([0.0, -0.0, 1.0, 65504.0, 65519.99, 65520.0, 1e-8, 6e-8, 1e9, -np.inf, 0.1], np.float32)
    out = np.zeros(len(values), np.float16)
    at, at_out = g.give(values), g.give(out)
    assert g.launch("to_half", 1, 32, at, at_out, np.int32(len(values))) is None
    with np.errstate(over="ignore"):
        assert np.array_equal(g.take(at_out, out).view(np.uint16), values.astype(np.float16).view(np.uint16))


def test_functions_of_32_bits(random: np.random.Generator) -> None:
    g = gpu("math")
    values = np.concatenate([random.uniform(-20, 20, 60), [0.0, 1.0, -1.0, 1e-30, 1e4, 123456.78]]).astype(np.float32)
    values = values[values != 0]
    out = np.zeros((len(values), 16), np.float32)
    at, at_out = g.give(values), g.give(out)
    assert g.launch("functions", 1, 96, at, at_out, np.int32(len(values)), workers=2) is None
    found = g.take(at_out, out)
    for x, row in zip(values.astype(float), found, strict=True):
        x32 = np.float32(x)
        expected = [
            math.sin(x),
            math.cos(x),
            math.exp(x) if x < 88 else math.inf,
            math.log(abs(x)),
            math.sqrt(abs(x)),
            math.tanh(x),
            abs(x) ** 1.5,
            math.atan2(x, 2),
            math.erf(x),
            float(np.fmod(x32, np.float32(0.7))),
            float(np.rint(x32)),
            None if abs(x) > math.pi else math.sin(x),
            math.exp(x) if x < 88 else math.inf,
            x / 3,
            float(np.cbrt(x)),
            float(np.floor(x32) + np.trunc(x32) + np.trunc(x32 + np.copysign(np.float32(0.5), x32))),
        ]
        for index, (value, want) in enumerate(zip(row, expected, strict=True)):
            if want is not None and abs(want) < 3e38:
                loose = 2e-5 if index in (11, 12, 13) else 1e-6
                assert value == pytest.approx(want, rel=loose, abs=1e-37 if index != 11 else 1e-6), (x, index)


def test_functions_of_64_bits(random: np.random.Generator) -> None:
    g = gpu("math")
    values = np.concatenate([random.uniform(-20, 20, 60), [1.0, -1.0, 1e-300, 1e4, 123456.78, 700.0]])
    out = np.zeros((len(values), 8))
    at, at_out = g.give(values), g.give(out)
    assert g.launch("functions_double", 3, 32, at, at_out, np.int32(len(values)), workers=2) is None
    with np.errstate(over="ignore"):
        expected = np.stack(
            [
                np.sin(values),
                np.exp(values),
                np.log(np.abs(values)),
                np.sqrt(np.abs(values)),
                np.tanh(values),
                np.abs(values) ** 1.5,
                values / 3,
                np.fmod(values, 0.7),
            ],
            1,
        )
    assert np.allclose(g.take(at_out, out), expected, rtol=4e-16, atol=0)


def test_integer_intrinsics(random: np.random.Generator) -> None:
    g = gpu("math")
    values = np.concatenate([random.integers(0, 2**32, 60), [0, 1, 2**31, 2**32 - 1]]).astype(np.uint32)
    n = len(values)
    out = np.zeros((n, 8), np.uint64)
    at, at_out = g.give(values), g.give(out)
    assert g.launch("integers", 2, 32, at, at_out, np.int32(n)) is None
    found = g.take(at_out, out)
    mask = (1 << 32) - 1
    for i in range(n):
        x, y = int(values[i]), int(values[(i + 1) % n])
        low = (x & -x).bit_length()
        bytes_ = x.to_bytes(4, "little") + y.to_bytes(4, "little")
        dot = i + sum(_signed(x >> shift) * _signed(y >> shift) for shift in (0, 8, 16, 24))
        wide = (x << 17 | y) & (1 << 64) - 1, (y << 29 | x) & (1 << 64) - 1
        assert found[i].tolist() == [
            x.bit_count() + 100 * (32 - x.bit_length()) + 10000 * low,
            int(f"{x:032b}"[::-1], 2),
            int.from_bytes(bytes([bytes_[0], bytes_[6], bytes_[1], bytes_[5]]), "little"),
            x * y >> 32,
            dot & mask,
            wide[0] * wide[1] >> 64,
            ((y << 32 | x) << (i & 31) >> 32) & mask,
            (x // (y | 1) + x % (y | 1)) & mask,
        ]


def _signed(byte: int) -> int:
    return (byte & 0xFF ^ 0x80) - 0x80
