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

PC_WARP_WAIT = 0x10000000
"""Bit set in the PC of a lane that waits at a bar.warp.sync."""

PC_TOGETHER = 0x20000000
"""Bit set in the PCs of a warp that goes on in the version of the code where all lanes run together."""


class CtaShape(IntEnum):
    """What code is specialized for. LINE: one dimension. SINGLE: one thread, as a planning kernel has."""

    ANY = 0
    LINE = 1
    SINGLE = 2

    @staticmethod
    def of(block: tuple[int, int, int]) -> "CtaShape":
        if block == (1, 1, 1):
            return CtaShape.SINGLE
        return CtaShape.LINE if block[1] == 1 and block[2] == 1 else CtaShape.ANY


FENCE_ROW = 33


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
    WATCHES = 240
    """Table of Watch blocks, one a slot."""
    CLOCK = 248
    LIMIT = 256
    """Accesses of the CTA before this clock lie behind a barrier."""
    TALKS32 = 264
    """The kernel has atomics or volatile accesses: fences order something."""
    CTA_FENCES = 272
    """Rows of FENCE_ROW clocks, 32 bits each: the CTA's last barrier before its last fence for all blocks, and the last
    fence of each of its warps by then. The first row is staged by fences; the others are what each CTA had staged when
    it last wrote a flag or did an atomic, by which others may know of it."""
    LOCAL_WORDS = 280
    CTA_ORDER = 288
    """The CTA that runs at each place of the order, 64 bits each; null for the launch's own."""
    WARP_ORDER = 296
    """The warp that runs at each place of the order, 32 bits each."""
    WRITABLE = 312
    """A byte a slot: whether a kernel may write there."""
    FAULTS = 304
    """Faults proved so far, every lane counted."""
    ASYNC = 320
    """Queues of cp.async, one block a warp; null when the kernel has none."""
    ARRIVALS = 328
    """Threads that bar.arrive counted, 32 bits for each of the 16 barriers."""
    PATTERNS = 392
    """Rows of access-pattern counters: one a slot, then one an instruction (see runtime_patterns.py)."""
    SIZE = 448


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
    SYNC32 = 228
    """Accesses of the warp before this clock lie behind a bar.warp.sync."""
    COLLECTIVE32 = 232
    """Clock of the warp's last shuffle, vote, match or redux."""
    FENCE32 = 236
    """Clock of the warp's last fence."""
    LOCAL_INIT = 240
    """Which words of local memory have been written: four masks of lanes a word, one a byte."""
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
    RACE_READ = 8
    """Reads what another thread wrote."""
    RACE_OVERWRITE = 9
    """Writes what another thread read."""
    RACE_WRITE = 10
    """Writes what another thread wrote."""
    UNINITIALIZED = 11
    UNINITIALIZED_SCALAR = 12
    MASK_ABSENT = 13
    """A member mask names lanes that do not come."""
    MASK_SELF = 14
    """A lane takes part that the member mask does not name."""
    LEFT_BEFORE_BARRIER = 15
    INPUT_WRITE = 16
    """Writes a buffer that is read-only."""
    PARTIAL_WARP = 17
    BARRIER_COUNT = 18
    """A barrier's count of threads is no number of whole warps."""


WARNING = 32
"""Added to an EventKind: legal or harmless, worth a word."""

MAX_FAULTS = 20_000
"""A launch with more faults than this ends: each one takes the slow path, and the verdict is known."""

ABORT_TIME, ABORT_FAILED, ABORT_FAULTS = 1, 2, 3
"""Why a launch's ABORT word was set: out of time, another thread's CTA ended it, enough faults."""

MAX_SITES = 1 << 19
QUIET_SITE = 1 << 29
"""Added to the site of a read that may meet what has no value: a copy of a whole object."""
STRONG_SITE = 1 << 30
"""Added to the site of a volatile, relaxed, acquiring or releasing access."""


UNSET_COPY = 16
"""In a word's INITIALIZED byte: the missing bytes were written, with what nobody gave a value."""


class Watch(IntEnum):
    """Offsets in the block of pointers of a watched slot. One cell a 4-byte word, all null where not watched."""

    INITIALIZED = 0
    """Low nibble of a byte: which bytes of the word were written; with UNSET_COPY."""
    WRITES = 8
    READS = 16
    WRITE_CTAS = 24
    """32 bits: the CTA of the last write; null for shared memory."""
    READ_CTAS = 32
    VALUES = 40
    """32 bits: what was last written."""
    SCRATCH = 48
    """Not 0 where bytes without a value may be copied to: nobody but the kernel reads there."""
    SIZE = 64


class Cell(IntEnum):
    """Bits of a cell: the last access of a word. The clock lies above everything else, so that old < new."""

    THREAD_MASK = 1023
    BYTES_SHIFT = 10
    STRONG = 1 << 14
    SAME_WARP = 1 << 15
    """Of reads: other lanes of the warp read it too. Of writes: they wrote the same value."""
    OTHER_WARPS = 1 << 16
    COMPARED = 1 << 17
    """Of writes: by an atomic compare-and-swap, which finds out itself whether what it was told is still so."""
    SITE_SHIFT = 18
    CLOCK_SHIFT = 37


MAX_CLOCK = (1 << 27) - 2

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
