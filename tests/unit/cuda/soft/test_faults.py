"""What the program is told of a kernel's fault."""

from __future__ import annotations

import pytest

from shoal.cuda.driver import Status
from shoal.cuda.soft.compile.compiled import Fault
from shoal.cuda.soft.compile.layout import Reason
from shoal.cuda.soft.faults import told

WHERE = "PTX line 7, block 1,2,3, thread 4,5,6"


@pytest.mark.parametrize(
    ("reason", "address", "size", "status", "text"),
    [
        (Reason.LOAD, 0x40, 4, 700, f"load of 4 bytes at 0x40, where it has no memory ({WHERE})"),
        (Reason.STORE, 0x40, 16, 700, f"store of 16 bytes at 0x40, where it has no memory ({WHERE})"),
        (Reason.ATOMIC, 0x44, 8, 716, f"atomic operation of 8 bytes at 0x44, which is no multiple of 8 ({WHERE})"),
        (Reason.TRAP, 0, 0, 719, f"trap ({WHERE})"),
        (Reason.ASSERT, 0, 0, 710, f"an assertion failed ({WHERE})"),
        (
            Reason.DEADLOCK,
            0,
            0,
            719,
            f"it waits at a barrier or for lanes of its warp that never come ({WHERE})",
        ),
        (Reason.STOPPED, 0, 0, 702, f"it was ended ({WHERE})"),
    ],
)
def test_a_fault_has_cudas_result_and_says_where(
    reason: Reason, address: int, size: int, status: Status, text: str
) -> None:
    fault = told("sum", Fault(reason, address, size, 7, (1, 2, 3), (4, 5, 6)))
    assert (fault.status, str(fault)) == (status, f"kernel sum: {text}")


def test_a_line_that_is_not_known_is_left_out() -> None:
    fault = told("sum", Fault(Reason.DEADLOCK, 0, 0, 0, (0, 0, 0), (0, 0, 0)))
    assert str(fault).endswith("(block 0,0,0, thread 0,0,0)")
