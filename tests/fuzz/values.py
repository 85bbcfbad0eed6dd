"""Operand values that find faults: zeros, infinities, NaN, subnormals, ties, extremes, edges of shifts.

A domain is a name for the values an operand wants; `draw` gives raw bits of the domain's width.
"""

import math
import random
import struct

import numpy as np

from judge.backends.cpu.interpreter.rounding import FORMATS, Format, encode, round_to
from judge.backends.cpu.ir import WIDTHS

_INTEGER_EDGES = (0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF)
_AMOUNTS = (0, 1, 7, 8, 15, 16, 17, 30, 31, 32, 33, 48, 62, 63, 64, 65, 127, 128, 255, 256, 1 << 31, (1 << 32) - 1)


def integer(rng: random.Random, bits: int) -> int:
    top = 1 << bits
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(_INTEGER_EDGES) % top
    if kind == 1:
        return -rng.choice(_INTEGER_EDGES) % top
    if kind == 2:
        return (top // 2 + rng.randrange(-2, 3)) % top
    if kind == 3:
        return rng.getrandbits(rng.randrange(1, bits + 1))
    if kind == 4:
        return (1 << rng.randrange(bits)) + rng.randrange(-1, 2) & (top - 1)
    return rng.getrandbits(bits)


def amount(rng: random.Random) -> int:
    """A shift distance, position or length."""
    return rng.choice(_AMOUNTS) if rng.random() < 0.5 else rng.randrange(40)


def _fraction_bits(format_: Format) -> int:
    return format_.precision - 1


def floating(rng: random.Random, format_: Format) -> int:
    """Raw bits of a format: special values, numbers near ties and edges, numbers of every size."""
    bits, fraction = format_.bits, _fraction_bits(format_)
    low = 13 if format_.name == "tf32" else 0
    fraction += low
    exponent_bits = bits - 1 - fraction
    infinity = ((1 << exponent_bits) - 1) << fraction
    sign = rng.getrandbits(1) << (bits - 1)
    kind = rng.randrange(10)
    if kind == 0:
        special = (0, infinity, infinity | 1 << (fraction - 1), 1, (1 << fraction) - 1, 1 << fraction, infinity - 1)
        return sign | rng.choice(special)
    if kind == 1:
        return sign | rng.getrandbits(fraction)
    bias = (1 << (exponent_bits - 1)) - 1
    if kind <= 4:
        # Small integers and halves: exact results, ties, cancellation.
        value = rng.randrange(-20, 21) / rng.choice((1, 2, 4, 8))
        return _encode_exact(value, format_) if format_.name != "tf32" else _encode_exact(value, FORMATS["f32"])
    if kind <= 7:
        exponent = min(max(bias + rng.randrange(-8, 9), 0), 2 * bias)
    else:
        exponent = rng.randrange((1 << exponent_bits) - 1)
    mantissa = rng.getrandbits(fraction)
    if rng.random() < 0.3:
        mantissa &= ~((1 << rng.randrange(fraction)) - 1)
    return sign | exponent << fraction | mantissa


def _encode_exact(value: float, format_: Format) -> int:
    if format_.name == "f64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    single = struct.unpack("<I", struct.pack("<f", value))[0]
    if format_.name == "f32":
        return single
    if format_.name == "bf16":
        return single >> 16
    half = struct.unpack("<H", struct.pack("<e", value))[0]
    return half if format_.name == "f16" else half >> 8


def single(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def matrix_element(rng: random.Random, style: str, type_: str) -> int:
    """exact: sums of products are exact in every accumulator. rough: of every mantissa. special: infinities and NaN."""
    if type_ not in FORMATS:
        return integer(rng, WIDTHS[type_])
    format_ = FORMATS[type_]
    bits = format_.bits
    if style == "special" and rng.random() < 0.1:
        # NaN, or a number as large as infinity where the format has one.
        return format_.nan if rng.random() < 0.5 else format_.nan & ~(1 << (_fraction_bits(format_) - 1))
    if style == "rough":
        value = np.array([math.copysign(2.0 ** rng.uniform(-3, 3), rng.random() - 0.5)])
        return int(encode(round_to(value, format_), format_)[0])
    value = np.array([rng.randrange(-4, 5) / 4])
    return int(encode(value, format_)[0]) & ((1 << bits) - 1)


def packed_elements(rng: random.Random, style: str, type_: str) -> int:
    """64 bits of matrix elements."""
    bits = WIDTHS[type_]
    return sum(matrix_element(rng, style, type_) << (bits * k) for k in range(64 // bits))


def draw(rng: random.Random, domain: str) -> int:
    """Raw bits for a domain: a PTX type, "style of TYPE" for matrix elements, or one of the names below."""
    if " of " in domain:
        return packed_elements(rng, *domain.split(" of "))
    match domain:
        case "pred":
            return rng.getrandbits(1)
        case "amount":
            return amount(rng)
        case "place":
            # The manual restricts positions and lengths of bit fields to a byte.
            return amount(rng) & 0xFF
        case "pi":
            return single(rng.uniform(-math.pi, math.pi)) if rng.random() < 0.9 else rng.choice((0, 1 << 31))
        case "tame":
            # Quotients and divisors away from where div.approx may give zero.
            return single(math.copysign(2.0 ** rng.uniform(-60, 60), rng.random() - 0.5))
        case "exponent":
            return single(rng.uniform(-160, 140)) if rng.random() < 0.7 else floating(rng, FORMATS["f32"])
        case "byte":
            return rng.getrandbits(8)
        case "small":
            return rng.randrange(32)
        case "near":
            return rng.randrange(-4, 5) % (1 << 32)
        case "few":
            return rng.choice((0, 1, 5, 0xFFFF_FFFF))
        case "full":
            return 0xFFFF_FFFF
        case "clampmask":
            segment = rng.choice((0, 0x10, 0x18, 0x1C, 0x1E, 0x1F)) << 8
            return segment | rng.choice((0, 0x1F, rng.randrange(32)))
        case _:
            pass
    if domain in FORMATS:
        return floating(rng, FORMATS[domain])
    if domain.endswith("x2") and domain[:-2] in FORMATS:
        element = FORMATS[domain[:-2]]
        return floating(rng, element) | floating(rng, element) << element.bits
    if domain.endswith("x2"):
        return integer(rng, 16) | integer(rng, 16) << 16
    return integer(rng, int(domain[1:]))
