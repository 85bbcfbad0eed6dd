"""Integers and bits."""

import base64
import zlib
from itertools import pairwise

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import Generator, case, i32, normal

u32, u64 = np.uint32, np.uint64


def words(rng: Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 1 << 32, shape, dtype=u32)


@case("bits.cu")
def crc32_lines(rng):
    text, starts = rng.integers(0, 256, 300, dtype=np.uint8), np.sort(rng.integers(0, 300, 20, dtype=i32))
    expected = [zlib.crc32(text[a:b].tobytes()) for a, b in pairwise(starts)]
    return Run("crc32_lines", (1,), (32,), [text, starts, blank(19, u32), i32(19)], {2: expected})


@case("bits.cu")
def base64_encode(rng):
    x = rng.integers(0, 256, 100, dtype=np.uint8)
    expected = np.frombuffer(base64.b64encode(x.tobytes()), np.int8)
    return Run("base64_encode", (2,), (32,), [x, blank(136, np.int8), i32(100)], {1: expected})


@case("bits.cu")
def sha256_schedule(rng):
    message = words(rng, 5, 16)
    w = list(message.byteswap().astype(np.int64).T)

    def turn(v: np.ndarray, by: int) -> np.ndarray:
        return (v >> by | v << (32 - by)) & 0xFFFFFFFF

    for i in range(16, 64):
        a, b = w[i - 15], w[i - 2]
        small, large = turn(a, 7) ^ turn(a, 18) ^ a >> 3, turn(b, 17) ^ turn(b, 19) ^ b >> 10
        w.append((w[i - 16] + small + w[i - 7] + large) & 0xFFFFFFFF)
    return Run("sha256_schedule", (1,), (5,), [message, blank((5, 16), u32)], {1: np.stack(w[48:], axis=1)})


@case("bits.cu")
def transpose_bits(rng):
    x = words(rng, 3, 32)
    bits = x[:, :, None] >> np.arange(32, dtype=u32) & u32(1)
    expected = (bits.transpose(0, 2, 1) << np.arange(32, dtype=u32)).sum(2, dtype=u32)
    return Run("transpose_bits", (3,), (32,), [x, blank((3, 32), u32)], {1: expected})


@case("bits.cu")
def morton_and_gray(rng):
    x = rng.integers(0, 1 << 16, (20, 2), dtype=np.uint16)
    codes = [sum((a >> k & 1) << 2 * k | (b >> k & 1) << 2 * k + 1 for k in range(16)) for a, b in x.tolist()]
    rows = [[c, c ^ c >> 1, c, (c ^ c >> 1).bit_count() & 1] for c in codes]
    return Run("morton_and_gray", (1,), (20,), [x, blank((20, 4), u32)], {1: np.array(rows, u32)})


@case("bits.cu")
def bit_counts(rng):
    x = rng.integers(0, 1 << 63, 33, dtype=u64) >> rng.integers(0, 50, 33, dtype=u64)
    x[:2] = 0, 1 << 40
    rows = []
    for v in x.tolist():
        low, ones = v & 0xFFFFFFFF, [b for b in range(31, -1, -1) if v >> b & 1]
        row = [v.bit_count(), 64 - v.bit_length(), (v & -v).bit_length(), low.bit_count(), 32 - low.bit_length()]
        row += [(low & -low).bit_length(), int(f"{v:064b}"[::-1], 2) >> 40, ones[1] if len(ones) > 1 else -1]
        rows.append(row)
    return Run("bit_counts", (1,), (33,), [x, blank((33, 8), i32)], {1: rows})


@case("bits.cu")
def big_multiply(rng):
    a, b = words(rng, 12, 4), words(rng, 12, 4)
    a[0] = b[0] = 0xFFFFFFFF
    rows = []
    for p, q in zip(a, b, strict=True):
        product = int.from_bytes(p.tobytes(), "little") * int.from_bytes(q.tobytes(), "little")
        rows.append(np.frombuffer(product.to_bytes(32, "little"), u32))
    return Run("big_multiply", (1,), (12,), [a, b, blank((12, 8), u32)], {2: np.stack(rows)})


@case("bits.cu")
def power_modulo(rng):
    base, exponent = rng.integers(0, 1 << 63, 20, dtype=u64), words(rng, 20)
    exponent[3] = 0
    expected = [pow(b, e, (1 << 61) - 1) for b, e in zip(base.tolist(), exponent.tolist(), strict=True)]
    return Run("power_modulo", (1,), (20,), [base, exponent, blank(20, u64)], {2: np.array(expected, u64)}, rtol=0)


@case("bits.cu")
def packed_lanes(rng):
    a, b = words(rng, 25), words(rng, 25)
    b[:5] = a[:5] ^ u32(0xFF00)
    p, q = a.view(np.uint8).astype(int), b.view(np.uint8).astype(int)
    p2, q2 = a.view(np.int16).astype(int), b.view(np.int16).astype(int)
    quads = [p + q, abs(p - q), 255 * (p == q), np.minimum(p + q, 255), (p + q + 1) // 2, np.minimum(p, q)]
    add, difference, equal, saturated, average, least = (v.astype(np.uint8).view(u32) for v in quads)
    pairs = [v.astype(np.int16).view(u32) for v in (p2 - q2, np.maximum(p2, q2))]
    expected = np.stack([add, pairs[0], difference, pairs[1], equal, saturated, average, least], axis=1)
    return Run("packed_lanes", (1,), (25,), [a, b, blank((25, 8), u32)], {2: expected})


@case("bits.cu")
def integer_intrinsics(rng):
    x = words(rng, 30, 2).view(i32)

    def low24(v: int) -> int:
        return (v & 0xFFFFFF) - (v << 1 & 0x1000000)

    rows = []
    for a, b in x.tolist():
        ua, ub = a & 0xFFFFFFFF, b & 0xFFFFFFFF
        rest = int(np.fmod(b, 1000)) | 1
        row = [a * b >> 32, a + b >> 1, a + b + 1 >> 1, abs(a - b) + 9, low24(a) * low24(b), abs(ua - ub) + 3]
        row += [abs(int(np.fmod(a, 1000))), ua * ub >> 32, int(np.trunc(a / rest)), a * b >> 16]
        rows.append([v & 0xFFFFFFFF for v in row])
    expected = np.array(rows, u32).view(i32)
    return Run("integer_intrinsics", (1,), (30,), [x, blank((30, 10), i32)], {1: expected}, rtol=0, atol=0)


@case("bits.cu")
def bit_fields(rng):
    x, data = normal(rng, 20), rng.integers(0, 256, 60, dtype=np.uint8)
    u = x.view(u32)
    fields = u >> u32(31) | ((u >> u32(23)) + u32(1) & u32(255)) << u32(1) | u << u32(9)
    triples = data.reshape(20, 3).astype(np.uint16)
    expected = {1: fields, 3: triples[:, 0] | triples[:, 1] << np.uint16(8)}
    return Run("bit_fields", (1,), (20,), [x, blank(20, u32), data, blank(20, np.uint16)], expected)


@case("bits.cu")
def utf8_lengths(rng):
    lines = ["naïve café", "Ω≈ç√∫", "plain", "漢字かな交じり文、そして more of the same"]
    rows = [line.encode().ljust(64, b"\0") for line in lines]
    text = np.frombuffer(b"".join(rows), np.int8).reshape(4, 64)
    expected = [len(line) for line in lines]
    return Run("utf8_lengths", (4,), (32,), [text, blank(4, i32), i32(16)], {1: expected})
