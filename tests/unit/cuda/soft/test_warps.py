"""Threads that wait for one another: in a warp, and at the barriers of a block."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np
import pytest

from shoal.cuda.soft.compile.layout import Reason
from tests.unit.cuda.soft.test_access import run

CHANCE = np.random.default_rng(5)
VALUES = CHANCE.integers(0, 2**32, 64).astype(np.uint64)
OWN = "add.u64 %d3, %d0, %d2; ld.global.u32 %r1, [%d3]; ld.global.u64 %d4, [%d3];\n"
"""The thread's own value, in %r1 and %d4."""


def of_32(body: str, threads: int = 32, values: np.ndarray = VALUES) -> list[int]:
    out, _, fault = run(OWN + body, values, threads=threads)
    assert fault is None, fault
    return [int(value) for value in out]


def source(mode: str, lane: int, by: int, control: int) -> tuple[int, bool]:
    """As the PTX ISA's pseudo-code of shfl has it."""
    by, clamp, segment = by & 31, control & 31, control >> 8 & 31
    last = lane & segment | clamp & ~segment
    other, inside = {
        "up": (lane - by, lane - by >= last),
        "down": (lane + by, lane + by <= last),
        "bfly": (lane ^ by, lane ^ by <= last),
        "idx": (lane & segment | by & ~segment, lane & segment | by & ~segment <= last),
    }[mode]
    if mode in ("bfly", "idx"):
        inside = other <= last
    return (other if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode: str) -> None:
    for by, control in (
        (1, 0),
        (1, 31),
        (5, 31),
        (3, 0x1C03),
        (2, 0x1800 if mode == "up" else 0x1807),
        (16, 31),
        (9, 15),
    ):
        found = of_32(
            f"shfl.sync.{mode}.b32 %r2|%p1, %r1, {by}, {control}, -1; selp.u32 %r3, 1, 0, %p1;"
            "mov.b64 %d5, {%r2, %r3}; st.global.u64 [%d1], %d5;"
        )
        for lane, value in enumerate(found):
            other, inside = source(mode, lane, by, control)
            assert value == int(VALUES[other]) | inside << 32, (mode, by, control, lane)


def test_a_shuffle_by_an_amount_of_each_lanes_own() -> None:
    found = of_32("and.b32 %r2, %r1, 31; shfl.sync.idx.b32 %r3, %r1, %r2, 31, -1; st.global.u32 [%d1], %r3;")
    assert found == [int(VALUES[int(value) & 31]) for value in VALUES[:32]]


def test_lanes_of_one_mask_in_two_branches_do_not_wait_for_others() -> None:
    body = """and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;
    shfl.sync.bfly.b32 %r3, %r1, 2, 31, 0xAAAAAAAA; bra DONE;
    EVEN: shfl.sync.bfly.b32 %r3, %r1, 4, 31, 0x55555555;
    DONE: st.global.u32 [%d1], %r3;"""
    assert of_32(body) == [int(VALUES[lane ^ (2 if lane & 1 else 4)]) for lane in range(32)]


def test_a_loop_that_lanes_leave_one_by_one() -> None:
    body = """mov.u32 %r2, 0; mov.u32 %r4, 0;
    AGAIN: activemask.b32 %r3; popc.b32 %r3, %r3; add.u32 %r4, %r4, %r3; add.u32 %r2, %r2, 1;
    setp.le.u32 %p1, %r2, %r0; @%p1 bra AGAIN;
    st.global.u32 [%d1], %r4;"""
    assert of_32(body) == [sum(32 - turn for turn in range(lane + 1)) for lane in range(32)]


@pytest.mark.parametrize("threads", [32, 20])
def test_votes(threads: int) -> None:
    values = VALUES[:threads]
    mask = f"{(1 << threads) - 1:#x}"
    bits = [int(value) & 1 for value in values]
    ballot = sum(bit << lane for lane, bit in enumerate(bits))
    start = "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1;"
    assert (
        of_32(f"{start} vote.sync.ballot.b32 %r3, %p1, {mask}; st.global.u32 [%d1], %r3;", threads)
        == [ballot] * threads
    )
    for mode, given, expected in (
        ("all", "%p1", all(bits)),
        ("any", "%p1", any(bits)),
        ("uni", "%p1", len(set(bits)) == 1),
        ("all", "%p2", True),
        ("any", "!%p2", False),
        ("uni", "!%p2", True),
    ):
        body = f"{start} setp.ge.u32 %p2, %r0, 0; vote.sync.{mode}.pred %p3, {given}, {mask}; selp.u32 %r3, 1, 0, %p3;"
        assert of_32(f"{body} st.global.u32 [%d1], %r3;", threads) == [int(expected)] * threads, (mode, given)


def test_lanes_that_have_ended_are_not_waited_for() -> None:
    body = "setp.ge.u32 %p1, %r0, 10; @%p1 exit; vote.sync.ballot.b32 %r3, 1, -1; st.global.u32 [%d1], %r3;"
    out, _, fault = run(body, VALUES, threads=32)
    assert fault is None
    assert out.tolist() == [1023] * 10 + [0] * 22


@pytest.mark.parametrize("size", [32, 64])
def test_matches(size: int) -> None:
    values = CHANCE.integers(0, 5, 32).astype(np.uint64) << np.uint64(size - 32)
    register = "%r1" if size == 32 else "%d4"
    found = of_32(f"match.any.sync.b{size} %r3, {register}, -1; st.global.u32 [%d1], %r3;", values=values)
    assert found == [sum(1 << lane for lane in range(32) if values[lane] == value) for value in values]
    everywhere = (
        f"match.all.sync.b{size} %r3|%p1, {register}, -1; selp.u32 %r4, 1, 0, %p1; add.u32 %r4, %r4, %r3; "
        "st.global.u32 [%d1], %r4;"
    )
    assert of_32(everywhere, values=values) == [0] * 32
    assert of_32(everywhere.replace(" add.u32 %r4, %r4, %r3;", ""), values=values * 0 + 7) == [1] * 32
    assert of_32(everywhere.replace("%r4, %r4, %r3", "%r4, %r3, 0"), values=values * 0 + 7) == [2**32 - 1] * 32


@pytest.mark.parametrize(
    ("name", "apply"),
    [
        ("add.u32", operator.add),
        ("add.s32", operator.add),
        ("min.u32", min),
        ("max.u32", max),
        ("min.s32", lambda a, b: min(a, b, key=lambda value: value ^ 2**31)),
        ("max.s32", lambda a, b: max(a, b, key=lambda value: value ^ 2**31)),
        ("and.b32", operator.and_),
        ("or.b32", operator.or_),
        ("xor.b32", operator.xor),
    ],
)
def test_reductions(name: str, apply: Callable[[int, int], int]) -> None:
    for mask in (0xFFFFFFFF, 0x0F0F00F0):
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        expected = functools.reduce(apply, (int(VALUES[lane]) for lane in lanes)) % 2**32
        body = f"shr.u32 %r2, {mask:#x}, %r0; and.b32 %r2, %r2, 1; setp.eq.u32 %p1, %r2, 1;"
        found = of_32(f"{body} @%p1 redux.sync.{name} %r3, %r1, {mask:#x}; @%p1 st.global.u32 [%d1], %r3;")
        assert found == [expected if lane in lanes else 0 for lane in range(32)]


def test_one_lane_is_elected() -> None:
    body = (
        "setp.lt.u32 %p1, %r0, 3; @%p1 exit; elect.sync %r3|%p2, -8; selp.u32 %r4, 100, 0, %p2; add.u32 %r3, %r3, %r4;"
    )
    assert of_32(body + "st.global.u32 [%d1], %r3;") == [0] * 3 + [103] + [3] * 28


def test_registers_of_all_sizes_live_over_a_barrier() -> None:
    body = """mov.b16 %h1, 0x1234; mov.b64 %d5, 0x123456789abcdef0; setp.eq.u32 %p1, %r0, 7; mov.b128 %q1, {%d5, %d4};
    bar.sync 0;
    mov.b128 {%d7, %d8}, %q1; sub.u64 %d7, %d7, %d5; sub.u64 %d8, %d8, %d4; cvt.u64.u16 %d6, %h1;
    add.u64 %d6, %d6, %d7; add.u64 %d6, %d6, %d8; @%p1 add.u64 %d6, %d6, 1; st.global.u64 [%d1], %d6;"""
    assert of_32(body, threads=64) == [0x1234 + (thread == 7) for thread in range(64)]


def test_barriers_that_reduce() -> None:
    start = "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1;"
    bits = [int(value) & 1 for value in VALUES]
    count = "bar.red.popc.u32 %r3, 0, %p1; st.global.u32 [%d1], %r3;"
    assert of_32(f"{start} {count}", threads=64) == [sum(bits)] * 64
    for how, given, expected in (("and", "%p1", 0), ("or", "%p1", 1), ("and", "%p2", 1), ("or", "!%p2", 0)):
        body = f"{start} setp.ge.u32 %p2, %r0, 0; barrier.red.{how}.pred %p3, 1, {given}; selp.u32 %r3, 1, 0, %p3;"
        assert of_32(f"{body} st.global.u32 [%d1], %r3;", threads=64) == [expected] * 64


def test_a_producer_arrives_and_does_not_wait() -> None:
    body = """.shared .b32 slot; setp.ge.u32 %p1, %r0, 32; @%p1 bra PRODUCE;
    bar.sync 3, 64; ld.shared.u32 %r3, [slot]; st.global.u32 [%d1], %r3; exit;
    PRODUCE: st.shared.u32 [slot], 77; bar.arrive 3, 64; mov.u32 %r3, 5; st.global.u32 [%d1], %r3;"""
    assert of_32(body, threads=64) == [77] * 32 + [5] * 32


def test_arrivals_count_for_one_phase_alone() -> None:
    body = """.shared .b32 slot; setp.ge.u32 %p1, %r0, 32; @%p1 bra PRODUCE;
    bar.sync 3, 64; ld.shared.u32 %r3, [slot]; bar.sync 3, 64; ld.shared.u32 %r4, [slot]; mad.lo.u32 %r3, %r4, 100, %r3;
    st.global.u32 [%d1], %r3; exit;
    PRODUCE: st.shared.u32 [slot], 7; bar.arrive 3, 64; bar.sync 4, 32; bar.sync 4, 32; bar.sync 4, 32;
    st.shared.u32 [slot], 8; bar.arrive 3, 64;"""
    assert of_32(body, threads=64) == [807] * 32 + [0] * 32


def test_a_register_that_may_be_written_after_a_barrier_is_kept() -> None:
    body = "mov.u32 %r3, 5; setp.lt.u32 %p1, %r0, 4; bar.sync 0; @%p1 mov.u32 %r3, 7; st.global.u32 [%d1], %r3;"
    assert of_32(body) == [7] * 4 + [5] * 28


def test_two_barriers_for_two_halves_of_a_block() -> None:
    body = """.shared .b32 all[64]; mov.u32 %r5, all; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6;
    setp.ge.u32 %p1, %r0, 32; selp.u32 %r7, 1, 2, %p1; st.shared.u32 [%r5], %r1; barrier.sync %r7, 32;
    xor.b32 %r6, %r6, 12; mov.u32 %r5, all; add.u32 %r5, %r5, %r6; ld.shared.u32 %r3, [%r5];
    st.global.u32 [%d1], %r3;"""
    assert of_32(body, threads=64) == [int(VALUES[thread ^ 3]) for thread in range(64)]


def test_waiting_for_another_warp_in_a_loop() -> None:
    body = """.shared .b32 flag; setp.ne.u32 %p1, %r0, 0; @%p1 bra READY; st.shared.u32 [flag], 0;
    READY: bar.sync 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra SET;
    AGAIN: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra AGAIN;
    st.global.u32 [%d1], %r3; exit;
    SET: membar.cta; st.volatile.shared.u32 [flag], 9; st.global.u32 [%d1], 1;"""
    assert of_32(body, threads=64) == [9] * 32 + [1] * 32


def test_lanes_that_wait_for_one_another_for_ever_are_a_fault() -> None:
    body = "setp.eq.u32 %p1, %r0, 0; @%p1 bar.sync 0; @%p1 exit; vote.sync.any.pred %p2, 1, -1;"
    _, _, fault = run(body, VALUES, threads=32)
    assert fault is not None
    assert fault.reason is Reason.DEADLOCK
