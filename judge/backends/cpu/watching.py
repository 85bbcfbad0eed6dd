"""The arrays behind the detectors of one launch, and what is found by comparing them afterwards.

Shared memory, outputs, workspaces and `__device__` variables are watched: one cell a 4-byte word for the
last write and the last read (see lowering/runtime_watch.py). Threads of the judge that run CTAs side by
side have cells of their own; where two of them met in one word is found when the launch is over.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judge.backends.cpu.addresses import slot_base
from judge.backends.cpu.lowering.layout import MAX_SITES, Cell, EventKind, Watch

PAD_WORDS = 8
_BLANKS = itertools.count(0x7FD15EA5, 0x10001)


@dataclass
class SlotWatch:
    """Cells of one slot in one context. written: shared by all contexts of a launch."""

    writes: NDArray[np.uint64]
    reads: NDArray[np.uint64]
    written: NDArray[np.uint8] | None
    write_ctas: NDArray[np.int32] | None = None
    read_ctas: NDArray[np.int32] | None = None
    values: NDArray[np.uint32] | None = None
    scratch: bool = True


def shared_watch(size_bytes: int) -> SlotWatch:
    words = -(-size_bytes // 4)
    return SlotWatch(
        np.zeros(words + PAD_WORDS, np.uint64),
        np.zeros(words + PAD_WORDS, np.uint64),
        np.zeros(words + PAD_WORDS, np.uint8),
    )


def global_watch(size_bytes: int, written: NDArray[np.uint8] | None, *, scratch: bool = True) -> SlotWatch:
    """scratch: no output, so that what nobody gave a value may be copied there."""
    words = -(-size_bytes // 4) + PAD_WORDS
    return SlotWatch(
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        written,
        np.zeros(words, np.int32),
        np.zeros(words, np.int32),
        # No two contexts have the same blank: what one of them never wrote is not equal to anything.
        np.full(words, next(_BLANKS) & 0xFFFFFFFF, np.uint32),
        scratch,
    )


@dataclass
class WatchTable:
    """The table a context's WATCHES field points to, and the arrays it keeps alive."""

    slots: int
    watches: dict[int, SlotWatch] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = np.zeros((self.slots, Watch.SIZE // 8), dtype=np.uint64)

    def add(self, slot: int, watch: SlotWatch) -> None:
        self.watches[slot] = watch
        row = self.table[slot]
        row[Watch.SCRATCH // 8] = watch.scratch
        for offset, array in (
            (Watch.INITIALIZED, watch.written),
            (Watch.WRITES, watch.writes),
            (Watch.READS, watch.reads),
            (Watch.WRITE_CTAS, watch.write_ctas),
            (Watch.READ_CTAS, watch.read_ctas),
            (Watch.VALUES, watch.values),
        ):
            if array is not None:
                row[offset // 8] = array.ctypes.data


@dataclass(frozen=True)
class Access:
    """What a cell says. thread: linear in its block. several: other threads did the same; some of another warp."""

    site: int
    thread: int
    several: bool
    other_warps: bool


def read_cell(cell: int) -> Access:
    return Access(
        site=cell >> Cell.SITE_SHIFT & (MAX_SITES - 1),
        thread=cell & Cell.THREAD_MASK,
        several=bool(cell & (Cell.SAME_WARP | Cell.OTHER_WARPS)),
        other_warps=bool(cell & Cell.OTHER_WARPS),
    )


@dataclass(frozen=True)
class Meeting:
    """Two CTAs of different contexts at one word without order. first is the writer, or one of two."""

    kind: EventKind
    harmless: bool
    address: int
    first: Access
    first_cta: int
    second: Access
    second_cta: int
    count: int


_BYTES = np.uint64(15 << Cell.BYTES_SHIFT)


_WORDS_AT_ONCE = 1 << 15


def _met(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Words of which plain accesses in both share a byte. (Kernels with strong ones run in one context.)

    Piece by piece: copies of the cells of a large workspace took longer than the launch.
    """
    found = [np.empty(0, np.intp)]
    for start in range(0, one.size, _WORDS_AT_ONCE):
        piece = one[start : start + _WORDS_AT_ONCE]
        if not piece.any():
            continue
        beside = other[start : start + _WORDS_AT_ONCE]
        words = np.flatnonzero(piece & beside & _BYTES)
        plain = (piece[words] | beside[words]) & np.uint64(Cell.STRONG) == 0
        found.append(words[plain] + start)
    return np.concatenate(found)


def meetings(tables: list[WatchTable]) -> Iterator[Meeting]:
    """Races between blocks that ran in different contexts, one a pair of sites and slot."""
    if len(tables) < 2:
        return
    for slot, watch in tables[0].watches.items():
        if watch.write_ctas is None:
            continue
        for i, one in enumerate(tables):
            for other in tables[i + 1 :]:
                a, b = one.watches[slot], other.watches[slot]
                yield from _pairs(slot, a, b, writes_both=True)
                yield from _pairs(slot, a, b, writes_both=False)
                yield from _pairs(slot, b, a, writes_both=False)


def _pairs(slot: int, writer: SlotWatch, second: SlotWatch, *, writes_both: bool) -> Iterator[Meeting]:
    """writer wrote; second wrote too (writes_both), or read."""
    w = writer.writes
    o = second.writes if writes_both else second.reads
    words = _met(w, o)
    if not words.size:
        return
    ctas = second.write_ctas if writes_both else second.read_ctas
    assert writer.write_ctas is not None
    assert ctas is not None
    assert writer.values is not None
    assert second.values is not None
    groups: dict[tuple[int, int, bool], list[int]] = {}
    shift, low = np.uint64(Cell.SITE_SHIFT), np.uint64(MAX_SITES - 1)
    sites = np.stack([w[words] >> shift & low, o[words] >> shift & low], axis=1)
    same = (writer.values[words] == second.values[words]) & writes_both
    for place, (site, other, equal) in enumerate(
        zip(sites[:, 0].tolist(), sites[:, 1].tolist(), same.tolist(), strict=True)
    ):
        groups.setdefault((site, other, equal), []).append(place)
    for (_, _, equal), places in groups.items():
        word = int(words[places[0]])
        yield Meeting(
            kind=EventKind.RACE_WRITE if writes_both else EventKind.RACE_READ,
            harmless=equal,
            address=slot_base(slot) + 4 * word,
            first=read_cell(int(w[word])),
            first_cta=int(writer.write_ctas[word]),
            second=read_cell(int(o[word])),
            second_cta=int(ctas[word]),
            count=len(places),
        )
