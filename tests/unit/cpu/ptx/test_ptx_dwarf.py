"""Expanded calls are read from the text of the debug sections; what is odd in them is left out."""

import pytest

from judge.backends.cpu.ptx import load
from judge.backends.cpu.ptx.dwarf import inlined_ranges, local_names
from tests.unit.cpu.ptx.ptx_text import module

# Abbreviation 5: inlined_subroutine with origin, low and high pc, call file, call line of one byte; 6: of two bytes.
ABBREVIATIONS = """.section .debug_abbrev
{
.b8 5
.b8 29,1
.b8 49,19,17,1,18,1,88,11,89,11,0,0
.b8 6,29,0,49,19,17,1,18,1,88,11,89,5,0,0
.b8 7,46,1,17,1,18,1,0,0
.b8 0
}
"""
ENTRIES = """.section .debug_info
{
.b8 7
.b64 $L__func_begin0
.b64 $L__func_end0
.b8 5
.b32 1234
.b64 $L__a
.b64 $L__d
.b8 1
.b8 40
.b8 6
.b32 99
.b64 $L__b
.b64 $L__c
.b8 2
.b8 44
.b8 1
.b8 0
}
"""


def places(body, sections):
    text = module(body) + '\n.file 1 "kernel.cu"\n.file 2 "lib.h"\n.file 3 "deep.h"\n' + sections
    found = []
    for instruction in load(text).kernels["k"].instructions[:-1]:
        chain, location = [], instruction.location
        while location is not None:
            chain.append((location.file, location.line))
            location = location.inlined_at
        found.append(chain)
    return found


BODY = """.loc 1 39 1
add.s32 %r1, %r1, 1;
$L__a: .loc 2 7 1
add.s32 %r1, %r1, 2;
$L__b: .loc 3 9 1
add.s32 %r1, %r1, 3;
$L__c: .loc 2 8 1
add.s32 %r1, %r1, 4;
$L__d: .loc 1 41 1
add.s32 %r1, %r1, 5;
"""


def test_nested_expansions_are_chained_outermost_last():
    assert places(BODY, ABBREVIATIONS + ENTRIES) == [
        [("kernel.cu", 39)],
        [("lib.h", 7), ("kernel.cu", 40)],
        [("deep.h", 9), ("lib.h", 300), ("kernel.cu", 40)],
        [("lib.h", 8), ("kernel.cu", 40)],
        [("kernel.cu", 41)],
    ]


@pytest.mark.parametrize(
    "sections",
    [
        "",
        ENTRIES,
        ABBREVIATIONS,
        ABBREVIATIONS.replace(".b8 0\n}", ".b8 200"),
        ABBREVIATIONS.replace("89,11", "87,11") + ENTRIES.replace(".b8 6\n", ".b8 9\n"),
        ABBREVIATIONS + ENTRIES.replace("$L__", "$elsewhere_"),
        ABBREVIATIONS + ".section .debug_info {}",
    ],
)
def test_without_entries_that_fit_lines_stay_as_they_are(sections):
    assert places(BODY, sections) == [
        [("kernel.cu", 39)],
        [("lib.h", 7)],
        [("deep.h", 9)],
        [("lib.h", 8)],
        [("kernel.cu", 41)],
    ]


def test_chains_have_a_limit():
    entry = ".b8 5\n.b32 1\n.b64 $L__a\n.b64 $L__d\n.b8 1\n.b8 40\n"
    found = places(BODY, ABBREVIATIONS + ".section .debug_info {\n" + entry * 500 + "}")
    assert len(found[1]) == 32


def test_a_file_without_a_name_and_a_line_of_two_bytes():
    (found,) = inlined_ranges(ABBREVIATIONS, ".b8 6\n.b32 1\n.b64 $a\n.b64 $b\n.b8 9\n.b8 1\n.b8 2\n", {})
    assert (found.start, found.end, found.call.file, found.call.line) == ("$a", "$b", "file 9", 513)


def test_bytes_of_thousands_of_digits_are_no_error_of_ours():
    endless = "9" * 6000
    assert inlined_ranges(f".b8 1, {endless}, 4", f".b8 {endless}", {}) == []
    assert local_names(f".b8 3\n.b64 __local_depot0\n.b8 35\n.b8 {endless}\n.b8 97, 98\n.b8 0 \n") != {}


@pytest.mark.parametrize("written", ["1 1,0", "1,,0", " 1 , 0 ", "99999999999999999999,0", ",", "1 "])
def test_bytes_that_inline_assembly_wrote_oddly_are_read_or_left_out(written):
    odd = ABBREVIATIONS.replace(".b8 5\n", f".b8 5\n.b8 {written}\n")
    assert isinstance(inlined_ranges(odd, ENTRIES, {1: "a", 2: "b"}), list)
    assert isinstance(inlined_ranges(ABBREVIATIONS, ENTRIES.replace(".b8 40", f".b8 {written}"), {}), list)
