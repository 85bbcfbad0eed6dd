"""Products from fragments filled by hand, and products whose work is shared out in other ways."""

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import Generator, case, f32, from_bf16, i32, normal, to_bf16, wide


@case("fragments.cu")
def mma_bf16(rng):
    a, b = to_bf16(normal(rng, 32, 48)), to_bf16(normal(rng, 8, 48))
    expected = wide(from_bf16(a)) @ wide(from_bf16(b)).T
    return Run("mma_bf16", (2,), (32,), [a, b, blank((32, 8)), i32(24)], {2: expected}, atol=1e-4)


@case("fragments.cu")
def mma_tf32_split(rng):
    a, b = normal(rng, 16, 32), normal(rng, 8, 32)
    return Run("mma_tf32_split", (1,), (32,), [a, b, blank((16, 8)), i32(32)], {2: wide(a) @ wide(b).T}, atol=2e-5)


@case("fragments.cu")
def mma_double(rng):
    a, b = normal(rng, 8, 12, dtype=np.float64), normal(rng, 8, 12, dtype=np.float64)
    return Run("mma_double", (1,), (32,), [a, b, blank((8, 8), np.float64), i32(12)], {2: a @ b.T}, rtol=1e-12)


@case("fragments.cu")
def mma_mixed_bytes(rng):
    a, b = rng.integers(-128, 128, (16, 32), dtype=np.int8), rng.integers(0, 256, (8, 32), dtype=np.uint8)
    expected = a.astype(int) @ b.astype(int).T
    return Run("mma_mixed_bytes", (1,), (32,), [a, b, blank((16, 8), i32), i32(8)], {2: expected})


@case("fragments.cu")
def mma_fp8(rng):
    a, b = rng.integers(0, 256, (16, 32), dtype=np.uint8), rng.integers(0, 256, (8, 32), dtype=np.uint8)
    # Below 2, and no NaN: a GPU keeps few bits of what is small beside the largest product.
    a, b = a & np.uint8(0xBF), b & np.uint8(0xBF)
    exponent, fraction = a.astype(int) >> 3 & 15, a & 7
    size = np.where(exponent == 0, fraction * 2.0**-9, (8.0 + fraction) * 2.0 ** (exponent - 10))
    va = np.where(a & 0x80, -size, size)
    vb = wide((b.astype(np.uint16) << np.uint16(8)).view(np.float16))
    return Run("mma_fp8", (1,), (32,), [a, b, blank((16, 8))], {2: va @ vb.T}, rtol=2e-3, atol=1e-2)


@case("fragments.cu")
def mma_half_stored(rng):
    a, b = normal(rng, 16, 32, dtype=np.float16), normal(rng, 16, 32, dtype=np.float16)
    arguments = [a, b, blank((16, 16), np.float16), i32(16)]
    return Run("mma_half_stored", (1,), (32,), arguments, {2: wide(a) @ wide(b).T}, rtol=5e-3, atol=3e-2)


@case("fragments.cu")
def matrix_moves(rng):
    x = rng.integers(0, 1 << 16, (8, 8), dtype=np.uint16)
    arguments = [x, blank((8, 8), np.uint16), blank((8, 8), np.uint16)]
    return Run("matrix_moves", (1,), (32,), arguments, {1: x.T, 2: x})


@case("fragments.cu")
def row_sums_mbarrier(rng):
    x = rng.integers(-99, 99, (7, 64), dtype=i32)
    expected = (x * np.arange(1, 8)[:, None]).sum(0)
    return Run("row_sums_mbarrier", (1,), (96,), [x, blank(64, i32), i32(7)], {1: expected})


def operands(rng: Generator, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = normal(rng, m, k), normal(rng, k, n)
    return a, b, wide(a) @ wide(b)


@case("gemm.cu")
def gemm_stream_k(rng):
    a, b, c = operands(rng, 32, 48, 40)
    arguments = [a, b, np.zeros((32, 48), f32), i32(32), i32(48), i32(40)]
    return Run("gemm_stream_k", (4,), (64,), arguments, {2: c}, atol=1e-4)


@case("gemm.cu")
def gemm_outer_warp(rng):
    a, b, c = operands(rng, 16, 32, 21)
    arguments = [np.ascontiguousarray(a.T), b, blank((16, 32)), i32(21)]
    return Run("gemm_outer_warp", (1,), (32,), arguments, {2: c}, atol=1e-4)


@case("gemm.cu")
def gemm_transposed(rng):
    a, b, c0 = normal(rng, 20, 13), normal(rng, 17, 20), normal(rng, 13, 17)
    expected = 1.5 * (wide(a).T @ wide(b).T) - 0.5 * wide(c0)
    sizes = [i32(13), i32(17), i32(20), f32(1.5), f32(-0.5)]
    return Run("gemm_transposed", (3, 2), (8, 8), [a, b, c0, *sizes], {2: expected}, atol=1e-4)


@case("gemm.cu")
def syrk_triangle(rng):
    a = normal(rng, 21, 12)
    expected = np.tril(wide(a) @ wide(a).T)
    blocks = 3 * 4 // 2
    arguments = [a, np.zeros((21, 21), f32), i32(21), i32(12)]
    return Run("syrk_triangle", (blocks,), (8, 8), arguments, {1: expected}, atol=1e-4)


@case("gemm.cu")
def gemm_grouped(rng):
    sizes = np.array([[5, 9, 4], [12, 3, 8], [1, 1, 1], [8, 8, 20]], i32)
    a, b = [normal(rng, m, k) for m, _, k in sizes], [normal(rng, k, n) for _, n, k in sizes]
    expected = np.concatenate([(wide(x) @ wide(y)).ravel() for x, y in zip(a, b, strict=True)])
    flat = [np.concatenate([x.ravel() for x in part]) for part in (a, b)]
    arguments = [sizes, *flat, blank(expected.size), i32(4)]
    return Run("gemm_grouped", (5,), (4, 8), arguments, {3: expected}, atol=1e-4)
