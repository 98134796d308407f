"""What a program loads: PTX as text, or fat binaries that carry it. Everything else is refused with a way out.

A fat binary is a header and sections, each with a header of its own: what it is, for which compute capability, and how
it is compressed. nvcc compresses PTX with LZ4, and from CUDA 12.8 on with Zstandard.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shoal.cuda.driver import DriverError, Status

ELF_MAGIC, FAT_MAGIC = b"\x7fELF", b"\x50\xed\x55\xba"
WAY_OUT = (
    "the software GPU runs PTX. Compile it in with `nvcc -gencode arch=compute_75,code=compute_75`, or hand over the "
    "PTX that `nvcc -ptx` or NVRTC makes"
)
PTX, CUBIN = 1, 2
LZ4, ZSTD = 0x2000, 0x8000
LARGEST = 1 << 30
"""Bytes that a compressed section may have, so that what claims more takes no memory."""

_HEADER = struct.Struct("<4sHHQ")
_SECTION = struct.Struct("<HHIQIIHHIIIQQQ")


def texts(images: Sequence[bytes], capability: int) -> list[str]:
    """The PTX of each image; of a fat binary, that which is best for a compute capability, as 86 for 8.6."""
    if not images:
        raise DriverError(Status.INVALID_IMAGE, "there is no code to load")
    return [_text(bytes(image), capability) for image in images]


def _text(image: bytes, capability: int) -> str:
    if image.startswith(ELF_MAGIC):
        raise DriverError(Status.NO_BINARY_FOR_GPU, f"this is machine code of NVIDIA's GPUs (a cubin): {WAY_OUT}")
    if image.startswith(FAT_MAGIC):
        return _decoded(_chosen(image, capability).unpacked())
    return _decoded(image)


def _decoded(image: bytes) -> str:
    """PTX ends at a zero byte, if it has one."""
    try:
        return image.partition(b"\0")[0].decode()
    except UnicodeDecodeError as fault:
        raise DriverError(Status.INVALID_IMAGE, f"this is neither PTX nor a fat binary: {fault}") from fault


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    arch: int
    flags: int
    size: int
    body: bytes

    def unpacked(self) -> bytes:
        """`size` is that of what the body unpacks to."""
        if not self.flags & (LZ4 | ZSTD):
            return self.body
        if self.size > LARGEST:
            raise DriverError(Status.INVALID_IMAGE, f"PTX of {self.size} bytes is more than the {LARGEST} that fit")
        try:
            if self.flags & ZSTD:
                import zstandard

                return zstandard.ZstdDecompressor().decompress(self.body, max_output_size=self.size)
            import lz4.block

            return bytes(lz4.block.decompress(self.body, uncompressed_size=self.size))
        except ImportError as missing:
            told = f"its PTX is compressed, and {missing.name} is not installed: shoal[gpu] has it"
            raise DriverError(Status.NO_BINARY_FOR_GPU, told) from missing
        except Exception as fault:  # each library has its own
            raise DriverError(Status.INVALID_IMAGE, f"its PTX does not unpack: {fault}") from fault


def _chosen(image: bytes, capability: int) -> _Section:
    """The newest that the capability allows. PTX for newer ones is tried where there is no other: what it holds that
    is not supported is named when it is compiled."""
    sections = list(_sections(image))
    found = sorted((each for each in sections if each.kind == PTX), key=lambda each: each.arch)
    if not found:
        kinds = "machine code of NVIDIA's GPUs alone" if sections else "no code"
        raise DriverError(Status.NO_BINARY_FOR_GPU, f"this fat binary has {kinds}: {WAY_OUT}")
    return next((each for each in reversed(found) if each.arch <= capability), found[0])


def _sections(image: bytes) -> Iterator[_Section]:
    try:
        _, _, header, size = _HEADER.unpack_from(image)
        at, end = header, header + size
        if end > len(image):
            raise DriverError(Status.INVALID_IMAGE, f"this fat binary is cut short: {len(image)} bytes of {end}")
        while at < end:
            kind, _, header, padded, packed, _, _, _, arch, _, _, flags, _, whole = _SECTION.unpack_from(image, at)
            if header < _SECTION.size or at + header + padded > end or packed > padded:
                raise DriverError(Status.INVALID_IMAGE, f"this fat binary has a section of no sense at byte {at}")
            compressed = flags & (LZ4 | ZSTD)
            body = image[at + header :][: packed if compressed and packed else padded]
            yield _Section(kind, arch, flags, whole, body)
            at += header + padded
    except struct.error as fault:
        raise DriverError(Status.INVALID_IMAGE, f"this fat binary is cut short: {fault}") from fault
