"""What a program may load. The fat binaries are nvcc's, of kernels/saxpy.cu for compute capabilities 7.5 and 8.0."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.soft.images import texts

IMAGES = Path(__file__).parent / "images"
PLAIN = (IMAGES / "plain.fatbin").read_bytes()
SECTION = 16
"""Where the first section's header begins."""


def refused(status: int, *images: bytes) -> str:
    with pytest.raises(DriverError) as fault:
        texts(images, 86)
    assert fault.value.status == status
    return str(fault.value)


def target(ptx: str) -> str:
    (line,) = (line for line in ptx.splitlines() if line.startswith(".target"))
    return line


@pytest.mark.parametrize("name", ["plain", "lz4", "zstd"])
def test_ptx_of_a_fat_binary_is_the_newest_that_the_device_can_have(name: str) -> None:
    image = (IMAGES / f"{name}.fatbin").read_bytes()
    for capability, wanted in ((90, "sm_80"), (80, "sm_80"), (79, "sm_75"), (75, "sm_75"), (52, "sm_75")):
        (ptx,) = texts([image], capability)
        assert ".visible .entry saxpy(" in ptx
        assert ptx.endswith("}\n\n")
        assert target(ptx) == f".target {wanted}"


def test_text_ends_at_a_zero_byte_or_with_the_image() -> None:
    assert texts([b".version 8.0\n\0rest", b".target sm_75"], 86) == [".version 8.0\n", ".target sm_75"]


def test_machine_code_alone_is_refused_with_a_way_out() -> None:
    fat = (IMAGES / "cubin.fatbin").read_bytes()
    for image in (fat, fat[80:]):
        assert "nvcc -gencode arch=compute_75,code=compute_75" in refused(Status.NO_BINARY_FOR_GPU, image)
    refused(Status.NO_BINARY_FOR_GPU, struct.pack("<4sHHQ", PLAIN[:4], 1, 16, 0))


def test_every_image_of_several_is_looked_at() -> None:
    refused(Status.NO_BINARY_FOR_GPU, PLAIN, (IMAGES / "cubin.fatbin").read_bytes())
    refused(Status.INVALID_IMAGE)


def test_what_is_neither_is_refused() -> None:
    assert "neither PTX nor a fat binary" in refused(Status.INVALID_IMAGE, b"\xff\xfe\x00")


@pytest.mark.parametrize("name", ["plain", "lz4", "zstd"])
def test_a_fat_binary_that_is_cut_short_or_spoilt_is_refused(name: str) -> None:
    image = (IMAGES / f"{name}.fatbin").read_bytes()
    for size in (4, 15, 16, 60, 100, len(image) - 1):
        refused(Status.INVALID_IMAGE, image[:size])
    padded = SECTION + 8  # the section's size
    for size in (1 << 63, len(image), 0):
        spoilt = bytearray(image)
        struct.pack_into("<Q", spoilt, padded, size)
        refused(Status.INVALID_IMAGE, bytes(spoilt))


@pytest.mark.parametrize("name", ["lz4", "zstd"])
def test_a_body_that_does_not_unpack_is_refused(name: str) -> None:
    spoilt = bytearray((IMAGES / f"{name}.fatbin").read_bytes())
    body = SECTION + struct.unpack_from("<I", spoilt, SECTION + 4)[0]
    spoilt[body : body + 40] = b"\xff" * 40
    with pytest.raises(DriverError, match="does not unpack") as fault:
        texts([bytes(spoilt)], 75)
    assert fault.value.status == Status.INVALID_IMAGE
