"""The launches of the corpus: inputs, shapes that fit badly, and what NumPy gives in float64."""

import numpy as np

from tests.corpus import (  # noqa: F401 - each adds its cases
    cases_bits,
    cases_fragments,
    cases_graphs,
    cases_idioms,
    cases_images,
    cases_inference,
    cases_numerics,
    cases_ptx,
    cases_sorting,
    cases_training,
)
from tests.corpus.harness import Run, blank
from tests.corpus.registry import CASES, Case, Generator, case, f32, from_bf16, i32, normal, softmax, to_bf16, wide

__all__ = ["CASES", "Case"]

# reductions ------------------------------------------------------------------------------------


@case("reductions.cu")
def sum_atomic(rng):
    x = normal(rng, 1000)
    return Run("sum_atomic", (4,), (256,), [x, np.zeros(1, f32), i32(1000)], {1: wide(x).sum()}, atol=1e-3)


@case("reductions.cu")
def sum_tree(rng):
    x = normal(rng, 1700)
    parts = np.pad(wide(x), (0, 348)).reshape(4, 512).sum(axis=1)
    return Run("sum_tree", (4,), (256,), [x, blank(4), i32(1700)], {1: parts}, 1024, atol=1e-4)


@case("reductions.cu")
def sum_last_block(rng):
    x = normal(rng, 5000)
    return Run(
        "sum_last_block", (7,), (128,), [x, blank(7), blank(1), i32(5000)], {2: wide(x).sum(keepdims=True)}, atol=1e-3
    )


@case("reductions.cu")
def dot_vectorized(rng):
    a, b = normal(rng, 4 * 777), normal(rng, 4 * 777)
    return Run("dot_vectorized", (3,), (96,), [a, b, np.zeros(1, f32), i32(777)], {2: [wide(a) @ wide(b)]}, atol=1e-3)


@case("reductions.cu")
def max_abs(rng):
    x = normal(rng, 3333)
    expected = np.abs(x).max(keepdims=True).view(i32)
    return Run("max_abs", (2,), (256,), [x, np.zeros(1, i32), i32(3333)], {1: expected}, rtol=0, atol=0)


@case("reductions.cu")
def moments(rng):
    x = normal(rng, 5, 77) * f32(3) + f32(100)
    expected = np.stack([wide(x).mean(axis=1), wide(x).var(axis=1)], axis=1)
    return Run("moments", (5,), (32,), [x, blank((5, 2)), i32(77)], {1: expected}, rtol=1e-4)


@case("reductions.cu")
def arg_max(rng):
    x = normal(rng, 6, 901)
    return Run("arg_max", (6,), (256,), [x, blank(6, i32), i32(901)], {1: x.argmax(axis=1)})


@case("reductions.cu")
def redux_parity(rng):
    x = rng.integers(0, 1 << 32, (3, 32), dtype=np.uint32)
    parts = [np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.minimum, np.maximum, np.add]
    expected = np.stack([f.reduce(x, axis=1, dtype=np.uint32) for f in parts], axis=1)
    return Run("redux_parity", (3,), (32,), [x, blank((3, 6), np.uint32)], {1: expected})


# scans -----------------------------------------------------------------------------------------


@case("scans.cu")
def scan_hillis(rng):
    x = rng.integers(-9, 9, 200, dtype=i32)
    return Run("scan_hillis", (1,), (256,), [x, blank(200, i32), i32(200)], {1: x.cumsum()}, 2 * 256 * 4)


@case("scans.cu")
def scan_blelloch(rng):
    x = normal(rng, 251)
    expected = np.concatenate([[0], wide(x).cumsum()[:-1]])
    return Run("scan_blelloch", (1,), (128,), [x, blank(251), i32(251)], {1: expected}, 1024, atol=1e-4)


@case("scans.cu")
def scan_warps(rng):
    x = rng.integers(-9, 9, 500, dtype=i32)
    expected = np.pad(x, (0, 12)).reshape(2, 256).cumsum(axis=1).reshape(-1)[:500]
    return Run("scan_warps", (2,), (256,), [x, blank(500, i32), i32(500)], {1: expected})


@case("scans.cu")
def scan_chained(rng):
    x = rng.integers(-9, 9, 1000, dtype=i32)
    arguments = [x, blank(1000, i32), blank(8, i32), np.zeros(8, i32), i32(1000)]
    return Run("scan_chained", (8,), (128,), arguments, {1: x.cumsum()})


@case("scans.cu")
def scan_segments(rng):
    x = normal(rng, 90)
    heads = (rng.random(90) < 0.2).astype(i32)
    expected, total = [], 0.0
    for i, (v, h) in enumerate(zip(wide(x), heads, strict=True)):
        total = v if h or i % 32 == 0 else total + v
        expected.append(total)
    return Run("scan_segments", (3,), (32,), [x, heads, blank(90), i32(90)], {2: expected}, atol=1e-5)


@case("scans.cu")
def compact(rng):
    x = rng.integers(0, 100, 300, dtype=i32)
    kept = x[x % 3 == 0]
    arguments = [x, np.full(300, -1, i32), np.zeros(1, i32), i32(300)]
    # Blocks run in order, and so do the warps of each.
    return Run(
        "compact", (3,), (128,), arguments, {1: np.pad(kept, (0, 300 - kept.size), constant_values=-1)}, ordered=False
    )


# rows ------------------------------------------------------------------------------------------


@case("rows.cu")
def softmax_naive(rng):
    x = normal(rng, 19, 33) * f32(5)
    return Run("softmax_naive", (1,), (32,), [x, blank((19, 33)), i32(19), i32(33)], {1: softmax(wide(x))})


@case("rows.cu")
def softmax_block(rng):
    x = normal(rng, 5, 300) * f32(20)
    return Run("softmax_block", (5,), (128,), [x, blank((5, 300)), i32(300)], {1: softmax(wide(x))}, 1200, rtol=1e-4)


@case("rows.cu")
def softmax_online(rng):
    x = np.sort(normal(rng, 7, 75) * f32(30), axis=1)
    arguments = [x, blank((7, 75)), i32(7), i32(75)]
    return Run("softmax_online", (2,), (32, 4), arguments, {1: softmax(wide(x))}, rtol=1e-4)


@case("rows.cu")
def log_softmax_half(rng):
    x = normal(rng, 3, 130, dtype=np.float16)
    expected = np.log(softmax(wide(x)))
    return Run("log_softmax_half", (3,), (64,), [x, blank((3, 130), np.float16), i32(130)], {1: expected}, rtol=2e-3)


@case("rows.cu")
def layer_norm_rows(rng):
    x, gain, bias = normal(rng, 4, 200) + f32(7), normal(rng, 200), normal(rng, 200)
    w = wide(x)
    scaled = (w - w.mean(1, keepdims=True)) / np.sqrt(w.var(1, keepdims=True) + 1e-5)
    arguments = [x, gain, bias, blank((4, 200)), i32(200)]
    return Run("layer_norm_rows", (4,), (96,), arguments, {3: scaled * gain + bias}, rtol=1e-4, atol=1e-5)


@case("rows.cu")
def rms_norm_bf16(rng):
    x, gain = to_bf16(normal(rng, 3, 120)), to_bf16(normal(rng, 120))
    w = wide(from_bf16(x))
    expected = w / np.sqrt((w * w).mean(1, keepdims=True) + 1e-6) * from_bf16(gain)
    arguments = [x, gain, blank((3, 120), np.uint16), i32(60)]
    return Run("rms_norm_bf16", (3,), (64,), arguments, {2: expected}, rtol=5e-3, read={2: from_bf16})


@case("rows.cu")
def add_rms_norm(rng):
    x, residual, gain = normal(rng, 3, 128), normal(rng, 3, 128), normal(rng, 128)
    total = wide(x) + residual
    expected = total / np.sqrt((total * total).mean(1, keepdims=True) + 1e-6) * gain
    arguments = [x, residual, gain, blank((3, 128)), i32(32)]
    return Run("add_rms_norm", (3,), (64,), arguments, {1: total, 3: expected}, 512, rtol=1e-4)


@case("rows.cu")
def group_norm(rng):
    x = normal(rng, 2, 8, 35)
    w = wide(x).reshape(2 * 4, 2 * 35)
    expected = (w - w.mean(1, keepdims=True)) / np.sqrt(w.var(1, keepdims=True) + 1e-5)
    arguments = [x, blank((2, 8, 35)), i32(8), i32(4), i32(35)]
    return Run("group_norm", (8,), (64,), arguments, {1: expected.reshape(x.shape)}, rtol=1e-4, atol=1e-5)


# products --------------------------------------------------------------------------------------


def operands(rng: Generator, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = normal(rng, m, k), normal(rng, k, n)
    return a, b, wide(a) @ wide(b)


@case("gemm.cu")
def gemm_naive(rng):
    a, b, c = operands(rng, 21, 35, 18)
    return Run("gemm_naive", (5, 3), (8, 8), [a, b, blank((21, 35)), i32(21), i32(35), i32(18)], {2: c}, atol=1e-4)


@case("gemm.cu")
def gemm_tiled(rng):
    a, b, c = operands(rng, 37, 29, 45)
    return Run("gemm_tiled", (2, 3), (16, 16), [a, b, blank((37, 29)), i32(37), i32(29), i32(45)], {2: c}, atol=1e-4)


@case("gemm.cu")
def gemm_blocked(rng):
    a, b, c = operands(rng, 64, 128, 24)
    return Run("gemm_blocked", (2, 1), (256,), [a, b, blank((64, 128)), i32(128), i32(24)], {2: c}, atol=1e-4)


@case("gemm.cu")
def gemm_async(rng):
    a, b, c = operands(rng, 45, 64, 96)
    return Run("gemm_async", (2, 2), (256,), [a, b, blank((45, 64)), i32(45), i32(64), i32(96)], {2: c}, atol=1e-4)


@case("gemm.cu")
def gemm_split(rng):
    a, b, c = operands(rng, 9, 11, 70)
    arguments = [a, b, np.zeros((9, 11), f32), i32(9), i32(11), i32(70), i32(32)]
    return Run("gemm_split", (2, 3), (64,), arguments, {2: c}, atol=1e-4)


@case("gemm.cu")
def gemv_warp(rng):
    a, x = normal(rng, 10, 77), normal(rng, 77)
    return Run("gemv_warp", (3,), (128,), [a, x, blank(10), i32(10), i32(77)], {2: wide(a) @ x}, atol=1e-4)


@case("gemm.cu")
def gemm_batched(rng):
    a, b = normal(rng, 3, 13, 13), normal(rng, 3, 13, 13)
    return Run("gemm_batched", (2, 2, 3), (8, 8), [a, b, blank((3, 13, 13)), i32(13)], {2: wide(a) @ wide(b)})


def halves(rng: Generator, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = normal(rng, m, k, dtype=np.float16), normal(rng, k, n, dtype=np.float16)
    return a, b, wide(a) @ wide(b)


@case("tensor.cu")
def wmma_half(rng):
    a, b, c = halves(rng, 32, 64, 48)
    return Run("wmma_half", (2, 2), (64,), [a, b, blank((32, 64)), i32(64), i32(48)], {2: c}, atol=1e-4)


@case("tensor.cu")
def wmma_shared_half(rng):
    a, b, c = halves(rng, 32, 64, 64)
    arguments = [a, np.ascontiguousarray(b.T), blank((32, 64), np.float16), i32(64), i32(64)]
    return Run("wmma_shared_half", (2, 1), (128,), arguments, {2: 0.5 * c}, rtol=4e-3, atol=3e-2)


@case("tensor.cu")
def wmma_int8(rng):
    a, b = (rng.integers(-128, 128, (16, 64), dtype=np.int8) for _ in range(2))
    expected = (a.astype(i32) @ b.astype(i32).T).T
    return Run("wmma_int8", (1,), (32,), [a, b, blank((16, 16), i32), i32(64)], {2: expected})


@case("tensor.cu")
def wmma_tf32(rng):
    a, b, c = operands(rng, 16, 16, 40)
    return Run("wmma_tf32", (1,), (32,), [a, b, blank((16, 16)), i32(40)], {2: c}, rtol=1e-2, atol=1e-2)


@case("tensor.cu")
def wmma_bf16_wide(rng):
    a, b, c = to_bf16(normal(rng, 16, 8)), to_bf16(normal(rng, 16, 32)), normal(rng, 8, 32)
    expected = wide(from_bf16(a)).T @ wide(from_bf16(b)) + c
    return Run("wmma_bf16_wide", (1,), (32,), [a, b, c], {2: expected}, atol=1e-5)


@case("tensor.cu")
def wmma_double(rng):
    a, b = normal(rng, 8, 20, dtype=np.float64), normal(rng, 8, 20, dtype=np.float64)
    return Run("wmma_double", (1,), (32,), [a, b, blank((8, 8), np.float64), i32(20)], {2: a @ b.T}, rtol=1e-13)


@case("tensor.cu")
def mma_pipeline(rng):
    a, b, c = halves(rng, 128, 64, 160)
    return Run("mma_pipeline", (1, 2), (128,), [a, b, blank((128, 64)), i32(64), i32(160)], {2: c}, atol=1e-4)


@case("tensor.cu")
def mma_pipeline_of_one_tile(rng):
    a, b, c = halves(rng, 64, 128, 32)
    return Run("mma_pipeline", (2, 1), (128,), [a, b, blank((64, 128)), i32(128), i32(32)], {2: c}, atol=1e-4)


def attended(q, k, v, mask=None, bias=0.0, scale=None):
    scores = wide(q) @ np.swapaxes(wide(k), -1, -2) * (scale or q.shape[-1] ** -0.5) + bias
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ wide(v)


@case("tensor.cu")
def mma_attention(rng):
    q, k, v = (normal(rng, 2, 64, 64, dtype=np.float16) for _ in range(3))
    arguments = [q, k, v, blank((2, 64, 64)), i32(64), f32(0.125), i32(0)]
    return Run("mma_attention", (4, 2), (32,), arguments, {3: attended(q, k, v)}, rtol=5e-3, atol=2e-3)


@case("tensor.cu")
def mma_attention_causal(rng):
    q, k, v = (normal(rng, 2, 64, 64, dtype=np.float16) for _ in range(3))
    arguments = [q, k, v, blank((2, 64, 64)), i32(64), f32(0.125), i32(1)]
    expected = attended(q, k, v, np.tri(64, dtype=bool))
    return Run("mma_attention", (4, 2), (32,), arguments, {3: expected}, rtol=5e-3, atol=2e-3)


@case("tensor.cu")
def mma_int8_row(rng):
    a, b = rng.integers(-128, 128, (16, 32), dtype=np.int8), rng.integers(-128, 128, (8, 32), dtype=np.int8)
    expected = a.astype(i32) @ b.astype(i32).T
    return Run("mma_int8_row", (1,), (32,), [a, b, blank((16, 8), i32)], {2: expected})


# attention -------------------------------------------------------------------------------------


def heads(rng: Generator, *shape: int) -> list[np.ndarray]:
    return [normal(rng, *shape) for _ in range(3)]


@case("attention.cu")
def attention_naive(rng):
    q, k, v = heads(rng, 21, 16)
    arguments = [q, k, v, blank((21, 16)), i32(21), i32(16)]
    return Run("attention_naive", (1,), (32,), arguments, {3: attended(q, k, v)}, rtol=1e-4, atol=1e-5)


@case("attention.cu")
def attention_window(rng):
    q, k, v = heads(rng, 30, 64)
    back = np.arange(30)[:, None] - np.arange(30)
    expected = attended(q, k, v, (back >= 0) & (back < 7))
    arguments = [q, k, v, blank((30, 64)), i32(30), i32(7)]
    return Run("attention_window", (30,), (32,), arguments, {3: expected}, rtol=1e-4, atol=1e-5)


@case("attention.cu")
def attention_flash(rng):
    q, k, v = heads(rng, 2, 45, 32)
    arguments = [q, k, v, blank((2, 45, 32)), i32(45)]
    return Run("attention_flash", (2, 2), (128,), arguments, {3: attended(q, k, v)}, rtol=1e-4, atol=1e-5)


@case("attention.cu")
def attention_alibi(rng):
    q, k, v = heads(rng, 2, 40, 32)
    distance = np.abs(np.arange(40)[:, None] - np.arange(40))
    bias = -(np.array([0.5, 0.25])[:, None, None]) * distance
    arguments = [q, k, v, blank((2, 40, 32)), i32(40)]
    return Run("attention_alibi", (2, 2), (128,), arguments, {3: attended(q, k, v, bias=bias)}, rtol=1e-4, atol=1e-5)


@case("attention.cu")
def decode_split_and_merge(rng):
    q, k, v = normal(rng, 4, 64), normal(rng, 2, 150, 64), normal(rng, 2, 150, 64)
    partial, out = blank((4, 3, 66)), blank((4, 64))
    expected = attended(q[:, None], k.repeat(2, axis=0), v.repeat(2, axis=0))[:, 0]
    return [
        Run("decode_split", (4, 3), (64,), [q, k, v, partial, i32(150), i32(3), i32(2)]),
        Run("decode_merge", (4,), (64,), [partial, out, i32(3)], {1: expected}, rtol=1e-4, atol=1e-5),
    ]


@case("attention.cu")
def attention_linear(rng):
    q, k, v = heads(rng, 25, 32)
    fq, fk = (np.where(wide(x) > 0, wide(x) + 1, np.exp(wide(x))) for x in (q, k))
    weights = np.tril(fq @ fk.T)
    expected = weights @ wide(v) / weights.sum(1, keepdims=True)
    arguments = [q, k, v, blank((25, 32)), i32(25)]
    return Run("attention_linear", (1,), (32,), arguments, {3: expected}, rtol=1e-3, atol=1e-4)


# movement --------------------------------------------------------------------------------------


@case("movement.cu")
def histogram_global(rng):
    x = rng.integers(0, 256, 777, dtype=np.uint8)
    arguments = [x, np.zeros(256, np.uint32), i32(777)]
    return Run("histogram_global", (4,), (256,), arguments, {1: np.bincount(x, minlength=256)})


@case("movement.cu")
def histogram_shared(rng):
    x = rng.integers(0, 256, 4 * 900, dtype=np.uint8)
    arguments = [x, np.zeros(256, np.uint32), i32(900)]
    return Run("histogram_shared", (3,), (128,), arguments, {1: np.bincount(x, minlength=256)})


@case("movement.cu")
def histogram_matched(rng):
    x = rng.integers(0, 6, 500, dtype=i32)
    return Run("histogram_matched", (4,), (128,), [x, np.zeros(6, np.uint32), i32(500)], {1: np.bincount(x)})


@case("movement.cu")
def histogram_weighted(rng):
    x, weight = rng.integers(0, 10, 400, dtype=i32), normal(rng, 400)
    expected = np.bincount(x, wide(weight), minlength=10)
    return Run("histogram_weighted", (1,), (64,), [x, weight, np.zeros(10), i32(400)], {2: expected}, rtol=1e-9)


@case("movement.cu")
def transpose_plain(rng):
    x = normal(rng, 33, 50)
    return Run("transpose_plain", (4, 3), (16, 16), [x, blank((50, 33)), i32(33), i32(50)], {1: x.T}, rtol=0, atol=0)


@case("movement.cu")
def transpose_padded(rng):
    x = normal(rng, 70, 45)
    return Run("transpose_padded", (2, 3), (32, 8), [x, blank((45, 70)), i32(70), i32(45)], {1: x.T}, rtol=0, atol=0)


@case("movement.cu")
def transpose_swizzled(rng):
    x = normal(rng, 64, 96)
    return Run("transpose_swizzled", (3, 2), (256,), [x, blank((96, 64)), i32(64), i32(96)], {1: x.T}, rtol=0, atol=0)


@case("movement.cu")
def permute_heads(rng):
    x = normal(rng, 2, 5, 3, 8, dtype=np.float16)
    arguments = [x, blank((2, 3, 5, 8), np.float16), i32(5), i32(3), i32(4)]
    return Run("permute_heads", (5, 2), (32,), arguments, {1: x.transpose(0, 2, 1, 3)}, rtol=0, atol=0)


@case("movement.cu")
def bitonic_top_k(rng):
    x = rng.permutation(2 * 200).astype(f32).reshape(2, 200)
    order = np.argsort(-x, axis=1)[:, :10]
    arguments = [x, blank((2, 10)), blank((2, 10), i32), i32(200), i32(10)]
    expected = {1: np.take_along_axis(x, order, 1), 2: order}
    return Run("bitonic_top_k", (2,), (256,), arguments, expected, 2048)


@case("movement.cu")
def insertion_top_4(rng):
    x = rng.permutation(3 * 150).astype(f32).reshape(3, 150)
    expected = -np.sort(-x, axis=1)[:, :4]
    return Run("insertion_top_4", (3,), (32,), [x, blank((3, 4)), i32(150)], {1: expected})


@case("movement.cu")
def radix_select(rng):
    x = normal(rng, 3, 500)
    expected = np.sort(x, axis=1)[:, -37]
    return Run("radix_select", (3,), (128,), [x, blank(3), i32(500), i32(37)], {1: expected}, rtol=0, atol=0)


@case("movement.cu")
def rope_pairs(rng):
    x, positions = normal(rng, 4, 3, 8, 2), np.array([0, 3, 17, 400], i32)
    angle = positions[:, None, None] * 10000.0 ** -(np.arange(8) / 8)
    turned = (x[..., 0] + 1j * x[..., 1]) * np.exp(1j * angle)
    expected = np.stack([turned.real, turned.imag], axis=-1)
    arguments = [x, positions, i32(3), i32(8), f32(10000)]
    return Run("rope_pairs", (4,), (16,), arguments, {0: expected}, rtol=1e-3, atol=1e-3)


@case("movement.cu")
def rope_halves(rng):
    x = normal(rng, 5, 32, dtype=np.float16)
    angle = np.arange(5)[:, None] * 100.0 ** -(np.arange(16) / 16)
    sines, cosines = np.sin(angle).astype(f32), np.cos(angle).astype(f32)
    a, b = wide(x[:, :16]), wide(x[:, 16:])
    expected = np.concatenate([a * cosines - b * sines, b * cosines + a * sines], axis=1)
    arguments = [x, sines, cosines, blank((5, 32), np.float16), i32(32)]
    return Run("rope_halves", (5,), (16,), arguments, {3: expected}, rtol=2e-3, atol=1e-3)


# quantised -------------------------------------------------------------------------------------


@case("quantized.cu")
def quantize_rows(rng):
    x = normal(rng, 3, 200)
    scales = np.abs(x).max(axis=1) / f32(127)
    expected = np.rint(x / scales[:, None])
    arguments = [x, blank((3, 200), np.int8), blank(3), i32(200)]
    return Run("quantize_rows", (3,), (64,), arguments, {1: expected, 2: scales})


@case("quantized.cu")
def dequantize_rows(rng):
    x, scales = rng.integers(-128, 128, (3, 120), dtype=np.int8), normal(rng, 3)
    arguments = [x, scales, blank((3, 120)), i32(30)]
    return Run("dequantize_rows", (1, 3), (32,), arguments, {2: x * wide(scales)[:, None]})


@case("quantized.cu")
def gemm_dp4a(rng):
    a, b = rng.integers(-128, 128, (9, 32), dtype=np.int8), rng.integers(-128, 128, (10, 32), dtype=np.int8)
    sa, sb = normal(rng, 9), normal(rng, 10)
    expected = (a.astype(int) @ b.astype(int).T) * wide(sa)[:, None] * sb
    arguments = [a, b, sa, sb, blank((9, 10)), i32(9), i32(10), i32(8)]
    return Run("gemm_dp4a", (2, 2), (8, 8), arguments, {4: expected})


@case("quantized.cu")
def dot_products(rng):
    a, b = (rng.integers(-128, 128, (40, 4), dtype=np.int8) for _ in range(2))
    u, s = rng.integers(0, 256, (40, 4), dtype=np.uint8), rng.integers(-(1 << 15), 1 << 15, (40, 2), dtype=np.int16)
    wide_a, wide_b, wide_u, wide_s = (x.astype(int) for x in (a, b, u, s))
    columns = [
        (wide_a * wide_b).sum(1) + 5,
        (wide_u * wide_u).sum(1) + 7,
        (wide_s * wide_b[:, :2]).sum(1) + 1,
        (wide_s * wide_b[:, 2:]).sum(1) - 1,
    ]
    arguments = [a, b, u, s, blank((40, 4), i32)]
    return Run("dot_products", (1,), (40,), arguments, {4: np.stack(columns, axis=1)})


def e4m3_values() -> np.ndarray:
    """Value of each code below the NaN of e4m3, without signs."""
    codes = np.arange(0x7F)
    exponent, fraction = codes >> 3, codes & 7
    return np.where(exponent == 0, fraction * 2.0**-9, (8.0 + fraction) * 2.0 ** (exponent - 10))


@case("quantized.cu")
def fp8_round_trip(rng):
    x = np.concatenate([normal(rng, 120), np.array([0, -0.0, 1000, -1000, 1e-9, 0.25, -3, 28], f32)])
    table = e4m3_values()
    # A value of the table keeps its code; halfway cases do not occur in random input.
    nearest = np.abs(np.abs(wide(x) * 16)[:, None] - table).argmin(axis=1)
    codes = (nearest | np.signbit(x) << 7).astype(np.uint8)
    expected = np.copysign(table[nearest], x) / 16
    return Run("fp8_round_trip", (2,), (16,), [x, blank(128, np.uint8), blank(128), f32(16)], {1: codes, 2: expected})


@case("quantized.cu")
def fp8_dot(rng):
    table = e4m3_values()
    codes = rng.integers(0, 0x70, 70, dtype=np.uint8)
    halves_ = normal(rng, 4, 70, dtype=np.float16)
    upper = (halves_.view(np.uint16) >> 8).astype(np.uint8)
    values = (upper.astype(np.uint16) << 8).view(np.float16)
    expected = wide(values) @ table[codes]
    return Run("fp8_dot", (4,), (32,), [upper, codes, blank(4), i32(70)], {2: expected}, rtol=1e-4, atol=1e-3)


@case("quantized.cu")
def gemv_int4(rng):
    w = rng.integers(0, 16, (3, 128), dtype=np.uint32)
    packed = sum(w.reshape(3, 16, 8)[..., j] << np.uint32(4 * j) for j in range(8)).astype(np.uint32)
    scales, zeros = normal(rng, 3, 4, dtype=np.float16), rng.integers(0, 16, (3, 4), dtype=np.uint8)
    x = normal(rng, 128, dtype=np.float16)
    full = (w.reshape(3, 4, 32) - zeros[..., None].astype(float)) * wide(scales)[..., None]
    expected = full.reshape(3, 128) @ wide(x)
    return Run("gemv_int4", (3,), (32,), [packed, scales, zeros, x, blank(3), i32(128)], {4: expected}, atol=1e-3)


@case("quantized.cu")
def bf16_cast(rng):
    x = normal(rng, 202)
    return Run("bf16_cast", (1,), (32,), [x, blank(202, np.uint16), i32(101)], {1: to_bf16(x)})


@case("quantized.cu")
def half2_gelu(rng):
    from math import erf

    x = normal(rng, 90, dtype=np.float16)
    expected = [0.5 * v * (1 + erf(v / 2**0.5)) for v in x.tolist()]
    return Run("half2_gelu", (2,), (32,), [x, blank(90, np.float16), i32(45)], {1: expected}, rtol=2e-3, atol=1e-4)


# cooperative groups ----------------------------------------------------------------------------


@case("groups.cu")
def tile_maxima(rng):
    x = normal(rng, 128)
    return Run("tile_maxima", (2,), (64,), [x, blank(16)], {1: x.reshape(16, 8).max(axis=1)})


@case("groups.cu")
def aggregated_append(rng):
    x = rng.integers(-5, 6, 250, dtype=i32)
    kept = x[x > 0]
    arguments = [x, np.zeros(250, i32), np.zeros(1, i32), i32(250)]
    return Run(
        "aggregated_append",
        (2,),
        (128,),
        arguments,
        {1: np.pad(kept, (0, 250 - kept.size)), 2: [kept.size]},
        ordered=False,
    )


@case("groups.cu")
def group_copy(rng):
    x = normal(rng, 3, 100)
    return Run("group_copy", (3,), (64,), [x, blank((3, 100)), i32(100)], {1: x[:, ::-1]}, 400)


@case("groups.cu")
def tile_matrix_rows(rng):
    x = normal(rng, 8, 90)
    return Run("tile_matrix_rows", (2,), (128,), [x, blank(8), i32(90)], {1: wide(x).sum(axis=1)}, atol=1e-4)


# language --------------------------------------------------------------------------------------


@case("language.cu")
def atomics_32(rng):
    x = rng.integers(-1000, 1000, 300, dtype=i32)
    u = x.view(np.uint32)
    up, down = 0, 0
    for _ in range(300):
        up = 0 if up >= 9 else up + 1
        down = 9 if down == 0 or down > 9 else down - 1
    signed = [x.sum(), -x.sum(), min(x.min(), 0), max(x.max(), 0)]
    start = np.array([0xFFFFFFFF, 0, 0, 0, 0], np.uint32)
    parts = [np.bitwise_and.reduce(u | 0xFF00), np.bitwise_or.reduce(u), np.bitwise_xor.reduce(u)]
    arguments = [np.zeros(4, i32), start, x, i32(300)]
    return Run("atomics_32", (3,), (128,), arguments, {0: signed, 1: [*parts, up, down]})


@case("language.cu")
def atomics_64(rng):
    x = rng.integers(-(1 << 60), 1 << 60, 90, dtype=np.int64)
    u = x.view(np.uint64)
    arguments = [np.zeros(3, np.uint64), np.zeros(2, np.int64), x, i32(90)]
    expected = {
        0: np.array([u.sum(dtype=np.uint64), u.max(), np.bitwise_xor.reduce(u)], np.uint64),
        1: np.array([min(x.min(), 0), max(x.max(), 0)]),
    }
    return Run("atomics_64", (1,), (96,), arguments, expected)


@case("language.cu")
def atomics_floats(rng):
    x = normal(rng, 100)
    total = [wide(x).sum()]
    arguments = [np.zeros(1, f32), np.zeros(1), np.zeros(2, np.float16), x]
    return Run("atomics_floats", (1,), (100,), arguments, {0: total, 1: total, 2: [100, 200]}, atol=1e-4)


@case("language.cu")
def atomics_cas(rng):
    x = normal(rng, 70)
    expected = {0: [x.max()], 1: [210, 0]}
    return Run("atomics_cas", (1,), (70,), [np.full(1, -100, f32), np.zeros(2, np.uint16), x], expected)


@case("language.cu")
def locked_sum(rng):
    x = normal(rng, 96)
    return Run(
        "locked_sum", (2,), (48,), [np.zeros(1, i32), np.zeros(1, f32), x], {0: [0], 1: [wide(x).sum()]}, atol=1e-4
    )


@case("language.cu")
def carved(rng):
    x, t = normal(rng, 50, dtype=np.float64), np.arange(50)
    other = 49 - t
    expected = x[other] + other * (other % 3 == 0)
    return Run("carved", (1,), (50,), [x, blank(50), i32(50)], {1: expected}, 50 * 13)


@case("language.cu")
def aliased(rng):
    x = rng.integers(0, 1 << 32, 64, dtype=np.uint32)
    bytes_, t = x.view(np.uint8).astype(np.uint32), np.arange(64)
    total = np.zeros(64, np.uint32)
    for k in range(4):
        total = total * 7 + bytes_[(4 * t + 13 * k) % 256]
    return Run("aliased", (1,), (64,), [x, blank(64, np.uint32)], {1: total})


@case("language.cu")
def narrating(rng):
    x = np.arange(100, 140, dtype=i32)
    lines = [f"thread {t} of block holds {x[t] / 4:5.2f}, {int(x[t]) << 33} and {x[t]:x}\n" for t in (3, 19, 35)]
    return Run("narrating", (1,), (40,), [x], printed="".join(lines))


@case("language.cu")
def template_recursion(rng):
    from math import comb

    p, k = rng.random(12).astype(f32), np.arange(12) % 6
    expected = [comb(5, n) * q**n * (1 - q) ** (5 - n) for q, n in zip(wide(p), k.tolist(), strict=True)]
    return Run("template_recursion", (1,), (12,), [p, blank(12)], {1: expected}, rtol=1e-4)


@case("language.cu")
def lambdas(rng):
    x = normal(rng, 40)
    expected = np.where(np.arange(40) % 2, (wide(x) + 1.5) ** 2, wide(x) ** 2 + 1.5)
    return Run("lambdas", (1,), (40,), [x, blank(40), f32(1.5)], {1: expected})


@case("language.cu")
def stack_machine(rng):
    # thread * thread - 7, and if the thread is odd: xor with 5 is jumped over.
    push, add, times, twice, minus, thread, jump, flip = range(8)
    words = [thread, twice, times, 7 << 3 | push, minus, add, thread, 1 << 3 | jump, 5 << 3 | flip]
    t = np.arange(40)
    value = t * t - 7
    program = np.array(words, i32)
    return Run("stack_machine", (1,), (40,), [program, blank(40, i32), i32(9)], {1: np.where(t % 2, value, value ^ 5)})


@case("language.cu")
def quicksort_rows(rng):
    x = rng.integers(0, 50, (40, 21), dtype=i32)
    return Run("quicksort_rows", (1,), (40,), [x, i32(21)], {0: np.sort(x, axis=1)})


@case("language.cu")
def inline_asm(rng):
    x = rng.integers(0, 1 << 32, 33, dtype=np.uint32)
    x[0] = 1
    rows = []
    for v in x.tolist():
        ones = [b for b in range(32) if v >> b & 1]
        rows.append([v * v >> 32, int(f"{v:032b}"[::-1], 2), ones[1] if len(ones) > 1 else 0xFFFFFFFF])
    return Run("inline_asm", (1,), (33,), [x, blank((33, 3), np.uint32)], {1: np.array(rows, np.uint32)})


@case("language.cu")
def named_barriers(rng):
    x = normal(rng, 7, 32)
    return Run("named_barriers", (1,), (64,), [x, blank((7, 32)), i32(7)], {1: 2 * x[:, ::-1]})


@case("language.cu")
def stencil_constant(rng):
    x = normal(rng, 300)
    expected = np.convolve(wide(x), [0.0625, 0.25, 0.375, 0.25, 0.0625], "same")
    return Run("stencil_constant", (3,), (128,), [x, blank(300), i32(300)], {1: expected}, atol=1e-5)
