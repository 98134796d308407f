"""What a kernel's fault is to the program: CUDA's result, and a sentence that says where it happened."""

from __future__ import annotations

from shoal.cuda.driver import DriverError, Status
from shoal.cuda.soft.compile.compiled import Fault
from shoal.cuda.soft.compile.layout import Reason

_ACCESSES = {Reason.LOAD: "load", Reason.STORE: "store", Reason.ATOMIC: "atomic operation"}
_OTHERS = {
    Reason.TRAP: (Status.LAUNCH_FAILED, "trap"),
    Reason.ASSERT: (Status.ASSERT, "an assertion failed"),
    Reason.DEADLOCK: (Status.LAUNCH_FAILED, "it waits at a barrier or for lanes of its warp that never come"),
    Reason.STOPPED: (Status.LAUNCH_TIMEOUT, "it was ended"),
}


def told(kernel: str, fault: Fault) -> DriverError:
    status, what = _OTHERS.get(fault.reason) or _access(fault)
    block, thread = (",".join(map(str, each)) for each in (fault.block, fault.thread))
    line = f"PTX line {fault.line}, " if fault.line else ""
    return DriverError(status, f"kernel {kernel}: {what} ({line}block {block}, thread {thread})")


def _access(fault: Fault) -> tuple[Status, str]:
    what = f"{_ACCESSES[fault.reason]} of {fault.size} bytes at {fault.address:#x}"
    if fault.misaligned:
        return Status.MISALIGNED_ADDRESS, f"{what}, which is no multiple of {fault.size}"
    return Status.ILLEGAL_ADDRESS, f"{what}, where it has no memory"
