"""Floating-point instructions and conversions against hand-written bits and exact arithmetic."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from judge.backends.cpu.interpreter.rounding import BF16, E4M3, E5M2, F16, F32, decode, encode, fused64, round_to
from tests.fuzz.evaluate import bits_of, evaluate

INF, NAN = math.inf, math.nan
ONE = 0x3F80_0000
ONE64 = 0x3FF0_0000_0000_0000
TINY = 0x0000_0001
MAX_F32 = 0x7F7F_FFFF
QNAN = 0x7FFF_FFFF

TABLE = [
    ("add.f32", "f32", "f32 f32", [((1.0, 2.0), 3.0), ((INF, -INF), QNAN), ((-0.0, 0.0), 0.0)]),
    (
        "add.rm.f32",
        "f32",
        "f32 f32",
        [((1.0, -1.0), 0x8000_0000), ((1.0, TINY), ONE), ((-1.0, 0x8000_0001), 0xBF80_0001)],
    ),
    ("add.rp.f32", "f32", "f32 f32", [((1.0, TINY), ONE + 1)]),
    ("add.rz.f32", "f32", "f32 f32", [((MAX_F32, MAX_F32), MAX_F32)]),
    ("add.ftz.f32", "f32", "f32 f32", [((TINY, TINY), 0), ((0x8000_0001, 0x8000_0001), 0x8000_0000)]),
    ("add.sat.f32", "f32", "f32 f32", [((1.0, 2.0), 1.0), ((-1.0, -2.0), 0.0), ((NAN, 1.0), 0.0)]),
    ("sub.f32", "f32", "f32 f32", [((1.0, 3.0), -2.0)]),
    ("mul.f32", "f32", "f32 f32", [((TINY, 0.5), 0), ((0.0, INF), QNAN)]),
    ("mul.rp.f32", "f32", "f32 f32", [((TINY, 0.5), TINY)]),
    # (1 + 2^-22)^2 - 1 = 2^-21 + 2^-44: the last bit survives only without an intermediate rounding.
    ("fma.rn.f32", "f32", "f32 f32 f32", [((ONE + 2, ONE + 2, -1.0), 0x3500_0001), ((0.0, 1.0, -0.0), 0.0)]),
    (
        "fma.rn.f64",
        "f64",
        "f64 f64 f64",
        [((ONE64 + 2, ONE64 + 2, -1.0), 0x3CD0_0000_0000_0001)],
    ),
    ("div.rn.f32", "f32", "f32 f32", [((1.0, 3.0), 0x3EAA_AAAB), ((1.0, 0.0), INF), ((0.0, 0.0), QNAN)]),
    ("div.rz.f32", "f32", "f32 f32", [((1.0, 3.0), 0x3EAA_AAAA), ((-1.0, 3.0), 0xBEAA_AAAA), ((1.0, -0.0), -INF)]),
    ("div.rm.f32", "f32", "f32 f32", [((-1.0, 3.0), 0xBEAA_AAAB)]),
    ("div.rp.f64", "f64", "f64 f64", [((1.0, 3.0), 0x3FD5_5555_5555_5556)]),
    ("rcp.rn.f32", "f32", "f32", [((4.0,), 0.25), ((-0.0,), -INF), ((INF,), 0.0)]),
    ("sqrt.rn.f32", "f32", "f32", [((2.0,), 0x3FB5_04F3), ((-1.0,), QNAN), ((-0.0,), -0.0)]),
    ("sqrt.rp.f32", "f32", "f32", [((2.0,), 0x3FB5_04F4)]),
    ("sqrt.rm.f64", "f64", "f64", [((2.0,), 0x3FF6_A09E_667F_3BCC)]),
    ("rsqrt.approx.f32", "f32", "f32", [((4.0,), 0.5), ((0.0,), INF), ((-1.0,), QNAN)]),
    ("ex2.approx.f32", "f32", "f32", [((3.0,), 8.0), ((-INF,), 0.0), ((128.0,), INF)]),
    ("ex2.approx.ftz.f32", "f32", "f32", [((-127.0,), 0.0)]),
    ("lg2.approx.f32", "f32", "f32", [((8.0,), 3.0), ((0.0,), -INF), ((-1.0,), QNAN)]),
    ("sin.approx.f32", "f32", "f32", [((0.0,), 0.0), ((INF,), QNAN)]),
    ("cos.approx.f32", "f32", "f32", [((0.0,), 1.0)]),
    ("tanh.approx.f32", "f32", "f32", [((INF,), 1.0), ((0.0,), 0.0)]),
    ("neg.f32", "f32", "f32", [((1.0,), -1.0), ((0.0,), -0.0)]),
    ("abs.ftz.f32", "f32", "f32", [((0x8000_0001,), 0)]),
    ("min.f32", "f32", "f32 f32", [((NAN, 1.0), 1.0), ((0.0, -0.0), -0.0), ((NAN, NAN), QNAN)]),
    ("max.f32", "f32", "f32 f32", [((1.0, NAN), 1.0), ((-0.0, 0.0), 0.0)]),
    ("max.NaN.f32", "f32", "f32 f32", [((1.0, NAN), QNAN)]),
    ("min.xorsign.abs.f32", "f32", "f32 f32", [((-3.0, 2.0), -2.0), ((-3.0, -4.0), 3.0)]),
    ("copysign.f32", "f32", "f32 f32", [((-1.0, 2.0), -2.0), ((1.0, -2.0), 2.0)]),
    ("add.f16", "f16", "f16 f16", [((1.0, 2.0), 3.0), ((65504.0, 16.0), 0x7C00), ((65504.0, 15.0), 0x7BFF)]),
    # 1.0009765625^2 + 2^-24: rounding the product first would lose the tie.
    ("fma.rn.f16", "f16", "f16 f16 f16", [((0x3C01, 0x3C01, 0x0001), 0x3C02), ((1.0, 1.0, 1.0), 2.0)]),
    ("fma.rn.relu.f16", "f16", "f16 f16 f16", [((-1.0, 1.0, 0.0), 0), ((NAN, 1.0, 0.0), 0x7FFF)]),
    ("add.rn.bf16", "bf16", "bf16 bf16", [((0x3F80, 0x3F80), 0x4000), ((0x3F80, 0x3B80), 0x3F80)]),
    ("add.f16x2", "f16x2", "f16x2 f16x2", [((0x3C00_4000, 0x3C00_3C00), 0x4000_4200)]),
    ("mul.sat.f16x2", "f16x2", "f16x2 f16x2", [((0x4000_C000, 0x4000_4000), 0x3C00_0000)]),
    ("max.bf16x2", "bf16x2", "bf16x2 bf16x2", [((0x3F80_BF80, 0x4000_0000), 0x4000_0000)]),
]


@pytest.mark.parametrize(("spelling", "result", "sources", "cases"), TABLE, ids=[row[0] for row in TABLE])
def test_float_instruction(spelling: str, result: str, sources: str, cases: list):
    found = evaluate(spelling, [result], sources.split(), [operands for operands, _ in cases])
    assert [hex(v) for v in found] == [hex(bits_of(expected, result)) for _, expected in cases]


CONVERSIONS = [
    ("cvt.rzi.s32.f32", "s32", "f32", [(1.9, 1), (-1.9, -1), (3e9, 0x7FFF_FFFF), (-3e9, -(1 << 31)), (NAN, 0)]),
    ("cvt.rni.s32.f32", "s32", "f32", [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0)]),
    ("cvt.rmi.s32.f32", "s32", "f32", [(-0.5, -1), (1.5, 1)]),
    ("cvt.rpi.u32.f32", "u32", "f32", [(0.1, 1), (-5.0, 0), (INF, 0xFFFF_FFFF)]),
    ("cvt.rzi.u8.f32", "u16", "f32", [(300.0, 255), (-1.0, 0)]),
    ("cvt.rzi.s8.f32", "s16", "f32", [(-300.0, 0xFF80)]),
    ("cvt.rzi.s64.f32", "s64", "f32", [(NAN, 1 << 63), (1e30, (1 << 63) - 1)]),
    ("cvt.rzi.s32.f64", "s32", "f64", [(NAN, 1 << 31), (-1e10, 1 << 31)]),
    ("cvt.rn.f32.s32", "f32", "s32", [(0x0100_0001, 16777216.0), (-1, -1.0)]),
    ("cvt.rp.f32.s32", "f32", "s32", [(0x0100_0001, 16777218.0)]),
    ("cvt.rn.f32.u64", "f32", "u64", [((1 << 63) + (1 << 39) + 1, 0x5F00_0001), ((1 << 63) + (1 << 39), 0x5F00_0000)]),
    ("cvt.rz.f64.u64", "f64", "u64", [((1 << 64) - 1, 0x43EF_FFFF_FFFF_FFFF)]),
    ("cvt.s32.s8", "s32", "s32", [(0x80, 0xFFFF_FF80)]),
    ("cvt.u32.u8", "u32", "u32", [(0x180, 0x80)]),
    ("cvt.s8.s32", "s32", "s32", [(0x1FF, 0xFFFF_FFFF)]),
    ("cvt.sat.u8.s32", "u16", "s32", [(-5, 0), (300, 255), (7, 7)]),
    ("cvt.sat.s16.u32", "s16", "u32", [(0xFFFF_FFFF, 0x7FFF)]),
    ("cvt.s64.s32", "s64", "s32", [(-1, (1 << 64) - 1)]),
    ("cvt.f64.f32", "f64", "f32", [(1.5, 1.5)]),
    ("cvt.rn.f32.f64", "f32", "f64", [(1.0 + 2.0**-24, 1.0), (1e300, INF)]),
    ("cvt.rz.f32.f64", "f32", "f64", [(1e300, MAX_F32)]),
    ("cvt.rn.f16.f32", "f16", "f32", [(65519.0, 0x7BFF), (65520.0, 0x7C00), (2.0**-25, 0), (NAN, 0x7FFF)]),
    ("cvt.rn.bf16.f32", "bf16", "f32", [(0x3F80_8000, 0x3F80), (0x3F81_8000, 0x3F82), (MAX_F32, 0x7F80)]),
    ("cvt.rn.relu.bf16.f32", "bf16", "f32", [(-2.0, 0)]),
    ("cvt.f32.f16", "f32", "f16", [(0x0001, 2.0**-24)]),
    ("cvt.f32.bf16", "f32", "bf16", [(0xBF80, -1.0)]),
    ("cvt.rna.tf32.f32", "b32", "f32", [(0x3F80_1000, 0x3F80_2000), (0x3F80_0FFF, ONE)]),
    ("cvt.rni.f32.f32", "f32", "f32", [(2.5, 2.0), (-0.3, -0.0)]),
    ("cvt.sat.f32.f32", "f32", "f32", [(2.5, 1.0), (NAN, 0.0)]),
    ("cvt.ftz.f32.f32", "f32", "f32", [(TINY, 0)]),
]


@pytest.mark.parametrize(("spelling", "result", "source", "cases"), CONVERSIONS, ids=[row[0] for row in CONVERSIONS])
def test_conversion(spelling: str, result: str, source: str, cases: list):
    found = evaluate(spelling, [result], [source], [(operand,) for operand, _ in cases])
    assert [hex(v) for v in found] == [hex(bits_of(expected, result)) for _, expected in cases]


def test_packing_puts_the_first_source_on_top():
    assert evaluate("cvt.rn.f16x2.f32", ["f16x2"], ["f32", "f32"], [(1.0, 2.0)]) == [0x3C00_4000]
    found = evaluate("cvt.rn.satfinite.e4m3x2.f32", ["e4m3x2"], ["f32", "f32"], [(1.0, 1e9), (NAN, -0.0)])
    assert found == [0x387E, 0x7F80]
    assert evaluate("cvt.rn.satfinite.e5m2x2.f32", ["e5m2x2"], ["f32", "f32"], [(INF, 1.0)]) == [0x7B3C]
    assert evaluate("cvt.rn.f16x2.e4m3x2", ["f16x2"], ["e4m3x2"], [(0x387E,)]) == [0x3C00_5F00]
    assert evaluate("cvt.pack.sat.s16.s32", ["b32"], ["s32", "s32"], [(-40000, 5)]) == [0x8000_0005]
    assert evaluate("cvt.pack.sat.u8.s32.b32", ["b32"], ["s32", "s32", "b32"], [(-1, 300, 0xABCD)]) == [0xABCD_00FF]


@pytest.mark.parametrize("format_", [F16, BF16, E4M3, E5M2], ids=lambda f: f.name)
def test_every_code_survives_decoding_and_encoding(format_):
    codes = np.arange(1 << format_.bits, dtype=np.uint64)
    with np.errstate(invalid="ignore"):
        values = decode(codes, format_)
        encoded, rounded = encode(values, format_), round_to(values, format_)
    numbers = ~np.isnan(values)
    assert (encoded[numbers] == codes[numbers]).all()
    assert (rounded[numbers] == values[numbers]).all()


def _neighbors(value: Fraction) -> tuple[float, float]:
    """The float32 numbers around an exact value, found by stepping from the nearest."""
    near = float(np.float32(float(value)))
    step = np.float32(-np.inf if Fraction(near) > value else np.inf)
    other = near if Fraction(near) == value else float(np.nextafter(np.float32(near), step))
    return min(near, other), max(near, other)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_fused_multiply_add_rounds_the_exact_value_once(mode: str):
    rng = random.Random(7)
    rows, expected = [], []
    while len(rows) < 300:
        a, b = (float(np.float32(rng.uniform(-2, 2))) for _ in range(2))
        c = float(np.float32(-a * b * rng.choice((1, 1 + 2**-20, 2**-30, 2**25))))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        below, above = _neighbors(exact)
        if exact == 0 or below == above:
            continue
        toward_zero = above if exact < 0 else below
        middle = (Fraction(below) + Fraction(above)) / 2
        nearest = above if exact > middle else below
        if exact == middle:
            continue
        rows.append((a, b, c))
        expected.append({"rn": nearest, "rz": toward_zero, "rm": below, "rp": above}[mode])
    found = []
    for start in range(0, len(rows), 32):
        found += evaluate(f"fma.{mode}.f32", ["f32"], ["f32", "f32", "f32"], rows[start : start + 32])
    assert found == [bits_of(v, "f32") for v in expected]


def test_fused64_agrees_with_exact_fractions_in_every_mode():
    rng = random.Random(3)
    for _ in range(500):
        a, b = rng.uniform(-2, 2), rng.uniform(-2, 2)
        c = -a * b * rng.choice((1.0, 1 + 2**-50, 2**-60, 3.0))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            continue
        assert fused64(a, b, c, "rn") == float(exact)
        assert Fraction(fused64(a, b, c, "rm")) <= exact <= Fraction(fused64(a, b, c, "rp"))
        assert math.nextafter(fused64(a, b, c, "rm"), INF) >= fused64(a, b, c, "rp")
        assert abs(Fraction(fused64(a, b, c, "rz"))) <= abs(exact)


def test_directed_quotients_enclose_the_exact_one():
    rng = np.random.default_rng(5)
    a = rng.uniform(-4, 4, 32).astype(np.float32)
    b = rng.uniform(-4, 4, 32).astype(np.float32)
    rows = [(float(x), float(y)) for x, y in zip(a, b, strict=True)]
    low, high, zero = (
        np.array(evaluate(f"div.{mode}.f32", ["f32"], ["f32", "f32"], rows), dtype=np.uint32).view(np.float32)
        for mode in ("rm", "rp", "rz")
    )
    exact = [Fraction(x) / Fraction(y) for x, y in rows]
    assert all(Fraction(float(x)) <= e <= Fraction(float(y)) for x, e, y in zip(low, exact, high, strict=True))
    assert (np.nextafter(low, np.float32(INF)) >= high).all()
    assert (np.abs(zero) == np.minimum(np.abs(low), np.abs(high))).all()


def test_rounding_saturates_only_when_asked():
    big = np.array([1e9, -1e9, np.inf])
    assert round_to(big, F16).tolist() == [INF, -INF, INF]
    assert round_to(big, F16, "rz").tolist() == [65504.0, -65504.0, INF]
    assert round_to(big, F16, satfinite=True).tolist() == [65504.0, -65504.0, 65504.0]
    assert round_to(np.array([1e39]), F32, "rm").tolist() == [float(np.finfo(np.float32).max)]
