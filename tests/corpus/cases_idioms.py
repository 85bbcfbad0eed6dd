"""Idioms of C++, votes, special registers, and groups of threads."""

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import case, f32, i32, normal, wide


@case("idioms.cu")
def virtual_calls(rng):
    x = normal(rng, 30)
    w, odd = wide(x), np.arange(30) % 2 == 1
    value = np.where(odd, np.where(w > 0, w, 0.1 * w), w * w)
    slope = np.where(odd & (w <= 0), 0.1, 1)
    return Run("virtual_calls", (1,), (32,), [x, blank((30, 2)), i32(30)], {1: np.stack([value, slope], axis=1)})


@case("idioms.cu")
def reduce_by_table(rng):
    x = rng.uniform(0.8, 1.25, 32).astype(f32)
    expected = [wide(x).sum(), wide(x).prod(), x.max()]
    return Run("reduce_by_table", (3,), (32,), [x, blank(3)], {1: expected})


@case("idioms.cu")
def packs_and_folds(rng):
    x = rng.integers(-50, 50, 20, dtype=i32)
    v = x.astype(np.int64)
    expected = v + (7 - 3 * v + 2 * v**3) + 144 + 2 * np.arange(20)
    return Run("packs_and_folds", (1,), (20,), [x, blank(20, np.int64)], {1: expected})


@case("idioms.cu")
def moving_sum(rng):
    x = rng.integers(-999, 999, (9, 14), dtype=np.int16)
    total = np.pad(x.astype(i32).cumsum(1), ((0, 0), (5, 0)))
    return Run("moving_sum", (1,), (9,), [x, blank((9, 14), i32), i32(14)], {1: total[:, 5:] - total[:, :-5]})


@case("idioms.cu")
def nearest_box(rng):
    kind = np.dtype([("low", f32, 3), ("high", f32, 3), ("id", i32)])
    boxes = np.zeros(7, kind)
    boxes["low"] = normal(rng, 7, 3) * f32(2)
    boxes["high"] = boxes["low"] + rng.uniform(0.5, 2, (7, 3)).astype(f32)
    boxes["id"] = np.arange(7) * 10
    rays = normal(rng, 40, 2, 3)
    start, along = wide(rays[:, 0]), wide(rays[:, 1])
    p, q = ((wide(boxes[end]) - start[:, None]) / along[:, None] for end in ("low", "high"))
    enter, leave = np.minimum(p, q).max(2).clip(0), np.maximum(p, q).min(2)
    # Of boxes that are entered at the same place (those around the start), the last is told.
    reached = np.where(enter <= leave, enter, np.inf)
    last = 6 - reached[:, ::-1].argmin(1)
    expected = np.where(np.isinf(reached.min(1)), -1, 10 * last)
    return Run("nearest_box", (1,), (40,), [boxes, rays, blank(40, i32), i32(7)], {2: expected})


@case("idioms.cu")
def votes(rng):
    x = rng.integers(0, 95, (3, 64), dtype=i32)
    x[1, 5], x[2, 40], x[2, 50] = -1, 99, 250
    rows = []
    for block in x:
        for warp in block.reshape(2, 32):
            row = [(block > 90).any(), (block >= 0).all(), (block % 2 == 0).sum(), (warp == 50).any()]
            alike = (warp < 200).all()
            rows.append([*row, (warp < 95).all(), -1 if alike else 0, alike])
    return Run("votes", (3,), (64,), [x, blank((6, 7), i32)], {1: np.array(rows, i32)})


@case("idioms.cu")
def places(rng):
    z, y, x = np.indices((3, 5, 9))
    lane = (z % 2 * 2 + y % 2) * 4 + x % 4
    expected = lane * 1000000 + 2 * 100000 + 3 * 100 + x // 4
    size = [i32(v) for v in (9, 5, 3)]
    return Run("places", (3, 3, 2), (4, 2, 2), [blank((3, 5, 9), i32), *size], {0: expected})


@case("idioms.cu")
def records(rng):
    kind = np.dtype(
        {"names": ["key", "tag", "count"], "formats": ["f8", "3u1", "i2"], "offsets": [0, 8, 12], "itemsize": 16}
    )
    x = np.zeros(32, kind)
    x["key"], x["tag"] = normal(rng, 32), rng.integers(0, 30, (32, 3))
    x["count"] = rng.integers(-99, 99, 32)
    moved = x.reshape(4, 8)[::-1].reshape(32)
    fields = (2 * moved["key"], moved["count"] + moved["tag"][:, 0].astype(int) * moved["tag"][:, 2])

    def read(out: np.ndarray) -> np.ndarray:
        return np.stack([out["key"], out["count"].astype(float)])

    return Run("records", (1,), (32,), [x, np.zeros(32, kind)], {1: np.stack(fields)}, read={1: read})


@case("idioms.cu")
def nearest_packed(rng):
    points = rng.integers(-50, 50, (90, 2)).astype(f32)
    apart = ((wide(points) - (3, -4)) ** 2).sum(1)
    word = int(apart.min().astype(f32).view(np.uint32)) << 32 | int(apart.argmin())
    to = np.array([3, -4], f32).view(np.uint64)[0]
    arguments = [points, np.full(1, (1 << 63) - 1, np.uint64), to, i32(90)]
    return Run("nearest_packed", (3,), (32,), arguments, {1: np.array([word], np.uint64)})


@case("idioms.cu")
def work_queue(rng):
    x = rng.integers(1, 40, 50, dtype=np.uint32)
    steps = []
    for start in x.tolist():
        v, count = start, 0
        while v != 1:
            v, count = 3 * v + 1 if v % 2 else v // 2, count + 1
        steps.append(count)
    return Run("work_queue", (1,), (64,), [x, blank(50, i32), i32(50)], {1: np.array(steps)})


@case("groups.cu")
def parts_of_a_warp(rng):
    x = rng.integers(0, 30, 64, dtype=i32)
    rows = np.empty((64, 3), int)
    for start in range(0, 64, 32):
        warp = x[start : start + 32]
        for lane, v in enumerate(warp.tolist()):
            alike = (warp < 15) == (v < 15)
            label = warp % 3 == v % 3
            rows[start + lane] = warp[alike].sum(), label.sum(), label[:lane].sum()
    return Run("parts_of_a_warp", (1,), (64,), [x, blank((64, 3), i32)], {1: rows})


@case("groups.cu")
def tile_scan(rng):
    x = rng.integers(-9, 9, 96, dtype=i32)
    tiles = x.reshape(6, 16)
    turned = np.roll(tiles, -1, axis=1)
    most = np.repeat((tiles > 0).sum(1), 16).reshape(6, 16)
    expected = np.stack([tiles.cumsum(1), turned, most], axis=2)
    return Run("tile_scan", (3,), (32,), [x, blank((6, 16, 3), i32)], {1: expected})
