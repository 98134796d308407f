"""A software GPU through the contract of `shoal.cuda.driver`, with kernels that it compiles and runs."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shoal.cuda.driver import Context, DriverError, Function, Module, Status
from shoal.cuda.soft.driver import driver

MEMORY = 64 << 20
SOON = 4.0
"""Seconds; it takes a tenth where the processors have nothing else to do."""
HEADER = ".version 7.0\n.target sm_75\n.address_size 64\n"
SAXPY = (Path(__file__).parent / "kernels" / "saxpy.ptx").read_bytes()

STORE = f"""{HEADER}
.visible .entry store(.param .u64 to) {{
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [to];
  st.global.u32 [%d1], 7;
  ret;
}}
""".encode()

ENDLESS = f"""{HEADER}
.visible .entry endless() {{
again:
  bra again;
}}
""".encode()

SLOW = f"""{HEADER}
.visible .entry slow(.param .u64 to) {{
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [to];
  mov.u64 %d2, 0;
again:
  ld.volatile.global.u32 %r1, [%d1];
  add.u64 %d2, %d2, 1;
  setp.lt.u64 %p1, %d2, 50000000;
  @%p1 bra again;
  st.global.u32 [%d1], 7;
  ret;
}}
""".encode()
"""It takes some tenths of a second, reads its memory all the time, and stores at the end."""

SAY = f"""{HEADER}
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[24] = {{37, 100, 32, 37, 46, 50, 102, 32, 37, 115, 58, 32, 37, 108, 120, 10, 0}};
.global .align 1 .b8 word[4] = {{104, 105, 0}};
.visible .entry say(.param .u32 number) {{
  .local .align 8 .b8 depot[32];
  .reg .b32 %r<3>; .reg .b64 %d<6>; .reg .f64 %f<2>;
  ld.param.u32 %r1, [number];
  st.local.u32 [depot], %r1;
  mov.f64 %f1, 0d3FF8000000000000;
  st.local.f64 [depot+8], %f1;
  mov.u64 %d1, word;
  st.local.u64 [depot+16], %d1;
  mov.u64 %d2, 0xABCDEF012345;
  st.local.u64 [depot+24], %d2;
  mov.u64 %d3, text;
  mov.u64 %d4, depot;
  cvta.local.u64 %d5, %d4;
  {{
    .param .b64 p0; .param .b64 p1; .param .b32 r0;
    st.param.b64 [p0], %d3;
    st.param.b64 [p1], %d5;
    call.uni (r0), vprintf, (p0, p1);
    ld.param.b32 %r2, [r0];
  }}
  ret;
}}
""".encode()


@pytest.fixture
def context() -> Iterator[Context]:
    made = driver([("test", MEMORY)]).devices[0].open()
    yield made
    made.close()


def loaded(context: Context, *images: bytes) -> Function:
    """The one kernel of the code."""
    (function,) = context.load(images).functions.values()
    return function


def refused(status: int, call: object, *given: object) -> str:
    assert callable(call)
    with pytest.raises(DriverError) as fault:
        call(*given)
    assert fault.value.status == status, fault.value
    return str(fault.value)


def test_a_kernel_knows_of_as_many_multiprocessors_as_the_device_says_it_has() -> None:
    device = driver([("test", MEMORY)]).devices[0]
    context = device.open()
    asks = STORE.replace(b"ld.param", b".reg .b32 %r<2>;\n  mov.u32 %r1, %nsmid;\n  ld.param").replace(
        b"], 7", b"], %r1"
    )
    at = context.allocate(4)
    loaded(context, asks).launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", at))
    assert int.from_bytes(context.read(at, 4), "little") == device.attributes[16]
    context.close()


def test_saxpy_over_streams_events_and_copies(context: Context) -> None:
    x, y = (np.random.default_rng(seed).random(10_000, np.float32) for seed in (1, 2))
    saxpy = loaded(context, SAXPY)
    at_x, at_y, copy = (context.allocate(x.nbytes) for _ in range(3))
    stream, other = context.create_stream(1), context.create_stream(1)
    start, end = context.create_event(), context.create_event()
    context.record_event(start, stream)
    context.write(at_x, x.tobytes(), stream)
    context.write(at_y, memoryview(bytearray(y.tobytes())), stream)
    for _ in range(3):
        saxpy.launch((40, 1, 1), (256, 1, 1), struct.pack("<f4xQQi", 2, at_x, at_y, len(x)), stream=stream)
    context.record_event(end, stream)
    context.wait_event(other, end)
    context.copy(copy, at_y, y.nbytes, other)
    found = np.frombuffer(context.read(copy, y.nbytes, other), np.float32)
    assert np.allclose(found, y + 6 * x, rtol=1e-6)
    assert context.stream_done(stream)
    assert context.elapsed(start, end) > 0
    context.fill(copy + 4, b"\x01\x02\x03\x04", 2)
    assert context.read(copy, 16)[4:12] == b"\x01\x02\x03\x04" * 2
    assert context.read(copy, 4) == found[:1].tobytes()


def slow(context: Context, at: int, stream: int = 0) -> None:
    loaded(context, SLOW).launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", at), stream=stream)


def test_what_is_written_may_be_changed_when_the_call_has_returned(context: Context) -> None:
    at, stream = context.allocate(4), context.create_stream()
    slow(context, at, stream)
    data = bytearray(b"abcd")
    context.write(at, data, stream)
    data[:] = b"efgh"
    assert not context.stream_done(stream)
    assert context.read(at, 4, stream) == b"abcd"


def test_copies_and_fills_come_after_what_their_stream_was_asked_for_before(context: Context) -> None:
    at, copy = context.allocate(4), context.allocate(4)
    slow(context, at)
    context.copy(copy, at, 4)
    context.fill(at, b"\x09", 4)
    assert (context.read(copy, 4), context.read(at, 4)) == (b"\x07\0\0\0", b"\x09\x09\x09\x09")


def test_another_stream_does_not_wait_for_an_endless_kernel(context: Context) -> None:
    at, stream = context.allocate(4), context.create_stream(1)
    loaded(context, ENDLESS).launch((1, 1, 1), (1, 1, 1), b"", stream=stream)
    context.write(at, b"abcd")
    assert context.read(at, 4) == b"abcd"
    loaded(context, STORE).launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", at))
    assert context.read(at, 4) == b"\x07\0\0\0"
    assert not context.stream_done(stream)


def test_memory_that_a_kernel_uses_is_freed_when_it_has_ended(context: Context) -> None:
    at, stream = context.allocate(4), context.create_stream(1)
    slow(context, at, stream)
    context.free(at)
    context.synchronize()


def test_memory_is_counted_and_given_back(context: Context) -> None:
    free, total = context.memory()
    assert free == total == MEMORY
    module = context.load([SAY])
    assert context.memory()[0] < MEMORY
    at, size = module.variables["word"]
    assert context.read(at, size) == b"hi\0\0"
    module.unload()
    module.unload()
    assert context.memory() == (MEMORY, MEMORY)
    refused(Status.INVALID_HANDLE, module.functions["say"].launch, (1, 1, 1), (1, 1, 1), bytes(4))
    refused(Status.OUT_OF_MEMORY, context.allocate, MEMORY + 1)


def test_variables_of_modules_that_are_linked(context: Context) -> None:
    reader = (
        HEADER.encode()
        + b"""
    .extern .global .align 4 .u32 shared_one;
    .global .align 8 .u64 where = shared_one;
    .visible .entry read(.param .u64 to) {
      .reg .b32 %r<2>; .reg .b64 %d<4>;
      ld.param.u64 %d1, [to]; ld.global.u64 %d2, [where]; ld.global.u32 %r1, [%d2]; st.global.u32 [%d1], %r1; ret;
    }"""
    )
    owner = HEADER.encode() + b".visible .global .align 4 .u32 shared_one = 1234;\n\0"
    module = context.load([reader, owner])
    at = context.allocate(4)
    module.functions["read"].launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", at))
    assert context.read(at, 4) == struct.pack("<I", 1234)
    assert context.read(*module.variables["where"]) == struct.pack("<Q", module.variables["shared_one"][0])


def test_a_kernel_prints(context: Context) -> None:
    say = loaded(context, SAY)
    say.launch((1, 1, 1), (1, 1, 1), struct.pack("<i", -5))
    context.synchronize()
    assert context.output() == b"-5 1.50 hi: abcdef012345\n"
    assert context.output() == b""


@pytest.mark.parametrize(
    ("address", "status", "text"),
    [
        (
            64,
            700,
            "kernel store: store of 4 bytes at 0x40, where it has no memory (PTX line 8, block 0,0,0, thread 0,0,0)",
        ),
        (66, 716, "store of 4 bytes at 0x42, which is no multiple of 4"),
        ((1 << 64) - 4, 700, "at 0xfffffffffffffffc"),
    ],
)
def test_a_fault_is_raised_by_every_later_call_but_not_in_another_context(
    address: int, status: int, text: str, context: Context
) -> None:
    store, at = loaded(context, STORE), context.allocate(4)
    store.launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", at))
    context.synchronize()
    store.launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", address))
    assert text in refused(status, context.synchronize)
    for call, given in (
        (context.memory, ()),
        (context.allocate, (4,)),
        (context.free, (at,)),
        (context.find, (at,)),
        (context.read, (at, 4)),
        (context.write, (at, b"x")),
        (context.load, ([STORE],)),
        (context.create_stream, ()),
        (context.create_event, ()),
        (store.launch, ((1, 1, 1), (1, 1, 1), struct.pack("<Q", at))),
    ):
        refused(status, call, *given)
    assert context.output() == b""
    other = driver([("test", MEMORY)]).devices[0].open()
    assert other.memory() == (MEMORY, MEMORY)
    other.close()


@pytest.mark.parametrize("beyond", [0, 4, 508])
def test_beyond_the_end_of_an_allocation_is_nothing_even_if_another_follows(beyond: int, context: Context) -> None:
    store, first, _ = loaded(context, STORE), context.allocate(512), context.allocate(512)
    store.launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", first + 512 + beyond))
    refused(Status.ILLEGAL_ADDRESS, context.synchronize)


def test_memory_that_was_freed_is_no_memory(context: Context) -> None:
    store, at = loaded(context, STORE), context.allocate(4)
    context.free(at)
    store.launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", at))
    refused(Status.ILLEGAL_ADDRESS, context.synchronize)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "argument_bytes"),
    [
        ((0, 1, 1), (1, 1, 1), 0, 8),
        ((1, 65536, 1), (1, 1, 1), 0, 8),
        ((1 << 31, 1, 1), (1, 1, 1), 0, 8),
        ((1, 1, 1), (0, 1, 1), 0, 8),
        ((1, 1, 1), (1025, 1, 1), 0, 8),
        ((1, 1, 1), (1, 1, 65), 0, 8),
        ((1, 1, 1), (33, 32, 1), 0, 8),
        ((1, 1, 1), (1, 1, 1), (48 << 10) + 1, 8),
        ((1, 1, 1), (1, 1, 1), 0, 7),
    ],
)
def test_what_a_launch_may_not_have_is_refused_at_once(
    grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, argument_bytes: int, context: Context
) -> None:
    store = loaded(context, STORE)
    assert "kernel store: " in refused(Status.INVALID_VALUE, store.launch, grid, block, bytes(argument_bytes), shared)
    context.synchronize()


@pytest.mark.parametrize(
    ("directive", "right", "wrong", "text"),
    [
        (".maxntid 64, 1, 1", (64, 1, 1), (65, 1, 1), "65 threads a block; it may have 64"),
        (".reqntid 8, 4, 1", (8, 4, 1), (4, 8, 1), "a block of 4x8x1; it was compiled for 8x4x1"),
    ],
)
def test_a_block_is_as_the_kernel_says(
    directive: str, right: tuple[int, int, int], wrong: tuple[int, int, int], text: str, context: Context
) -> None:
    store = loaded(context, STORE.replace(b") {", f") {directive} {{".encode()))
    at = context.allocate(4)
    store.launch((1, 1, 1), right, struct.pack("<Q", at))
    assert context.read(at, 4) == b"\x07\0\0\0"
    told = refused(Status.INVALID_VALUE, store.launch, (1, 1, 1), wrong, struct.pack("<Q", at))
    assert told == f"kernel store: {text}"


def test_more_shared_memory_of_its_own_than_a_block_has_is_refused(context: Context) -> None:
    def with_shared(size: int) -> bytes:
        declared = f".reg .b64 %d<2>; .reg .b32 %s<2>; .shared .align 4 .b8 own[{size}]; st.shared.u32 [own], 1;"
        return STORE.replace(b".reg .b64 %d<2>;", declared.encode())

    loaded(context, with_shared(48 << 10))
    assert "bytes of shared memory; a block has 49152" in refused(
        Status.INVALID_PTX, context.load, [with_shared((48 << 10) + 4)]
    )


def test_more_shared_memory_is_had_by_asking(context: Context) -> None:
    store, at = loaded(context, STORE), context.allocate(4)
    most = 99 << 10
    refused(Status.INVALID_VALUE, store.set_attribute, 8, most + 1)
    refused(Status.INVALID_VALUE, store.set_attribute, 0, 1)
    assert (store.active_blocks(256, 48 << 10), store.active_blocks(256, most), store.active_blocks(2048)) == (1, 0, 0)
    store.set_attribute(8, most)
    assert (store.attributes[8], store.active_blocks(256, most)) == (most, 1)
    store.launch((1, 1, 1), (1, 1, 1), struct.pack("<Q", at), most)
    assert context.read(at, 4) == b"\x07\0\0\0"


@pytest.mark.parametrize("image", [b"bad code", b"", b"\xff\xfe", STORE.replace(b"st.global.u32", b"frobnicate.u32")])
def test_code_that_cannot_run_is_refused_and_harms_nothing(image: bytes, context: Context) -> None:
    with pytest.raises(DriverError) as fault:
        context.load([image])
    assert fault.value.status in (Status.INVALID_PTX, Status.INVALID_IMAGE)
    assert context.memory() == (MEMORY, MEMORY)


def test_close_ends_an_endless_kernel_soon(context: Context) -> None:
    endless = loaded(context, ENDLESS)
    for stream in (0, context.create_stream(1)):
        endless.launch((64, 1, 1), (64, 1, 1), b"", stream=stream)
    waiting = threading.Timer(0.2, context.close)
    waiting.start()
    begun = time.monotonic()
    refused(Status.INVALID_CONTEXT, context.synchronize)
    waiting.join()
    assert time.monotonic() - begun < SOON
    context.close()


def test_a_kernel_that_runs_too_long_is_ended(context: Context) -> None:
    limited = driver([("test", MEMORY)], kernel_seconds=0.2).devices[0].open()
    endless = loaded(limited, ENDLESS)
    endless.launch((64, 1, 1), (64, 1, 1), b"")
    begun = time.monotonic()
    assert "kernel endless ran longer than 0.2 s" in refused(Status.LAUNCH_TIMEOUT, limited.synchronize)
    assert time.monotonic() - begun < SOON
    limited.close()


def test_devices_are_told_apart_and_tell_what_programs_ask() -> None:
    first, second = driver([("A", 1 << 20), ("B", 2 << 20)]).devices
    assert (first.name, first.memory, second.name, second.memory) == ("A", 1 << 20, "B", 2 << 20)
    assert len(first.uuid) == len(second.uuid) == 16
    assert first.uuid != second.uuid
    assert first.pci_bus_id != second.pci_bus_id
    assert driver([("A", 1)]).devices[0].uuid == first.uuid
    assert (first.attributes[1], first.attributes[10], first.attributes[75]) == (1024, 32, 8)


def test_a_module_is_of_functions_with_their_parameters(context: Context) -> None:
    module: Module = context.load([SAXPY])
    assert module.functions["saxpy"].parameters == ((0, 4), (8, 8), (16, 8), (24, 4))
    assert module.functions["saxpy"].attributes[0] == 1024
