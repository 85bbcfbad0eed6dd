"""Convolutions, pools, resizing, stencils and automata."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.corpus.harness import Run, blank
from tests.corpus.registry import case, f32, i32, normal, wide


def windows(x: np.ndarray, size: int, pad: int = 0, stride: int = 1) -> np.ndarray:
    """[..., h, w] to [..., oh, ow, size, size], in float64."""
    edges = [(0, 0)] * (x.ndim - 2) + [(pad, pad)] * 2
    return sliding_window_view(np.pad(wide(x), edges), (size, size), (-2, -1))[..., ::stride, ::stride, :, :]


@case("images.cu")
def sobel_tile(rng):
    x = normal(rng, 19, 37)
    taps = np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]])
    expected = np.einsum("yxij,ij->yx", windows(x, 3, 1), taps)
    return Run("sobel_tile", (3, 3), (16, 8), [x, blank((19, 37)), i32(19), i32(37)], {1: expected}, atol=1e-5)


@case("images.cu")
def conv2d_direct(rng):
    x, weight = normal(rng, 2, 3, 9, 10), normal(rng, 4, 3, 3, 3)
    expected = np.einsum("ncyxij,ocij->noyx", windows(x, 3, 1, 2), weight)
    sizes = [i32(v) for v in (3, 9, 10, 4, 3, 2, 1)]
    arguments = [x, weight, blank((2, 4, 5, 5)), *sizes]
    return Run("conv2d_direct", (1, 4, 2), (32,), arguments, {2: expected}, rtol=1e-4, atol=1e-5)


@case("images.cu")
def im2col(rng):
    x = normal(rng, 2, 8, 9)
    view = sliding_window_view(x, (5, 5), (1, 2))[..., ::2, ::2]
    arguments = [x, blank((2, 9, 4 * 5)), i32(2), i32(8), i32(9), i32(2)]
    return Run("im2col", (2,), (64,), arguments, {1: view.transpose(0, 3, 4, 1, 2)}, rtol=0, atol=0)


@case("images.cu")
def col2im(rng):
    columns = normal(rng, 2, 3, 3, 4, 5)
    expected = np.zeros((2, 6, 7))
    for ky in range(3):
        for kx in range(3):
            expected[:, ky : ky + 4, kx : kx + 5] += columns[:, ky, kx]
    return Run("col2im", (3,), (32,), [columns, blank((2, 6, 7)), i32(2), i32(6), i32(7)], {1: expected}, atol=1e-5)


@case("images.cu")
def conv_winograd(rng):
    x, g = normal(rng, 12, 16), normal(rng, 3, 3)
    expected = np.einsum("yxij,ij->yx", windows(x, 3), g)
    arguments = [x, g, blank((10, 14)), i32(12), i32(16)]
    return Run("conv_winograd", (1, 2), (8, 4), arguments, {2: expected}, rtol=1e-4, atol=1e-5)


@case("images.cu")
def conv_depthwise(rng):
    x, weight = normal(rng, 5, 6, 16), normal(rng, 3, 3, 16)
    expected = np.einsum("cyxij,ijc->yxc", windows(x.transpose(2, 0, 1), 3, 1), weight)
    arguments = [x, weight, blank((5, 6, 16)), i32(5), i32(6), i32(4)]
    return Run("conv_depthwise", (6, 5), (4,), arguments, {2: expected}, rtol=1e-4, atol=1e-5)


@case("images.cu")
def max_pool(rng):
    x = normal(rng, 2, 7, 9)
    padded = np.pad(x, ((0, 0), (0, 1), (0, 1)), constant_values=-np.inf).reshape(2, 4, 2, 5, 2)
    cells = padded.transpose(0, 1, 3, 2, 4).reshape(2, 4, 5, 4)
    arguments = [x, blank((2, 4, 5)), blank((2, 4, 5), np.int8), i32(7), i32(9)]
    return Run("max_pool", (1, 1, 2), (8, 4), arguments, {1: cells.max(-1), 2: cells.argmax(-1)})


@case("images.cu")
def average_pool_adaptive(rng):
    x = normal(rng, 11, 17)
    rows = [slice(i * 11 // 3, -(-(i + 1) * 11 // 3)) for i in range(3)]
    columns = [slice(i * 17 // 4, -(-(i + 1) * 17 // 4)) for i in range(4)]
    expected = [[wide(x)[r, c].mean() for c in columns] for r in rows]
    arguments = [x, blank((3, 4)), i32(11), i32(17), i32(3), i32(4)]
    return Run("average_pool_adaptive", (3,), (32, 5), arguments, {1: expected}, atol=1e-5)


@case("images.cu")
def resize_bilinear(rng):
    x = rng.integers(0, 256, (5, 7, 4), dtype=np.uint8)

    def places(source: int, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = np.maximum(0, (np.arange(target) + 0.5) * source / target - 0.5)
        low = np.floor(at).astype(int)
        return low, np.minimum(low + 1, source - 1), at - low

    (y0, y1, ty), (x0, x1, tx) = places(5, 9), places(7, 10)
    across = wide(x)[:, x0] * (1 - tx)[:, None] + wide(x)[:, x1] * tx[:, None]
    expected = across[y0] * (1 - ty)[:, None, None] + across[y1] * ty[:, None, None]
    arguments = [x, blank((9, 10, 4), np.uint8), i32(5), i32(7), i32(9), i32(10)]
    return Run("resize_bilinear", (1, 9), (16,), arguments, {1: expected}, rtol=0, atol=0.501)


@case("images.cu")
def stencil_3d(rng):
    x = normal(rng, 6, 10, 10)
    w, expected = wide(x), np.zeros((6, 10, 10))
    total = sum(np.roll(w, step, axis) for axis in range(3) for step in (-1, 1)) - 6 * w
    expected[1:-1, 1:-1, 1:-1] = total[1:-1, 1:-1, 1:-1]
    arguments = [x, np.zeros((6, 10, 10), f32), i32(6)]
    return Run("stencil_3d", (1,), (10, 10), arguments, {1: expected}, atol=1e-4)


@case("images.cu")
def jacobi_until(rng):
    x = np.zeros((12, 12), f32)
    x[0] = 1
    grid, sweeps = wide(x), 0
    while True:
        old = grid.copy()
        grid[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
        sweeps += 1
        if np.abs(grid - old).max() <= 0.0101:
            break
    return Run("jacobi_until", (1,), (12, 12), [x, blank(1, i32), f32(0.0101)], {0: grid, 1: [sweeps]})


@case("images.cu")
def life_bits(rng):
    cells = rng.integers(0, 2, (20, 32), dtype=np.uint8)
    near = sum(np.roll(cells, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x)
    alive = ((near == 3) | ((near == 2) & (cells == 1))).astype(np.uint8)

    def words(bits: np.ndarray) -> np.ndarray:
        return np.packbits(bits, axis=1, bitorder="little").view(np.uint32).reshape(-1)

    return Run("life_bits", (1,), (32,), [words(cells), blank(20, np.uint32), i32(20)], {1: words(alive)})
