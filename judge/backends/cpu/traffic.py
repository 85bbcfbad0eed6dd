"""What a launch moved and how: bytes of each allocation, distinct bytes, sectors and wavefronts.

Contexts that ran side by side counted in arrays of their own; here they come together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.backends.cpu.addresses import MAX_SLOTS
from judge.backends.cpu.lowering.runtime_patterns import ROW_WORDS, SLOT_WORD
from judge.backends.cpu.memory import Bytes

_WHOLE_WORD = 15


@dataclass
class SlotTraffic:
    """Global traffic of one allocation: bytes, lanes on one address counted once."""

    read: int = 0
    written: int = 0
    unique_read: int = 0


def merged_shadows(shadows: Sequence[dict[int, Bytes]]) -> dict[int, Bytes]:
    """Which bytes any of them read, by slot: a byte a 4-byte word, a bit a byte in it."""
    merged = dict(shadows[0])
    for one in shadows[1:]:
        for slot, marks in one.items():
            merged[slot] = merged[slot] | marks
    return merged


def unique_bytes(marks: Bytes) -> int:
    """Bytes marked in a shadow."""
    whole = int(np.count_nonzero(marks == _WHOLE_WORD))
    rest = marks[(marks != _WHOLE_WORD) & (marks != 0)]
    return 4 * whole + int(np.unpackbits(rest).sum())


def slot_traffic(counters: Sequence[NDArray[np.int64]], shadows: dict[int, Bytes]) -> dict[int, SlotTraffic]:
    """counters: of each context, bytes read and written by slot. shadows: merged."""
    total = np.sum(counters, axis=0)
    found = {}
    for slot, marks in shadows.items():
        read, written = int(total[2 * slot]), int(total[2 * slot + 1])
        found[slot] = SlotTraffic(read, written, unique_bytes(marks) if read else 0)
    return found


@dataclass(frozen=True)
class Pattern:
    """Requests of warps, the parts they took (sectors, or wavefronts), and the fewest the same bytes need."""

    requests: int = 0
    parts: int = 0
    fewest: int = 0

    def __add__(self, other: "Pattern") -> "Pattern":
        return Pattern(self.requests + other.requests, self.parts + other.parts, self.fewest + other.fewest)


@dataclass(frozen=True)
class PatternTable:
    """Rows of runtime_patterns: one a slot, then one an instruction."""

    rows: NDArray[np.int64]

    @classmethod
    def zeros(cls, sites: int) -> "PatternTable":
        return cls(np.zeros((MAX_SLOTS + sites, ROW_WORDS), np.int64))

    @classmethod
    def total(cls, tables: Iterable["PatternTable"]) -> "PatternTable | None":
        """All tables together; None when there is none."""
        rows = [table.rows for table in tables]
        if not rows:
            return None
        total = np.sum(rows, axis=0)
        total[:, SLOT_WORD] = np.max([one[:, SLOT_WORD] for one in rows], axis=0)
        return cls(total)

    def of_slot(self, slot: int) -> tuple[Pattern, Pattern]:
        """(reads, writes); of the shared slot in wavefronts."""
        return self._pair(slot)

    def of_instruction(self, index: int) -> tuple[Pattern, Pattern]:
        """(global requests in sectors, shared requests in wavefronts)."""
        return self._pair(MAX_SLOTS + index)

    def slot_of_instruction(self, index: int) -> int:
        """The slot its last request to global memory went to, 0 for none."""
        return int(self.rows[MAX_SLOTS + index, SLOT_WORD])

    def _pair(self, row: int) -> tuple[Pattern, Pattern]:
        words = self.rows[row].tolist()
        return Pattern(*words[:3]), Pattern(*words[3:6])
