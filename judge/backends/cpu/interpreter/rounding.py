"""Floating-point formats and the one place where a value is rounded to one of them.

Values of every format but f64 travel as float64 arrays, which hold them exactly. A result is first
formed so that rounding it once more is harmless (exact, or rounded to odd), then rounded here.
f64 itself cannot be widened in NumPy: its fused and directed operations go through integers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Raw = NDArray[np.uint64]

MODES = ("rn", "rz", "rm", "rp", "rna")
"""Nearest even, toward zero, toward minus infinity, toward plus infinity, nearest with ties away."""


@dataclass(frozen=True)
class Format:
    """precision counts the implicit bit; min_exponent is that of the smallest normal number."""

    name: str
    bits: int
    precision: int
    min_exponent: int
    largest: float
    nan: int
    has_infinity: bool = True

    @property
    def smallest_normal(self) -> float:
        return math.ldexp(1.0, self.min_exponent)


F16 = Format("f16", 16, 11, -14, 65504.0, 0x7FFF)
BF16 = Format("bf16", 16, 8, -126, math.ldexp(255.0, 120), 0x7FFF)
F32 = Format("f32", 32, 24, -126, math.ldexp(2.0**24 - 1, 104), 0x7FFF_FFFF)
TF32 = Format("tf32", 32, 11, -126, math.ldexp(2047.0, 117), 0x7FFF_FFFF)
F64 = Format("f64", 64, 53, -1022, np.finfo(np.float64).max.item(), 0x7FF8_0000_0000_0000)
E4M3 = Format("e4m3", 8, 4, -6, 448.0, 0x7F, has_infinity=False)
E5M2 = Format("e5m2", 8, 3, -14, 57344.0, 0x7F)

FORMATS = {f.name: f for f in (F16, BF16, F32, TF32, F64, E4M3, E5M2)}
PACKED = {"f16x2": F16, "bf16x2": BF16, "e4m3x2": E4M3, "e5m2x2": E5M2}


def format_of(type_: str) -> tuple[Format, int]:
    """(format of one element, elements) of a floating-point type name."""
    if type_ in PACKED:
        return PACKED[type_], 2
    return FORMATS[type_], 1


def _e4m3_value(code: int) -> float:
    sign = -1.0 if code & 0x80 else 1.0
    exponent, fraction = (code >> 3) & 15, code & 7
    if code & 0x7F == 0x7F:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, -9)
    return sign * math.ldexp(8 + fraction, exponent - 10)


_E4M3_VALUES = np.array([_e4m3_value(code) for code in range(256)])


def decode(raw: Raw, format_: Format) -> Floats:
    """Bit patterns to their values; any shape."""
    if format_ is F64:
        return raw.view(np.float64)
    if format_ in (F32, TF32):
        return raw.astype(np.uint32).view(np.float32).astype(np.float64)
    if format_ is BF16:
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if format_ is F16:
        return raw.astype(np.uint16).view(np.float16).astype(np.float64)
    if format_ is E5M2:
        return (raw.astype(np.uint16) << np.uint16(8)).view(np.float16).astype(np.float64)
    return _E4M3_VALUES[raw.astype(np.uint8)]


def encode(values: Floats, format_: Format) -> Raw:
    """Values that are already numbers of the format to bit patterns; a NaN becomes the canonical one."""
    if format_ is F64:
        raw = np.ascontiguousarray(values).view(np.uint64).copy()
    elif format_ in (F32, TF32):
        raw = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    elif format_ is BF16:
        raw = (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint64)
    elif format_ is F16:
        raw = values.astype(np.float16).view(np.uint16).astype(np.uint64)
    elif format_ is E5M2:
        raw = (values.astype(np.float16).view(np.uint16) >> np.uint16(8)).astype(np.uint64)
    else:
        # Codes 0 to 0x7E rise with their values, so a search finds the code of an exact value.
        codes = np.searchsorted(_E4M3_VALUES[:0x7F], np.abs(values)).astype(np.uint64)
        raw = codes | np.where(np.signbit(values), np.uint64(0x80), np.uint64(0))
    return np.where(np.isnan(values), np.uint64(format_.nan), raw)


def round_to(values: Floats, format_: Format, mode: str = "rn", *, satfinite: bool = False) -> Floats:
    """The number of the format that `values` rounds to; overflow goes to infinity or the largest number by mode.

    satfinite: overflow and infinities become the largest number (cvt.satfinite).
    """
    if format_ is F64:
        return values
    if format_ is F32 and mode == "rn" and not satfinite:
        return values.astype(np.float32).astype(np.float64)
    _, exponents = np.frexp(values)
    step = np.maximum(exponents - format_.precision, format_.min_exponent - format_.precision + 1)
    scaled = np.ldexp(values, -step)
    rounded = np.ldexp(_ROUNDERS[mode](scaled), step)
    rounded = np.where(np.isfinite(values), rounded, values)
    too_large = np.abs(rounded) > format_.largest
    infinite = np.isinf(values)
    stays_finite = too_large & ~infinite & _stops_at_largest(values, mode)
    if satfinite:
        stays_finite = too_large
    limit = np.copysign(np.where(stays_finite, format_.largest, np.inf), values)
    if not format_.has_infinity:
        limit = np.where(np.isinf(limit), np.nan, limit)
    result = np.where(too_large, limit, rounded)
    return np.copysign(result, values)


def _away(x: Floats) -> Floats:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


_ROUNDERS: dict[str, Callable[[Floats], Floats]] = {
    "rn": np.rint,
    "rz": np.trunc,
    "rm": np.floor,
    "rp": np.ceil,
    "rna": _away,
}


def _stops_at_largest(values: Floats, mode: str) -> NDArray[np.bool_]:
    """Where a finite value too large for a format becomes its largest number and not infinity."""
    if mode == "rz":
        return np.ones(values.shape, dtype=bool)
    if mode == "rm":
        return values > 0
    if mode == "rp":
        return values < 0
    return np.zeros(values.shape, dtype=bool)


def flush(values: Floats, format_: Format) -> Floats:
    """.ftz: subnormal numbers become zero of the same sign."""
    return np.where(np.abs(values) < format_.smallest_normal, np.copysign(0.0, values), values)


def saturate(values: Floats) -> Floats:
    """.sat: clamp to [+0, 1]; NaN becomes +0."""
    return np.where(values > 0, np.minimum(values, 1.0), 0.0)


def fused(a: Floats, b: Floats, c: Floats, mode: str) -> Floats:
    """a * b + c rounded to odd in float64, for operands of at most 24 significant bits.

    Rounding the result to 24 bits or fewer gives what one rounding of the exact value gives. mode
    matters only for the sign of an exact zero.
    """
    product = a * b
    total = product + c
    # The error of the sum, exactly (Knuth's TwoSum); NaN where infinities take part.
    part = total - product
    error = (product - (total - part)) + (c - part)
    inexact = np.isfinite(total) & (error != 0) & ~np.isnan(error)
    bits = total.view(np.int64)
    even = (bits & 1) == 0
    toward = np.where((error > 0) == (total > 0), 1, -1)
    odd = np.where(inexact & even, bits + toward, bits).view(np.float64)
    if mode == "rm":
        both_plus = (product == 0) & (c == 0) & ~np.signbit(product) & ~np.signbit(c)
        odd = np.where((odd == 0) & ~both_plus, -0.0, odd)
    return odd


def quotient(a: Floats, b: Floats, format_: Format, mode: str) -> Floats:
    """a / b rounded once to a format of at most 24 bits."""
    nearest = round_to(a / b, format_, "rn")
    if mode == "rn":
        return nearest
    # nearest * |b| is exact in float64, so its sign against the dividend is the sign of the rounding error.
    dividend = np.where(np.signbit(b), -a, a)
    return _direct(nearest, nearest * np.abs(b) - dividend, format_, mode)


def square_root(a: Floats, format_: Format, mode: str) -> Floats:
    """sqrt(a) rounded once to a format of at most 24 bits."""
    nearest = round_to(np.sqrt(a), format_, "rn")
    if mode == "rn":
        return nearest
    return _direct(nearest, nearest * nearest - a, format_, mode)


def _direct(nearest: Floats, excess: Floats, format_: Format, mode: str) -> Floats:
    """Move a value rounded to nearest by one step where the mode wants the other neighbor.

    excess has the sign of (nearest - exact); it is NaN or infinite where there is nothing to move,
    save that a finite quotient may have overflowed to infinity.
    """
    if format_ is not F32:
        raise ValueError(f"directed rounding of {format_.name} quotients is not defined")
    above, below = excess > 0, excess < 0
    down = np.nextafter(nearest.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
    up = np.nextafter(nearest.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    if mode == "rm":
        return np.where(above, down, nearest)
    if mode == "rp":
        return np.where(below, up, nearest)
    moved = np.where(above & (nearest > 0), down, nearest)
    return np.where(below & (nearest < 0), up, moved)


def round_ratio(numerator: int, denominator: int, mode: str) -> float:
    """The float64 that a non-zero ratio of integers rounds to; denominator is positive."""
    negative = numerator < 0
    n, d = abs(numerator), denominator
    exponent = n.bit_length() - d.bit_length()
    # floor(log2(n / d)) is that or one less.
    if (n << max(-exponent, 0)) < (d << max(exponent, 0)):
        exponent -= 1
    step = max(exponent - F64.precision + 1, F64.min_exponent - F64.precision + 1)
    whole, rest = divmod(n << max(-step, 0), d << max(step, 0))
    doubled = 2 * rest - (d << max(step, 0))
    away = {
        "rn": doubled > 0 or (doubled == 0 and whole & 1 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    whole += away
    try:
        magnitude = math.ldexp(whole, step)
    except OverflowError:
        to_infinity = mode == "rn" or (mode == "rp" and not negative) or (mode == "rm" and negative)
        magnitude = math.inf if to_infinity else F64.largest
    return -magnitude if negative else magnitude


def fused64(a: float, b: float, c: float, mode: str) -> float:
    """a * b + c in float64 with one rounding."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    (an, ad), (bn, bd), (cn, cd) = (x.as_integer_ratio() for x in (a, b, c))
    denominator = ad * bd
    numerator = an * bn * cd + cn * denominator
    if numerator:
        return round_ratio(numerator, denominator * cd, mode)
    signs = math.copysign(1, a) * math.copysign(1, b), math.copysign(1, c)
    if signs[0] == signs[1]:
        return math.copysign(0.0, c)
    return -0.0 if mode == "rm" else 0.0


def product64(a: float, b: float, mode: str) -> float:
    exact = a * b
    if mode == "rn" or not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return exact
    (an, ad), (bn, bd) = a.as_integer_ratio(), b.as_integer_ratio()
    return round_ratio(an * bn, ad * bd, mode)


def quotient64(a: float, b: float, mode: str) -> float:
    """a / b in float64. Division by zero gives an infinity or NaN."""
    if b == 0 or not (math.isfinite(a) and math.isfinite(b)) or a == 0:
        return float(np.float64(a) / np.float64(b))
    (an, ad), (bn, bd) = a.as_integer_ratio(), b.as_integer_ratio()
    numerator, denominator = an * bd, ad * bn
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    return round_ratio(numerator, denominator, mode)


def square_root64(a: float, mode: str) -> float:
    if not a > 0 or math.isinf(a):
        return math.nan if a < 0 else a
    numerator, denominator = a.as_integer_ratio()
    # Denominators are powers of two: make it an even one, then take 64 bits more than needed and a sticky bit.
    shift = denominator.bit_length() - 1
    if shift % 2:
        numerator, shift = numerator * 2, shift + 1
    extra = 64 + max(0, 128 - numerator.bit_length() // 2)
    scaled = numerator << (2 * extra)
    root = math.isqrt(scaled)
    sticky = int(root * root != scaled)
    return round_ratio(2 * root + sticky, 1 << (shift // 2 + extra + 1), mode)
