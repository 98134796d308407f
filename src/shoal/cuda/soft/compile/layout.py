"""The memory that generated code and the host share: the same structures on both sides."""

from __future__ import annotations

import ctypes
from enum import IntEnum

GRANULE = 512
"""Bytes of global memory for which the map of a context holds one number: how many of them may be touched."""

WARP = 32
BARRIERS = 16


class Stop(IntEnum):
    """Why a thread has stopped: what the code of a kernel returns, and the state of a thread between two runs."""

    RUN = 0  # it may go on at any time
    WARP = 1  # it waits for lanes of its warp
    BARRIER = 2
    EXIT = 3
    FAULT = 4


class Reason(IntEnum):
    """What a fault is: the low byte of `code`, whose second byte is the access's size and whose upper half the line."""

    LOAD = 1
    STORE = 2
    ATOMIC = 3
    TRAP = 4
    ASSERT = 5
    DEADLOCK = 6
    STOPPED = 7


class Launch(ctypes.Structure):
    """One launch of a kernel, read by all its blocks."""

    _fields_ = (
        ("code", ctypes.c_uint64),  # of the kernel
        ("next", ctypes.c_uint64),  # the next block that a host thread takes
        ("blocks", ctypes.c_uint64),
        ("stop", ctypes.c_uint32),  # another value than 0 ends every thread at its next loop
        ("failed", ctypes.c_uint32),  # 1 once a thread has taken the fields below for its fault
        ("fault_address", ctypes.c_uint64),
        ("fault_code", ctypes.c_uint64),
        ("fault_block", ctypes.c_uint32 * 3),
        ("fault_thread", ctypes.c_uint32 * 3),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("threads", ctypes.c_uint32),  # of a block
        ("stride", ctypes.c_uint32),  # bytes of one thread's record
        ("base", ctypes.c_uint64),  # of global memory
        ("granules", ctypes.c_uint64),
        ("map", ctypes.c_uint64),
        ("image", ctypes.c_uint64),  # of the module's variables
        ("parameters", ctypes.c_uint64),
        ("parameter_bytes", ctypes.c_uint64),
        ("shared_bytes", ctypes.c_uint64),
        ("local_bytes", ctypes.c_uint64),
        ("dynamic_bytes", ctypes.c_uint64),
        ("number", ctypes.c_uint64),  # %gridid
        ("call", ctypes.c_uint64),  # the host's function for printf and assert
        ("processors", ctypes.c_uint32),  # %nsmid; %smid is the host thread that runs the block
    )


class Block(ctypes.Structure):
    """What one host thread needs to run one block after another."""

    _fields_ = (
        ("threads", ctypes.c_uint64),  # their records
        ("shared", ctypes.c_uint64),
        ("local", ctypes.c_uint64),
        ("index", ctypes.c_uint32 * 3),
        ("worker", ctypes.c_uint32),  # %smid
        ("waiting", ctypes.c_uint32 * BARRIERS),
        ("arrived", ctypes.c_uint32 * BARRIERS),
        ("expected", ctypes.c_uint32 * BARRIERS),
        ("yes", ctypes.c_uint32 * BARRIERS),  # whose predicate holds
        ("agreed", ctypes.c_uint32 * BARRIERS),
    )


class Thread(ctypes.Structure):
    """A thread's record. The registers that it put away follow."""

    _fields_ = (
        ("resume", ctypes.c_uint32),
        ("state", ctypes.c_uint32),
        ("key", ctypes.c_uint32),  # which operation of the warp it waits at
        ("mask", ctypes.c_uint32),  # the lanes that it waits for; 0 is whoever stops at the same place
        ("given", ctypes.c_uint64),  # its own operand of the operation
        ("shown", ctypes.c_uint64),  # the same, for the others to read once the operation happens
        ("group", ctypes.c_uint32),  # the lanes that took part; at a barrier, how many threads
        ("ballot", ctypes.c_uint32),  # those whose operand is not 0; at a barrier, how many
        ("barrier", ctypes.c_uint32),
        ("count", ctypes.c_uint32),  # how many threads the barrier waits for; 0 is all
        ("index", ctypes.c_uint32 * 3),
        ("linear", ctypes.c_uint32),
        ("local", ctypes.c_uint64),
        ("fault_address", ctypes.c_uint64),
        ("fault_code", ctypes.c_uint64),
        ("padding", ctypes.c_uint64),
    )
