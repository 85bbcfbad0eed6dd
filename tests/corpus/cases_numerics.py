"""Transforms, particles, random numbers and small dense systems."""

import math
from functools import reduce

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import case, f32, i32, normal, wide


def complex_of(pairs: np.ndarray) -> np.ndarray:
    return wide(pairs[..., 0]) + 1j * wide(pairs[..., 1])


def pairs_of(numbers: np.ndarray) -> np.ndarray:
    return np.stack([numbers.real, numbers.imag], axis=-1)


@case("numerics.cu")
def fft_block(rng):
    x = normal(rng, 2, 64, 2)
    expected = pairs_of(np.fft.fft(complex_of(x)))
    return Run("fft_block", (2,), (32,), [x, blank((2, 64, 2)), f32(-1)], {1: expected}, rtol=1e-4, atol=1e-5)


@case("numerics.cu")
def walsh_warp(rng):
    x = normal(rng, 4, 32)
    hadamard = reduce(np.kron, [np.array([[1, 1], [1, -1]])] * 5)
    return Run("walsh_warp", (2,), (64,), [x], {0: wide(x) @ hadamard / 32**0.5}, atol=1e-5)


@case("numerics.cu")
def n_body(rng):
    bodies = normal(rng, 45, 4)
    bodies[:, 3] = np.abs(bodies[:, 3])
    w = wide(bodies)
    apart = w[None, :, :3] - w[:, None, :3]
    expected = (apart * (w[:, 3] / ((apart**2).sum(-1) + 0.01) ** 1.5)[..., None]).sum(1)
    return Run("n_body", (2,), (32,), [bodies, blank((45, 3)), i32(45)], {1: expected}, rtol=1e-3, atol=1e-3)


@case("numerics.cu")
def mandelbrot(rng):
    arguments = [blank((11, 20), i32), i32(20), i32(11), np.float64(-2), np.float64(1.2), np.float64(0.15), i32(25)]
    point = (-2 + np.arange(20) * 0.15) + 1j * (1.2 - np.arange(11) * 0.15)[:, None]
    z, steps = np.zeros_like(point), np.zeros(point.shape, int)
    for _ in range(25):
        inside = z.real**2 + z.imag**2 <= 4
        steps += inside
        z = np.where(inside, z * z + point, z)
    return Run("mandelbrot", (2, 2), (16, 8), arguments, {0: steps})


def uniforms(threads: int, count: int) -> np.ndarray:
    """What the generator of each thread gives, [threads, count], exactly representable in float."""
    mask, out = (1 << 64) - 1, np.empty((threads, count))
    for t in range(threads):
        state = t * 6364136223846793005 + 1442695040888963407 & mask
        for k in range(count):
            mixed = ((state >> 18 ^ state) >> 27) & 0xFFFFFFFF
            turn = state >> 59
            word = (mixed >> turn | mixed << (32 - turn)) & 0xFFFFFFFF
            out[t, k] = (word >> 8) * 2.0**-24
            state = state * 6364136223846793005 + 1442695040888963407 & mask
    return out


@case("numerics.cu")
def monte_carlo_pi(rng):
    points = uniforms(64, 20).astype(f32).reshape(-1, 2)
    hits = np.count_nonzero(points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1] < 1)
    return Run("monte_carlo_pi", (1,), (64,), [np.zeros(1, np.uint32), i32(10)], {0: [hits]})


@case("numerics.cu")
def normals_box_muller(rng):
    u, v = uniforms(64, 2).T
    radius, angle = 3 * np.sqrt(-2 * np.log(u + 2.0**-25)), 2 * np.pi * v
    expected = 1 + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    mean_deviation = np.array([1, 3], f32).view(np.uint64)[0]
    return Run("normals_box_muller", (2,), (32,), [blank((64, 2)), mean_deviation], {0: expected}, rtol=1e-3, atol=1e-3)


@case("numerics.cu")
def lu_solve_warp(rng):
    a, b = normal(rng, 5, 8, 8), normal(rng, 5, 8)
    expected = {2: np.linalg.solve(wide(a), wide(b)[..., None]), 3: np.linalg.det(wide(a))}
    arguments = [a, b, blank((5, 8)), blank(5)]
    return Run("lu_solve_warp", (5,), (32,), arguments, expected, rtol=1e-3, atol=1e-3)


@case("numerics.cu")
def cholesky_packed(rng):
    root = np.tril(wide(normal(rng, 6, 5, 5))) * 0.3 + 2 * np.eye(5)
    low = np.tril_indices(5)
    packed = (root @ root.transpose(0, 2, 1))[:, *low]
    return Run("cholesky_packed", (1,), (32,), [packed, i32(6), i32(5)], {0: root[:, *low]}, rtol=1e-11, atol=1e-11)


@case("numerics.cu")
def tridiagonal(rng):
    rows = normal(rng, 3, 50, 4)
    rows[..., 1] += np.where(rows[..., 1] > 0, 4, -4)
    rows[:, 0, 0] = rows[:, -1, 2] = 0
    expected = []
    for system in wide(rows):
        matrix = np.diag(system[:, 1]) + np.diag(system[1:, 0], -1) + np.diag(system[:-1, 2], 1)
        expected.append(np.linalg.solve(matrix, system[:, 3]))
    return Run("tridiagonal", (3,), (64,), [rows, blank((3, 50)), i32(50)], {1: expected}, rtol=1e-3, atol=1e-4)


@case("numerics.cu")
def sum_compensated(rng):
    x = normal(rng, 200) * f32(10) ** rng.integers(-4, 9, 200).astype(f32)
    return Run(
        "sum_compensated",
        (1,),
        (32,),
        [x, blank(2), i32(200)],
        {1: [math.fsum(x.tolist())]},
        rtol=1e-12,
        read={1: lambda pair: wide(pair).sum(keepdims=True)},
    )


@case("numerics.cu")
def horner_complex(rng):
    coefficients, points = normal(rng, 8, 2), normal(rng, 40, 2)
    expected = pairs_of(np.polyval(complex_of(coefficients)[::-1], complex_of(points)))
    arguments = [coefficients, points, blank((40, 2)), i32(7), i32(40)]
    return Run("horner_complex", (2,), (32,), arguments, {2: expected}, rtol=1e-3, atol=1e-3)


@case("numerics.cu")
def special_functions(rng):
    x = normal(rng, 12, dtype=np.float64) * 2
    columns = []
    for v in x.tolist():
        row = [
            math.exp(v),
            math.log1p(abs(v)),
            math.sin(v),
            math.expm1(v),
            math.tanh(v),
            math.atan2(v, 2),
            math.cbrt(v),
        ]
        row += [math.erfc(v), (abs(v) + 1) ** -0.5, math.hypot(v, 3), math.fmod(v, 0.7), math.remainder(v, 0.7)]
        row += [v * 8, float(round(v)), math.floor(v), v]
        columns.append(row)
    arguments = [x, blank((12, 16), np.float64), i32(12)]
    return Run("special_functions", (1,), (32,), arguments, {1: columns}, rtol=1e-12, atol=1e-13)


@case("numerics.cu")
def special_functions_float(rng):
    x = normal(rng, 12) * f32(2)
    columns = []
    for v in x.tolist():
        fraction, exponent = math.frexp(v)
        away = math.copysign(math.floor(abs(v) + 0.5), v)
        columns.append([2**v, math.log10(abs(v)), math.sinh(v), math.asinh(v), math.erfc(-v / 2**0.5) / 2])
        columns[-1] += [abs(v) ** 1.5, away, math.trunc(v), fraction, exponent, math.modf(v)[0]]
        columns[-1].append(max(0, v - 0.5))
    return Run("special_functions_float", (1,), (32,), [x, blank((12, 12)), i32(12)], {1: columns}, rtol=2e-5)
