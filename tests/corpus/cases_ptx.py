"""Instructions that only asm reaches."""

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import case, f32, i32, normal, wide

u32 = np.uint32


@case("ptx.cu")
def release_acquire(rng):
    x = rng.integers(-99, 99, 64, dtype=i32)
    arguments = [x, blank(64, i32), np.zeros(1, i32), blank(64, i32)]
    return Run("release_acquire", (2,), (64,), arguments, {3: 3 * x[::-1]})


@case("ptx.cu")
def memory_hints(rng):
    x = normal(rng, 40, 4)
    total = (wide(x[:, 0]) + x[:, 3]).sum()
    arguments = [x, blank((40, 4)), np.zeros(1), np.zeros(2, u32)]
    expected = {1: x[:, ::-1], 2: [total], 3: np.array([0xFFFFFFFF, 39], u32)}
    return Run("memory_hints", (2,), (20,), arguments, expected)


@case("ptx.cu")
def cache_policies(rng):
    x = normal(rng, 32, 4)
    kept = np.arange(4) < (np.arange(32) % 5)[:, None]
    out = np.concatenate([x, np.where(kept, x, f32(0)), np.zeros_like(x)])
    column = x[::-1, 0]
    sums = np.concatenate([column, np.array([32, 64, 1, 2], f32), np.stack([column, -column], axis=1).ravel()])
    arguments = [x, blank((96, 4)), np.concatenate([blank(32), np.zeros(4, f32), blank(64)])]
    return Run("cache_policies", (1,), (32,), arguments, {1: out, 2: sums})


@case("ptx.cu")
def bits_in_detail(rng):
    x = rng.integers(1, 1 << 32, 25, dtype=u32) >> rng.integers(0, 20, 25, dtype=u32)
    rows = []

    def signed(v: int, width: int) -> int:
        v &= (1 << width) - 1
        return v - (v >> (width - 1) << width)

    for v in x.tolist():
        top = v if v < 1 << 31 else ~v & 0xFFFFFFFF
        shift = 32 - top.bit_length() if top else 0xFFFFFFFF
        row = [v.bit_length() - 1, shift, signed(v >> 5, 11), (v & 0x1FFF) << 9, v ^ v >> 7 ^ 0x0F0F0F0F]
        row += [(v >> 16 & 0xFF) * 0x01010101, signed(v, 12), (1 << min(7, 32 - (v & 31))) - 1 << (v & 31)]
        rows.append([e & 0xFFFFFFFF for e in row])
    return Run("bits_in_detail", (1,), (25,), [x, blank((25, 8), i32)], {1: np.array(rows, u32).view(i32)})


@case("ptx.cu")
def floats_in_detail(rng):
    x = normal(rng, 20) * f32(3)
    x[:4] = 2.5, -0.5, 0.25, 3.5
    w = wide(x)

    def directed(exact: np.ndarray, toward: np.ndarray) -> np.ndarray:
        """The neighbor of exact in float32 on the side of toward."""
        near = exact.astype(f32)
        past = np.abs(wide(near) - exact) > 0
        wrong = past & (np.sign(wide(near) - exact) != np.sign(toward - exact))
        return np.where(wrong, np.nextafter(near, toward.astype(f32)), near)

    one = float(u32(0x3F800001).view(f32))
    cut = directed(w + one, np.zeros(20))
    up = directed(w * w, np.full(20, 1e30))
    columns = [cut, up, np.clip(w / 2 + 0.5, 0, 1), np.rint(w), np.copysign(3, w), np.trunc(w)]
    columns += [np.minimum(w, 0.25), np.where(w > 0, 1, -2)]
    expected = np.stack(columns, axis=1).astype(f32)
    return Run("floats_in_detail", (1,), (20,), [x, blank((20, 8))], {1: expected}, rtol=0, atol=0)


@case("ptx.cu")
def packed_halves(rng):
    x = normal(rng, 30, 2, dtype=np.float16)
    square = (wide(x) * wide(x) + wide(x)).astype(np.float16)
    kept = np.maximum(square, np.float16(0))[:, ::-1]
    out = np.stack([kept, np.maximum(x, np.float16(0))], axis=1)
    arguments = [x, blank((30, 2, 2), np.float16), blank((30, 2))]
    return Run("packed_halves", (1,), (30,), arguments, {1: out, 2: square}, rtol=0, atol=0)


@case("ptx.cu")
def cluster_of_one(rng):
    x = rng.integers(0, 99, 64, dtype=i32)
    expected = x.reshape(32, 2)[:, ::-1].reshape(64) + 1000 * (np.arange(64) % 32 == 0)
    return Run("cluster_of_one", (1,), (64,), [x, blank(64, i32)], {1: expected})


@case("ptx.cu")
def branch_table(rng):
    x = rng.integers(0, 99, 40, dtype=i32)
    expected = np.choose(x & 3, [x + 100, x * x, -x, np.full(40, -1)])
    return Run("branch_table", (1,), (40,), [x, blank(40, i32)], {1: expected})
