"""Byte offsets shared by generated code, the runtime helpers and Python: contexts, warps, events.

A Context belongs to one worker thread of a launch. A warp's state is one block of bytes: PCs of
the lanes, a few scalars, then the registers that live across basic blocks.
"""

from enum import IntEnum

import numpy as np

LANES = 32
PC_EXITED = 0x7FFFFFFF
PC_PARKED = 0x40000000
"""Bit set in the PC of a lane that waits at a barrier: the rest is where it goes on."""


PC_TOGETHER = 0x20000000
"""Bit set in the PCs of a warp that goes on in the version of the code where all lanes run together."""


class Ctx(IntEnum):
    """Offsets of the fields of a context (64-bit fields unless the name ends in 32)."""

    SLOT_BASES = 0
    SLOT_SIZES = 8
    PARAMETERS = 16
    COUNTERS = 24
    EVENTS = 32
    SITE_COUNTS = 40
    EVENT_COUNT = 48
    THREAD_IDS = 56
    NTID_X32 = 64
    NTID_Y32 = 68
    NTID_Z32 = 72
    NCTAID_X32 = 76
    NCTAID_Y32 = 80
    NCTAID_Z32 = 84
    WARPS32 = 88
    THREADS32 = 92
    SHARED = 96
    SHARED_BYTES = 104
    STATES = 112
    STATE_BYTES = 120
    LOCAL = 128
    LOCAL_WARP_BYTES = 136
    LOCAL_BYTES = 144
    ABORT = 152
    FUEL = 160
    TRAFFIC = 168
    SHADOWS = 176
    CTA = 184
    DYNAMIC_SHARED = 192
    PRINT_BUFFER = 200
    PRINT_USED = 208
    PRINT_CAPACITY = 216
    DONE_CTAS = 224
    PARAMETER_BYTES = 232
    SIZE = 256


class State(IntEnum):
    """Offsets in a warp's state block."""

    PCS = 0
    CTAID_X32 = 128
    CTAID_Y32 = 132
    CTAID_Z32 = 136
    WARP32 = 140
    STATUS32 = 144
    LIVE32 = 148
    """Lanes that have not exited."""
    MASK32 = 152
    """Lanes of the running group (divergent code)."""
    WAIT_MIN32 = 156
    """Lowest PC among lanes outside the running group."""
    BARRIER_PRED32 = 160
    BARRIER_POPC32 = 164
    BARRIER_TOTAL32 = 168
    ROTATE32 = 172
    """PC of the group that ran out of fuel, to give the others a turn; -1 for none."""
    LOCAL = 176
    FUEL = 184
    BARRIER_IDS = 192
    """One byte a lane."""
    BARRIER_COUNT32 = 224
    """Thread count of a bar.sync with a count, 0 for all."""
    REGISTERS = 256


class Status(IntEnum):
    """What a warp function returns, and what a CTA loop ends with."""

    DONE = 0
    PARKED = 1
    YIELD = 2
    FAULT = 3
    ABORTED = 4
    DEADLOCK = 5


class EventKind(IntEnum):
    OUT_OF_BOUNDS_READ = 1
    OUT_OF_BOUNDS_WRITE = 2
    MISALIGNED_READ = 3
    MISALIGNED_WRITE = 4
    TRAP = 5
    ASSERT = 6
    DIVERGENT_BARRIER = 7


EVENT = np.dtype(
    [
        ("kind", "<i4"),
        ("site", "<i4"),
        ("cta", "<i8"),
        ("warp", "<i4"),
        ("lane", "<i4"),
        ("address", "<u8"),
        ("size", "<i4"),
        ("extra", "<i4"),
        ("data0", "<u8"),
        ("data1", "<u8"),
        ("data2", "<u8"),
    ]
)
EVENT_BYTES = EVENT.itemsize
EVENT_CAPACITY = 256
