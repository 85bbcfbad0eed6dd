"""Integer instructions against values from the PTX ISA, written out by hand."""

import pytest

from tests.fuzz.evaluate import evaluate

MAX, MIN = 0x7FFF_FFFF, 0x8000_0000
ALL = 0xFFFF_FFFF
ALL64 = 0xFFFF_FFFF_FFFF_FFFF

# spelling, result types, source types, [(operands, expected)]
TABLE = [
    ("add.s32", "s32", "s32 s32", [((MAX, 1), MIN), ((-1, 1), 0)]),
    ("add.sat.s32", "s32", "s32 s32", [((MAX, 1), MAX), ((MIN, -1), MIN), ((5, -7), -2 & ALL)]),
    ("sub.sat.s32", "s32", "s32 s32", [((MIN, 1), MIN), ((MAX, -1), MAX)]),
    ("sub.u16", "u16", "u16 u16", [((0, 1), 0xFFFF)]),
    ("mul.lo.s32", "s32", "s32 s32", [((0x10000, 0x10000), 0), ((-3, 7), -21 & ALL)]),
    ("mul.hi.s32", "s32", "s32 s32", [((MIN, MIN), 0x4000_0000), ((-1, 1), ALL)]),
    ("mul.hi.u32", "u32", "u32 u32", [((ALL, ALL), 0xFFFF_FFFE)]),
    ("mul.hi.u64", "u64", "u64 u64", [((ALL64, ALL64), ALL64 - 1)]),
    ("mul.hi.s64", "s64", "s64 s64", [((ALL64, ALL64), 0)]),
    ("mul.wide.s16", "s32", "s16 s16", [((-1, 2), -2 & ALL)]),
    ("mul.wide.u32", "u64", "u32 u32", [((ALL, ALL), 0xFFFF_FFFE_0000_0001)]),
    ("mul24.lo.s32", "s32", "s32 s32", [((0x80_0000, 2), 0xFF00_0000), ((0xFF00_0003, 5), 15)]),
    ("mul24.hi.u32", "u32", "u32 u32", [((0xFF_FFFF, 0xFF_FFFF), 0xFFFF_FE00)]),
    ("mad.lo.s32", "s32", "s32 s32 s32", [((3, -4, 5), -7 & ALL)]),
    ("mad.hi.sat.s32", "s32", "s32 s32 s32", [((MIN, MIN, MAX), MAX)]),
    ("mad.wide.u32", "u64", "u32 u32 u64", [((2, 3, ALL64), 5)]),
    ("div.s32", "s32", "s32 s32", [((-7, 2), -3 & ALL), ((MIN, -1), MIN), ((7, 0), ALL)]),
    ("div.u32", "u32", "u32 u32", [((7, 2), 3), ((7, 0), ALL)]),
    ("div.u64", "u64", "u64 u64", [((ALL64, 10), ALL64 // 10), ((7, 0), ALL64)]),
    ("rem.s32", "s32", "s32 s32", [((-7, 2), ALL), ((MIN, -1), 0)]),
    ("abs.s32", "s32", "s32", [((-5,), 5), ((MIN,), MIN)]),
    ("neg.s16", "s16", "s16", [((1,), 0xFFFF)]),
    ("min.s32", "s32", "s32 s32", [((-1, 1), ALL)]),
    ("min.u32", "u32", "u32 u32", [((-1, 1), 1)]),
    ("max.s16x2", "s16x2", "s16x2 s16x2", [((0xFFFF_0001, 0x0001_FFFF), 0x0001_0001)]),
    ("min.u16x2", "u16x2", "u16x2 u16x2", [((0xFFFF_0001, 0x0001_FFFF), 0x0001_0001)]),
    ("sad.s32", "s32", "s32 s32 s32", [((-5, 7, 100), 112)]),
    ("sad.u32", "u32", "u32 u32 u32", [((0, ALL, 1), 0)]),
    ("dp4a.u32.u32", "u32", "u32 u32 u32", [((0x01020304, 0x01010101, 5), 15), ((ALL, ALL, 0), 4 * 255 * 255)]),
    ("dp4a.s32.s32", "s32", "u32 u32 s32", [((0xFF02FF04, 0x01010101, 0), 4), ((ALL, ALL, -1), 3)]),
    ("dp2a.lo.s32.s32", "s32", "u32 u32 s32", [((0x0002_FFFF, 0x0000_0503, 1), 8)]),
    ("dp2a.hi.u32.u32", "u32", "u32 u32 u32", [((0x0002_0001, 0x0304_0000, 0), 10)]),
    ("and.b32", "b32", "b32 b32", [((0xF0F0, 0xFF00), 0xF000)]),
    ("not.b16", "b16", "b16", [((0x00FF,), 0xFF00)]),
    ("cnot.b32", "b32", "b32", [((0,), 1), ((7,), 0)]),
    ("shl.b32", "b32", "b32 u32", [((1, 31), MIN), ((1, 32), 0), ((1, ALL), 0)]),
    ("shr.u32", "u32", "u32 u32", [((MIN, 31), 1), ((MIN, 32), 0)]),
    ("shr.s32", "s32", "s32 u32", [((MIN, 31), ALL), ((MIN, 99), ALL), ((MAX, 99), 0)]),
    ("shr.s64", "s64", "s64 u32", [((1 << 63, 64), ALL64)]),
    ("shf.l.wrap.b32", "b32", "b32 b32 u32", [((0x8000_0000, 1, 1), 3), ((1, 2, 32), 2), ((1, 2, 33), 4)]),
    ("shf.l.clamp.b32", "b32", "b32 b32 u32", [((1, 2, 33), 1)]),
    ("shf.r.wrap.b32", "b32", "b32 b32 u32", [((2, 1, 1), 0x8000_0001), ((1, 2, 32), 1)]),
    ("shf.r.clamp.b32", "b32", "b32 b32 u32", [((1, 2, 40), 2)]),
    ("popc.b64", "u32", "b64", [((ALL64,), 64), ((0,), 0)]),
    ("clz.b32", "u32", "b32", [((1,), 31), ((0,), 32)]),
    ("brev.b32", "b32", "b32", [((1,), MIN), ((0x0000_00F1,), 0x8F00_0000)]),
    ("bfind.u32", "u32", "u32", [((0,), ALL), ((0x100,), 8)]),
    ("bfind.s32", "u32", "s32", [((-1,), ALL), ((-2,), 0), ((MIN,), 30)]),
    ("bfind.shiftamt.u32", "u32", "u32", [((0,), ALL), ((0x100,), 23)]),
    ("bfe.u32", "u32", "u32 u32 u32", [((0xABCD_1234, 8, 8), 0x12), ((ALL, 28, 8), 0xF), ((ALL, 0, 0), 0)]),
    ("bfe.s32", "s32", "s32 u32 u32", [((0x80, 0, 8), 0xFFFF_FF80), ((MIN, 28, 8), 0xFFFF_FFF8), ((MIN, 40, 4), ALL)]),
    ("bfi.b32", "b32", "b32 b32 u32 u32", [((0xF, 0, 8, 4), 0xF00), ((0, ALL, 28, 8), 0x0FFF_FFFF)]),
    ("bmsk.clamp.b32", "b32", "u32 u32", [((4, 8), 0xFF0), ((0, 32), ALL), ((30, 8), 0xC000_0000), ((32, 4), 0)]),
    ("bmsk.wrap.b32", "b32", "u32 u32", [((33, 2), 6), ((0, 32), 0)]),
    ("szext.clamp.s32", "s32", "s32 u32", [((0xFF, 8), ALL), ((0x7F, 8), 0x7F), ((0xFF, 0), 0), ((0xAB, 40), 0xAB)]),
    ("szext.wrap.u32", "u32", "u32 u32", [((0xFFFF, 36), 0xF)]),
    ("prmt.b32", "b32", "b32 b32 b32", [((0x44332211, 0x88776655, 0x7410), 0x88552211), ((0x80, 0, 0x8888), ALL)]),
    ("prmt.b32.f4e", "b32", "b32 b32 b32", [((0x44332211, 0x88776655, 1), 0x55443322)]),
    ("prmt.b32.b4e", "b32", "b32 b32 b32", [((0x44332211, 0x88776655, 0), 0x66778811)]),
    ("prmt.b32.rc8", "b32", "b32 b32 b32", [((0x44332211, 0, 2), 0x33333333)]),
    ("prmt.b32.ecl", "b32", "b32 b32 b32", [((0x44332211, 0, 1), 0x44332222)]),
    ("prmt.b32.ecr", "b32", "b32 b32 b32", [((0x44332211, 0, 2), 0x33332211)]),
    ("prmt.b32.rc16", "b32", "b32 b32 b32", [((0x44332211, 0, 1), 0x44334433)]),
    ("fns.b32", "b32", "b32 u32 s32", [((0b10110, 0, 2), 2), ((0b10110, 4, -2), 2), ((0b10110, 0, 9), ALL)]),
    ("slct.b32.s32", "b32", "b32 b32 s32", [((1, 2, 0), 1), ((1, 2, -1), 2)]),
    ("slct.b32.f32", "b32", "b32 b32 f32", [((1, 2, -0.0), 1), ((1, 2, float("nan")), 2), ((1, 2, -1.0), 2)]),
    ("selp.b32", "b32", "b32 b32 pred", [((1, 2, 1), 1), ((1, 2, 0), 2)]),
]


@pytest.mark.parametrize(("spelling", "result", "sources", "cases"), TABLE, ids=[row[0] for row in TABLE])
def test_integer_instruction(spelling: str, result: str, sources: str, cases: list):
    found = evaluate(spelling, result.split(), sources.split(), [operands for operands, _ in cases])
    assert [hex(v) for v in found] == [hex(expected) for _, expected in cases]


COMPARISONS = [
    ("setp.lt.s32", "s32 s32", [((-1, 0), 1), ((0, -1), 0)]),
    ("setp.lt.u32", "u32 u32", [((-1, 0), 0)]),
    ("setp.hi.u32", "u32 u32", [((-1, 0), 1), ((3, 3), 0)]),
    ("setp.ls.u16", "u16 u16", [((1, 0xFFFF), 1)]),
    ("setp.eq.b64", "b64 b64", [((1 << 40, 1 << 40), 1), ((1 << 40, 0), 0)]),
    ("setp.lt.f32", "f32 f32", [((1.0, 2.0), 1), ((float("nan"), 2.0), 0), ((-0.0, 0.0), 0)]),
    ("setp.ltu.f32", "f32 f32", [((float("nan"), 2.0), 1), ((3.0, 2.0), 0)]),
    ("setp.ne.f32", "f32 f32", [((float("nan"), float("nan")), 0)]),
    ("setp.neu.f32", "f32 f32", [((float("nan"), float("nan")), 1)]),
    ("setp.num.f64", "f64 f64", [((1.0, 2.0), 1), ((1.0, float("nan")), 0)]),
    ("setp.nan.f64", "f64 f64", [((1.0, 2.0), 0), ((1.0, float("nan")), 1)]),
    ("setp.gt.ftz.f32", "f32 f32", [((1, 0), 0)]),
    ("setp.gt.f32", "f32 f32", [((1, 0), 1)]),
    ("testp.subnormal.f32", "f32", [((1,), 1), ((1.0,), 0), ((0.0,), 0)]),
    ("testp.normal.f32", "f32", [((1,), 0), ((1.0,), 1), ((-0.0,), 1), ((float("inf"),), 0)]),
    ("testp.number.f64", "f64", [((float("inf"),), 1), ((float("nan"),), 0)]),
]


@pytest.mark.parametrize(("spelling", "sources", "cases"), COMPARISONS, ids=[row[0] for row in COMPARISONS])
def test_comparison(spelling: str, sources: str, cases: list):
    found = evaluate(spelling, ["pred"], sources.split(), [operands for operands, _ in cases])
    assert found == [expected for _, expected in cases]


def test_second_predicate_is_the_negated_comparison_joined_with_c():
    rows = [(1, 2, 1), (2, 1, 1), (1, 2, 0)]
    assert evaluate("setp.lt.s32", ["pred", "pred"], ["s32", "s32"], [r[:2] for r in rows[:2]]) == [(1, 0), (0, 1)]
    found = evaluate("setp.lt.and.s32", ["pred", "pred"], ["s32", "s32", "pred"], rows)
    assert found == [(1, 0), (0, 1), (0, 0)]


def test_packed_comparison_gives_both_halves():
    one, two = 0x3C00, 0x4000
    found = evaluate("setp.lt.f16x2", ["pred", "pred"], ["f16x2", "f16x2"], [(two << 16 | one, one << 16 | two)])
    assert found == [(1, 0)]
    assert evaluate("set.lt.f16x2.f16x2", ["f16x2"], ["f16x2", "f16x2"], [(two << 16 | one, one << 16 | two)]) == [
        0x3C00
    ]
    assert evaluate("set.gt.u32.f16x2", ["u32"], ["f16x2", "f16x2"], [(two << 16 | one, one << 16 | two)]) == [
        0xFFFF_0000
    ]


def test_set_gives_all_ones_or_one():
    assert evaluate("set.eq.u32.s32", ["u32"], ["s32", "s32"], [(3, 3), (3, 4)]) == [ALL, 0]
    assert evaluate("set.eq.f32.s32", ["f32"], ["s32", "s32"], [(3, 3), (3, 4)]) == [0x3F80_0000, 0]
