"""Loads, stores, atomic operations and special registers."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from shoal.cuda.soft.compile.compiled import Fault
from shoal.cuda.soft.compile.layout import Reason
from shoal.cuda.soft.ptx.types import TYPES
from tests.unit.cuda.soft.reference import BF16, F16, FORMATS, add
from tests.unit.cuda.soft.running import HEADER, Gpu, compiled

BEFORE = """.reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .b128 %q<2>; .reg .pred %p<4>;
ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];
mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 8; add.u64 %d1, %d1, %d2;
"""
"""%d0 is the input, and %d1 the place of 8 bytes that is the thread's in the output."""


def run(
    body: str, data: np.ndarray, threads: int = 1, top: str = "", blocks: int = 1, shared: int = 0, workers: int = 1
) -> tuple[np.ndarray, np.ndarray, Fault | None]:
    """Output (8 bytes a thread) and input as they are afterwards, and the fault."""
    text = f"{HEADER}{top}\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n{BEFORE}{body}\n}}"
    gpu = Gpu(compiled(text))
    out = np.zeros(threads, np.uint64)
    at, to = gpu.give(data), gpu.give(out)
    fault = gpu.launch("k", blocks, threads, at, to, shared=shared, workers=workers)
    return gpu.take(to, out), gpu.take(at, data), fault


@pytest.mark.parametrize("type_", [f"{kind}{size}" for kind in "bus" for size in (8, 16, 32, 64)])
@pytest.mark.parametrize("ordering", ["", ".volatile", ".relaxed.gpu", ".acquire.sys"])
def test_loads_widen_by_the_types_own_sign(type_: str, ordering: str) -> None:
    data = np.array([0x80, 0x7F, 0xFF, 0xFE, 0x80, 0x81, 0xFF, 0x92], np.uint8)
    out, _, fault = run(f"ld{ordering}.global.{type_} %d3, [%d0]; st.global.u64 [%d1], %d3;", data)
    size = TYPES[type_].bytes
    expected = int.from_bytes(data.tobytes()[:size], "little", signed=type_[0] == "s")
    assert fault is None
    assert int(out[0]) == expected % 2**64


@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_stores_write_their_own_bytes_alone(size: int) -> None:
    data = np.full(24, 0x11, np.uint8)
    _, after, fault = run(f"mov.b64 %d3, 0x8877665544332211; st.global.b{size} [%d0+8], %d3;", data)
    data[8 : 8 + size // 8] = np.frombuffer(bytes.fromhex("1122334455667788"), np.uint8)[: size // 8]
    assert fault is None
    assert np.array_equal(after, data)


@pytest.mark.parametrize(("vector", "names"), [("v2.b64", "%d4, %d5"), ("v4.b32", "%r4, %r5, %r6, %r7"), ("b128", "")])
@pytest.mark.parametrize("hint", ["", ".nc.L1::no_allocate.L2::128B", ".cg"])
def test_sixteen_bytes_at_once(vector: str, names: str, hint: str) -> None:
    data = np.arange(48, dtype=np.uint8)
    group = f"{{{names}}}" if names else "%q0"
    store_hint = ".cs" if hint == ".cg" else ""
    body = f"ld.global{hint}.{vector} {group}, [%d0+16]; st.global{store_hint}.{vector} [%d0], {group};"
    _, after, fault = run(body, data)
    assert fault is None
    assert after.tolist() == [*range(16, 32), *range(16, 48)]


def test_narrow_vectors() -> None:
    data = np.arange(8, dtype=np.uint8)
    body = "ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%d0]; st.global.v4.u8 [%d0+4], {%h3, %h2, %h1, %h0};"
    _, after, fault = run(body, data)
    assert fault is None
    assert after.tolist() == [0, 1, 2, 3, 3, 2, 1, 0]


def test_spaces_are_windows_of_the_generic_one() -> None:
    body = """
    .shared .align 8 .b8 own[16]; .local .align 8 .b8 mine[16];
    mov.u64 %d3, own; cvta.shared.u64 %d4, %d3;
    mov.u64 %d5, mine; cvta.local.u64 %d6, %d5;
    st.u64 [%d4+8], 111; st.u64 [%d6+8], 222; st.shared.u64 [own], 3; st.local.u64 [mine], 4;
    ld.shared.u64 %d7, [own+8]; ld.local.u64 %d8, [%d5+8]; ld.u64 %d9, [%d4]; ld.u64 %d10, [%d6];
    cvta.to.shared.u64 %d11, %d4; cvta.to.local.u64 %d12, %d6;
    add.u64 %d7, %d7, %d8; add.u64 %d7, %d7, %d9; add.u64 %d7, %d7, %d10;
    sub.u64 %d11, %d11, %d3; sub.u64 %d12, %d12, %d5; add.u64 %d7, %d7, %d11; add.u64 %d7, %d7, %d12;
    st.global.u64 [%d1], %d7;
    """
    out, _, fault = run(body, np.zeros(1))
    assert fault is None
    assert out[0] == 111 + 222 + 3 + 4


def test_isspacep_tells_the_spaces_apart() -> None:
    body = ".shared .b32 own; .local .b32 mine; mov.u64 %d3, own; cvta.shared.u64 %d3, %d3; mov.u64 %d4, mine;"
    body += "cvta.local.u64 %d4, %d4; mov.u64 %d5, in; cvta.param.u64 %d5, %d5; mov.u32 %r1, 0;"
    expected = 0
    for index, register in enumerate(("%d0", "%d3", "%d4", "%d5")):
        for place, space in enumerate(("global", "shared", "local", "param")):
            bit = 4 * index + place
            body += f"isspacep.{space} %p1, {register}; @%p1 or.b32 %r1, %r1, {1 << bit};"
            expected |= (index == place) << bit
    out, _, fault = run(body + "st.global.u32 [%d1], %r1;", np.zeros(1))
    assert fault is None
    assert int(out[0]) == expected


def test_parameters_by_address() -> None:
    body = "mov.u64 %d3, out; ld.param.u64 %d4, [%d3]; cvta.param.u64 %d3, %d3; ld.u64 %d5, [%d3];"
    body += "sub.u64 %d4, %d4, %d5; add.u64 %d4, %d4, 5; st.global.u64 [%d1], %d4;"
    out, _, fault = run(body, np.zeros(1))
    assert fault is None
    assert out[0] == 5


def test_a_pointers_alignment_does_not_move_the_parameter() -> None:
    text = f"{HEADER}.entry k(.param .u32 n, .param .u64 .ptr .global .align 128 p) {{ ret; }}"
    assert compiled(text).kernels["k"].parameters == ((0, 4), (8, 8))


def test_initial_values_of_variables() -> None:
    top = """.global .align 4 .b8 bytes[6] = {1, 2, 0xFF};
    .const .align 8 .f32 reals[3] = {0f3F800000, -0f40000000, 1.5};
    .global .s16 negative = -2; .global .f64 wide = 0d3FF8000000000000; .global .u32 open[] = {7, 8};"""
    gpu = Gpu(compiled(f"{HEADER}{top}\n.entry k() {{ ret; }}"))
    assert gpu.variable("bytes").tolist() == [1, 2, 255, 0, 0, 0]
    assert gpu.variable("reals").view(np.float32).tolist() == [1.0, -2.0, 1.5]
    assert gpu.variable("negative").view(np.int16)[0] == -2
    assert gpu.variable("wide").view(np.float64)[0] == 1.5
    assert gpu.variable("open").view(np.uint32).tolist() == [7, 8]


@pytest.mark.parametrize(
    ("body", "reason", "size", "misaligned"),
    [
        ("st.global.u32 [%d0+24], 0;", Reason.STORE, 4, False),
        ("ld.global.u8 %d3, [%d0+24];", Reason.LOAD, 1, False),
        ("ld.global.u8 %d3, [%d0+-1];", Reason.LOAD, 1, False),
        ("ld.global.u64 %d3, [%d0+20];", Reason.LOAD, 8, True),
        ("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0+8];", Reason.LOAD, 16, True),
        ("st.u32 [64], 0;", Reason.STORE, 4, False),
        ("ld.global.u32 %r1, [0];", Reason.LOAD, 4, False),
        ("mov.b64 %d3, -4; ld.u32 %r1, [%d3];", Reason.LOAD, 4, False),
        ("mov.b64 %d3, 0x8000000000000000; ld.global.u32 %r1, [%d3];", Reason.LOAD, 4, False),
        ("atom.global.add.u32 %r1, [%d0+24], 1;", Reason.ATOMIC, 4, False),
        ("red.global.add.u32 [%d0+2], 1;", Reason.ATOMIC, 4, True),
        (".shared .b32 own[4]; st.shared.u32 [own+16], 1;", Reason.STORE, 4, False),
        (".local .b32 mine[4]; mov.u64 %d3, mine; ld.local.u32 %r1, [%d3+64];", Reason.LOAD, 4, False),
        ("mov.u64 %d3, in; ld.param.u64 %d4, [%d3+16];", Reason.LOAD, 8, False),
        ("mov.u64 %d3, in; cvta.param.u64 %d3, %d3; st.u64 [%d3], 0;", Reason.STORE, 8, False),
        ("trap;", Reason.TRAP, 0, False),
    ],
)
def test_faults(body: str, reason: Reason, size: int, misaligned: bool) -> None:
    _, after, fault = run(body, np.full(3, 7, np.uint64))
    assert fault is not None
    assert (fault.reason, fault.size, fault.misaligned) == (reason, size, misaligned)
    assert fault.line == 9
    assert (after == 7).all()


def test_a_guarded_access_faults_only_where_it_happens() -> None:
    body = "setp.eq.u32 %p1, %r0, 5; @%p1 st.global.u32 [64], 0; st.global.u64 [%d1], 1;"
    out, _, fault = run(body, np.zeros(1), threads=8)
    assert fault is not None
    assert (fault.thread, fault.address) == ((5, 0, 0), 64)
    assert out.tolist() == [1] * 5 + [0] * 3


VALUES = [0, 1, 5, 2**31, 2**32 - 1, 2**31 - 1, 77]
INTEGER = {
    "add": lambda old, value, bits: old + value & bits,
    "and": lambda old, value, bits: old & value,
    "or": lambda old, value, bits: old | value,
    "xor": lambda old, value, bits: old ^ value,
    "exch": lambda old, value, bits: value,
    "inc": lambda old, value, bits: 0 if old >= value else old + 1,
    "dec": lambda old, value, bits: value if old == 0 or old > value else old - 1,
}


def _extreme(apply: Callable[[int, int], int], size: int, signed: bool) -> Callable[[int, int, int], int]:
    def key(value: int) -> int:
        return value - (value >> size - 1 << size) if signed else value

    return lambda old, value, bits: apply(old, value, key=key)  # type: ignore[call-arg]


def _atomics() -> list[tuple[str, str, Callable[[int, int, int], int]]]:
    found = []
    for size in (32, 64):
        for name in ("and", "or", "xor", "exch"):
            found.append((name, f"b{size}", INTEGER[name]))
        for kind in "us":
            found.append(("add", f"{kind}{size}", INTEGER["add"]))
            found.append(("min", f"{kind}{size}", _extreme(min, size, kind == "s")))
            found.append(("max", f"{kind}{size}", _extreme(max, size, kind == "s")))
    return [*found, ("inc", "u32", INTEGER["inc"]), ("dec", "u32", INTEGER["dec"])]


@pytest.mark.parametrize("space", ["", ".global", ".shared"])
def test_atomics_on_whole_numbers(space: str) -> None:
    for name, type_, apply in _atomics():
        size = TYPES[type_].bits
        register, where = f"%{'r' if size == 32 else 'd'}", "[own]" if space == ".shared" else "[%d3]"
        body = f""".shared .align 8 .b64 own;
        shl.b64 %d4, %d2, 1; add.u64 %d3, %d0, %d4; ld.global.b{size} {register}5, [%d3];
        st.shared.b{size} [own], {register}5; ld.global.b{size} {register}6, [%d3+8];
        atom.relaxed.gpu{space}.{name}.{type_} {register}7, {where}, {register}6; st.global.b{size} [%d1], {register}7;
        ld{space}.b{size} {register}8, {where}; st.global.b{size} [%d3], {register}8;"""
        values = [(a * 0x100000001 % 2**size, b * 0x100000001 % 2**size) for a in VALUES for b in VALUES]
        out, after, fault = run(body, np.array(values, np.uint64), threads=len(values))
        assert fault is None
        assert out.tolist() == [old for old, _ in values], (name, type_)
        assert after[:, 0].tolist() == [apply(old, value, 2**size - 1) for old, value in values], (name, type_)


@pytest.mark.parametrize("size", [16, 32, 64])
def test_compare_and_swap(size: int) -> None:
    register = {16: "%h", 32: "%r", 64: "%d"}[size]
    body = f"""shl.b64 %d4, %d2, 2; add.u64 %d3, %d0, %d4;
    ld.global.b{size} {register}5, [%d3+8]; ld.global.b{size} {register}6, [%d3+16];
    atom.global.cas.b{size} {register}7, [%d3], {register}5, {register}6; st.global.b{size} [%d1], {register}7;"""
    values = np.array([(5, 5, 9, 0), (5, 6, 9, 0), (2**size - 1, 2**size - 1, 0, 0)], np.uint64)
    out, after, fault = run(body, values, threads=3)
    assert fault is None
    assert out.tolist() == [5, 5, 2**size - 1]
    assert after[:, 0].tolist() == [9, 5, 0]


@pytest.mark.parametrize("type_", ["f32", "f64", "f16", "bf16", "f16x2"])
def test_atomic_sums_of_real_numbers(type_: str) -> None:
    kind = TYPES[type_]
    half = type_.removesuffix("x2")
    register = {16: "%h", 32: "%r", 64: "%d"}[kind.bits]
    body = f"""shl.b64 %d4, %d2, 1; add.u64 %d3, %d0, %d4; ld.global.b{kind.bits} {register}6, [%d3+8];
    atom.global.add{".noftz" * (kind.bits == 16 or kind.lanes == 2)}.{type_} {register}7, [%d3], {register}6;
    st.global.b{kind.bits} [%d1], {register}7;"""
    chance = np.random.default_rng(3)
    values = chance.integers(0, 2**63, (50, 2)).astype(np.uint64) % np.uint64(2**kind.bits - 1)
    values[:, 1] = values[:, 0] ^ values[:, 1] % np.uint64(64)  # numbers that are near one another
    out, after, fault = run(body, values, threads=50)
    assert fault is None
    assert np.array_equal(out, values[:, 0])
    shape = FORMATS[half]
    for (old, value), found in zip(values.tolist(), after[:, 0].tolist(), strict=True):
        for at in range(0, kind.bits, shape.bits):
            one, other, sum_ = (part >> at & (1 << shape.bits) - 1 for part in (old, value, found))
            expected = shape.round(add(shape.value(one), shape.value(other)))
            assert sum_ == expected or (expected == "NaN" and sum_ & shape.sign - 1 > shape.infinity)


@pytest.mark.parametrize(("type_", "shape"), [("f16", F16), ("bf16", BF16)])
def test_no_addition_of_half_is_lost_among_blocks(type_: str, shape: object) -> None:
    one = {"f16": 0x3C00, "bf16": 0x3F80}[type_]
    body = f"mov.b16 %h1, {one:#x}; red.global.add.noftz.{type_} [%d0+2], %h1;"
    _, after, fault = run(body, np.zeros(4, np.uint16), threads=32, blocks=4, workers=2)
    assert fault is None
    assert after.tolist() == [0, {"f16": 0x5800, "bf16": 0x4300}[type_], 0, 0]  # 128


def test_asynchronous_copies_have_happened_when_they_are_waited_for() -> None:
    body = """.shared .align 16 .b8 own[32]; mov.u32 %r1, own;
    cp.async.ca.shared.global [own], [%d0], 16; cp.async.ca.shared.global [%r1+16], [%d0+16], 8;
    cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;
    ld.shared.u64 %d3, [own+16]; st.global.u64 [%d1], %d3;"""
    out, _, fault = run(body, np.array([1, 2, 3, 4], np.uint64))
    assert fault is None
    assert out[0] == 3


def test_special_registers_of_a_thread() -> None:
    names = [
        "laneid",
        "warpid",
        "nwarpid",
        "smid",
        "nsmid",
        *(f"lanemask_{how}" for how in ("eq", "lt", "le", "gt", "ge")),
    ]
    names += ["total_smem_size", "dynamic_smem_size"]
    for name in names:
        body = f".shared .b32 own[4]; mov.u32 %r1, %{name}; st.global.u32 [%d1], %r1; st.shared.u32 [own], %r1;"
        out, _, fault = run(body, np.zeros(1), threads=70, shared=48)
        assert fault is None
        for thread, found in enumerate(out.tolist()):
            lane = thread % 32
            expected = {
                "laneid": lane,
                "warpid": thread // 32,
                "nwarpid": 3,
                "lanemask_eq": 1 << lane,
                "lanemask_lt": (1 << lane) - 1,
                "lanemask_le": (2 << lane) - 1,
                "lanemask_gt": 2**32 - (2 << lane),
                "lanemask_ge": 2**32 - (1 << lane),
                "smid": 0,
                "nsmid": 3,
                "total_smem_size": 64,
                "dynamic_smem_size": 48,
            }[name]
            assert found == expected % 2**32, (name, thread)


def test_clocks_go_on() -> None:
    body = "mov.u64 %d3, %clock64; mov.u64 %d4, %globaltimer; mov.u64 %d5, %clock64; sub.u64 %d5, %d5, %d3;"
    out, after, fault = run(body + "st.global.u64 [%d1], %d4; st.global.u64 [%d0], %d5;", np.zeros(1, np.uint64))
    assert fault is None
    assert abs(int(out[0]) / 1e9 - time.time()) < 60
    assert 0 < int(after[0]) < 10**9
