"""Sorts, merges and splits; scans of more kinds."""

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import case, f32, i32, normal, wide


@case("sorting.cu")
def sort_warp_bitonic(rng):
    x = rng.integers(-50, 50, (6, 32), dtype=i32)
    return Run("sort_warp_bitonic", (3,), (64,), [x, blank((6, 32), i32)], {1: np.sort(x, axis=1)})


@case("sorting.cu")
def sort_odd_even(rng):
    x = rng.integers(-1000, 1000, 77, dtype=i32)
    return Run("sort_odd_even", (1,), (64,), [x, i32(77)], {0: np.sort(x)})


@case("sorting.cu")
def sort_radix_bits(rng):
    x = rng.integers(-(1 << 31), 1 << 31, 117, dtype=i32)
    return Run("sort_radix_bits", (1,), (128,), [x, blank(117, i32), i32(117)], {1: np.sort(x)})


@case("sorting.cu")
def sort_by_rank(rng):
    x = rng.integers(0, 20, 90).astype(f32)
    order = np.argsort(x, kind="stable")
    arguments = [x, blank(90), blank(90, i32), i32(90)]
    return Run("sort_by_rank", (2,), (64,), arguments, {1: x[order], 2: order})


@case("sorting.cu")
def merge_path(rng):
    a, b = np.sort(rng.integers(0, 99, 61, dtype=i32)), np.sort(rng.integers(20, 70, 40, dtype=i32))
    arguments = [a, i32(61), b, i32(40), blank(101, i32), i32(7)]
    return Run("merge_path", (2,), (10,), arguments, {4: np.sort(np.concatenate([a, b]))})


@case("sorting.cu")
def sort_merge_block(rng):
    x = rng.integers(-99, 99, (2, 128), dtype=np.int16)
    return Run("sort_merge_block", (2,), (128,), [x, blank((2, 128), np.int16)], {1: np.sort(x, axis=1)})


@case("sorting.cu")
def sort_counting(rng):
    kind = np.dtype({"names": ["key", "value"], "formats": ["u1", "f4"], "offsets": [0, 4], "itemsize": 8})
    x = np.zeros(60, kind)
    x["key"], x["value"] = rng.integers(0, 16, 60), normal(rng, 60)
    expected = x[np.argsort(x["key"], kind="stable")]["value"]
    arguments = [x, np.zeros(60, kind), i32(60)]
    return Run("sort_counting", (1,), (16,), arguments, {1: expected}, read={1: lambda out: out["value"]})


@case("sorting.cu")
def multi_split(rng):
    x = rng.integers(0, 1000, 150, dtype=i32)
    out = np.full((4, 60), -1, i32)
    for bucket in range(4):
        kept = x[x % 4 == bucket]
        out[bucket, : kept.size] = kept
    arguments = [x, np.full((4, 60), -1, i32), np.zeros(4, i32), i32(60), i32(150)]
    expected = {1: out, 2: np.bincount(x % 4)}
    return Run("multi_split", (3,), (64,), arguments, expected, ordered=False)


@case("scans.cu")
def scan_kogge_stone(rng):
    x = rng.integers(1, 5, 128).astype(f32) / f32(2)
    expected = np.multiply.accumulate(wide(x).reshape(2, 64), axis=1)
    return Run("scan_kogge_stone", (2,), (64,), [x, blank(128)], {1: expected}, rtol=1e-4)


@case("scans.cu")
def scan_brent_kung(rng):
    x = rng.integers(-(1 << 40), 1 << 40, 100, dtype=np.int64)
    return Run("scan_brent_kung", (1,), (64,), [x, blank(100, np.int64), i32(100)], {1: np.cumsum(x)})


@case("scans.cu")
def scan_sklansky_max(rng):
    x = rng.integers(-99, 99, 128, dtype=i32)
    return Run("scan_sklansky_max", (1,), (64,), [x], {0: np.maximum.accumulate(x)})


@case("scans.cu")
def scan_look_back(rng):
    x = rng.integers(-99, 99, 300, dtype=i32)
    arguments = [x, blank(300, i32), np.zeros(5, np.uint64), np.zeros(1, i32), i32(300)]
    return Run("scan_look_back", (5,), (64,), arguments, {1: np.cumsum(x), 3: [5]})


@case("scans.cu")
def scan_recurrence(rng):
    a, b = rng.uniform(0.5, 1.1, 90).astype(f32), normal(rng, 90)
    h, expected = 0.0, []
    for factor, term in zip(wide(a), wide(b), strict=True):
        h = factor * h + term
        expected.append(h)
    return Run("scan_recurrence", (1,), (32,), [a, b, blank(90), i32(90)], {2: expected}, rtol=1e-4, atol=1e-5)


@case("scans.cu")
def run_lengths(rng):
    x = np.repeat(rng.integers(0, 3, 60, dtype=i32), rng.integers(1, 4, 60))[:110]
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    lengths = np.diff(np.append(starts, 110))
    fill = 110 - starts.size
    arguments = [x, np.zeros(110, i32), np.zeros(110, i32), blank(1, i32), i32(110)]
    expected = {1: np.pad(x[starts], (0, fill)), 2: np.pad(lengths, (0, fill)), 3: [starts.size]}
    return Run("run_lengths", (1,), (128,), arguments, expected)


@case("scans.cu")
def partition_stable(rng):
    x = rng.integers(0, 100, 100, dtype=i32)
    expected = np.concatenate([x[x < 40], x[x >= 40]])
    return Run("partition_stable", (1,), (128,), [x, blank(100, i32), i32(40), i32(100)], {1: expected})
