"""Races between blocks that ran side by side are found in the cells of both, wherever the word lies."""

import numpy as np
import pytest

from judge.backends.cpu.lowering.layout import Cell, EventKind
from judge.backends.cpu.watching import WatchTable, global_watch, meetings

WORDS = (1 << 15) + 9
SLOT = 3


def cell(site, byte_mask=15, flags=0):
    return np.uint64(site << Cell.SITE_SHIFT | byte_mask << Cell.BYTES_SHIFT | flags)


@pytest.fixture
def tables():
    """Two contexts with cells for one slot."""
    made = [WatchTable(8), WatchTable(8)]
    for table in made:
        table.add(SLOT, global_watch(4 * WORDS, None))
    return made


def watch(table):
    return table.watches[SLOT]


@pytest.mark.parametrize("word", [0, (1 << 15) - 1, 1 << 15, WORDS - 1])
def test_a_write_meets_a_read_at_any_word(tables, word):
    watch(tables[1]).writes[word] = cell(5)
    watch(tables[1]).write_ctas[word] = 7
    watch(tables[0]).reads[word] = cell(6)
    [met] = meetings(tables)
    assert (met.kind, met.address & 0xFFFFFFFF, met.count) == (EventKind.RACE_READ, 4 * word, 1)
    assert (met.first.site, met.first_cta, met.second.site) == (5, 7, 6)


def test_writes_of_one_pair_of_lines_are_one_meeting_with_their_count(tables):
    for word in (1, 40000 % WORDS, WORDS - 2):
        watch(tables[0]).writes[word] = cell(1)
        watch(tables[1]).writes[word] = cell(2)
    [met] = meetings(tables)
    assert (met.kind, met.count, met.harmless) == (EventKind.RACE_WRITE, 3, False)


def test_other_bytes_and_strong_accesses_do_not_meet(tables):
    watch(tables[0]).writes[4] = cell(1, byte_mask=3)
    watch(tables[1]).writes[4] = cell(2, byte_mask=12)
    watch(tables[0]).writes[5] = cell(1, flags=Cell.STRONG)
    watch(tables[1]).writes[5] = cell(2)
    watch(tables[0]).writes[6] = cell(1)
    watch(tables[1]).reads[6] = cell(2, flags=Cell.STRONG)
    assert list(meetings(tables)) == []


def test_one_context_meets_nobody(tables):
    watch(tables[0]).writes[4] = cell(1)
    watch(tables[0]).reads[4] = cell(2)
    assert list(meetings(tables[:1])) == []
    assert list(meetings(tables)) == []
