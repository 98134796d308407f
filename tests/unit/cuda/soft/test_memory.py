"""Global memory of a software GPU: what is free, whose a byte is, and what the map tells generated code."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.soft.compile.layout import GRANULE
from shoal.cuda.soft.memory import Memory, fill

TOTAL = 64 * GRANULE


@pytest.fixture
def memory() -> Iterator[Memory]:
    made = Memory(TOTAL)
    yield made
    made.close()


def allowed(memory: Memory, address: int) -> int:
    """How many bytes of the granule at an address generated code may touch, by the map that it reads."""
    index = min((address - memory.base) % (1 << 64) // GRANULE, memory.granules)
    return ctypes.c_uint16.from_address(memory.map + 2 * index).value


def refused(status: int, call: object, *given: object) -> str:
    assert callable(call)
    with pytest.raises(DriverError) as fault:
        call(*given)
    assert fault.value.status == status
    return str(fault.value)


def test_the_map_allows_what_is_allocated_and_not_a_byte_more(memory: Memory) -> None:
    at = memory.allocate(2 * GRANULE + 5)
    assert at % GRANULE == 0
    assert [allowed(memory, at + step * GRANULE) for step in range(-1, 5)] == [0, GRANULE, GRANULE, 5, 0, 0]
    memory.free(at)
    assert [allowed(memory, at + step * GRANULE) for step in range(4)] == [0, 0, 0, 0]
    assert allowed(memory, 64) == allowed(memory, memory.base + memory.granules * GRANULE) == 0


def test_neighbours_have_a_gap_between_them(memory: Memory) -> None:
    first, second = memory.allocate(GRANULE), memory.allocate(GRANULE)
    assert second - first >= 2 * GRANULE
    assert allowed(memory, first + GRANULE) == 0


def test_an_address_is_found_in_its_allocation_alone(memory: Memory) -> None:
    first, second = memory.allocate(100), memory.allocate(GRANULE + 1)
    assert memory.find(first + 99) == (first, 100)
    assert memory.find(second + GRANULE) == (second, GRANULE + 1)
    for nothing in (0, first - 1, first + 100, second + GRANULE + 1):
        assert f"{nothing:#x} is in no allocation" in refused(Status.INVALID_VALUE, memory.find, nothing)


def test_what_is_no_start_of_an_allocation_is_not_freed(memory: Memory) -> None:
    at = memory.allocate(100)
    for nothing in (0, at + 1, at - GRANULE):
        refused(Status.INVALID_VALUE, memory.free, nothing)
    memory.free(at)
    assert "or it was freed before" in refused(Status.INVALID_VALUE, memory.free, at)


def test_more_than_the_device_has_is_refused_and_freed_memory_is_had_again(memory: Memory) -> None:
    refused(Status.OUT_OF_MEMORY, memory.allocate, TOTAL + 1)
    refused(Status.INVALID_VALUE, memory.allocate, 0)
    whole = memory.allocate(TOTAL)
    refused(Status.OUT_OF_MEMORY, memory.allocate, 1)
    memory.free(whole)
    many = [memory.allocate(1) for _ in range(64)]  # a granule each
    refused(Status.OUT_OF_MEMORY, memory.allocate, 1)
    for each in many[::2]:
        memory.free(each)
    assert memory.used == TOTAL // 2
    memory.allocate(TOTAL // 2)


def test_a_part_is_of_one_allocation(memory: Memory) -> None:
    at = memory.allocate(1000)
    memory.part(at, 1000)[:] = bytes(range(250)) * 4
    assert bytes(memory.part(at + 998, 2)) == b"\xf8\xf9"
    assert len(memory.part(at + 1000, 0)) == 0
    assert "reach beyond the allocation of 1000 bytes" in refused(Status.INVALID_VALUE, memory.part, at + 999, 2)
    refused(Status.INVALID_VALUE, memory.part, 64, 4)


def test_what_was_freed_takes_no_memory_of_the_host() -> None:
    memory = Memory(4 << 20)
    at = memory.allocate(4 << 20)
    fill(memory.part(at, 4 << 20), b"\x01")
    memory.free(at)
    again = memory.allocate(4 << 20)
    assert again == at
    assert set(bytes(memory.part(at, 4 << 20))) == {0}
    memory.close()


def test_a_range_that_the_host_does_not_give_is_told_of() -> None:
    with pytest.raises(DriverError, match="give the software GPU less memory") as fault:
        Memory(1 << 60)
    assert fault.value.status == Status.OUT_OF_MEMORY


def test_text_ends_at_a_zero_within_its_allocation(memory: Memory) -> None:
    at = memory.allocate(8)
    memory.part(at, 8)[:] = b"abc\0defg"
    assert memory.text(at) == b"abc"
    assert memory.text(at + 2) == b"c"
    assert memory.text(at + 4) is None
    assert memory.text(at + 8) is memory.text(0) is None


@pytest.mark.parametrize("pattern", [b"\x07", b"\x01\x02", b"\x01\x02\x03\x04"])
def test_fill_writes_a_pattern_over_and_over(pattern: bytes) -> None:
    size = (1 << 20) + 12
    target = bytearray(size)
    fill(memoryview(target), pattern)
    assert bytes(target) == pattern * (size // len(pattern))


class Allocations(RuleBasedStateMachine):
    """Against a list of what is held."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory(TOTAL)
        self.held: dict[int, int] = {}

    @rule(size=st.integers(1, 8 * GRANULE))
    def allocate(self, size: int) -> None:
        with suppress(DriverError):
            at = self.memory.allocate(size)
            assert all(at + size <= base or base + held <= at for base, held in self.held.items())
            self.held[at] = size

    @precondition(lambda self: self.held)
    @rule(number=st.integers(0, 1000))
    def free(self, number: int) -> None:
        at = sorted(self.held)[number % len(self.held)]
        self.memory.free(at)
        del self.held[at]

    @invariant()
    def what_is_used_is_what_is_held(self) -> None:
        assert self.memory.used == sum(-(-size // GRANULE) * GRANULE for size in self.held.values())
        for at, size in self.held.items():
            assert self.memory.find(at + size - 1) == (at, size)

    @invariant()
    def the_map_allows_what_is_held(self) -> None:
        whole = (ctypes.c_uint16 * (self.memory.granules + 1)).from_address(self.memory.map)
        assert sum(whole) == sum(self.held.values())

    def teardown(self) -> None:
        for at in list(self.held):
            self.memory.free(at)
        assert self.memory.used == 0
        self.memory.allocate(TOTAL)
        self.memory.close()


TestAllocations = Allocations.TestCase
TestAllocations.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
