"""How much shared memory a block may have: 48 KiB, and up to 99 KiB where the program asks for it."""

from __future__ import annotations

from shoal.cuda.driver import DriverError, Status

STATIC_BYTES = 48 << 10
OPT_IN_BYTES = 99 << 10


def usual(kernel: str, static: int) -> int:
    """The dynamic bytes of a kernel that has so many of its own, before it asks for more."""
    if static > STATIC_BYTES:
        told = f"kernel {kernel} has {static} bytes of shared memory; a block has {STATIC_BYTES} at most (0xc000)"
        raise DriverError(Status.INVALID_PTX, told)
    return STATIC_BYTES - static


def asked(kernel: str, static: int, wanted: int) -> int:
    """The dynamic bytes that it asks for with `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`."""
    if not 0 <= wanted <= OPT_IN_BYTES - static:
        told = f"kernel {kernel}: {wanted} bytes of dynamic shared memory; up to {OPT_IN_BYTES - static} are possible"
        raise DriverError(Status.INVALID_VALUE, told)
    return wanted
