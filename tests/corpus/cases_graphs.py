"""Sparse matrices and graphs."""

import numpy as np

from tests.corpus.harness import Run, blank
from tests.corpus.registry import Generator, case, f32, i32, normal, wide


def sparse(rng: Generator, rows: int, columns: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(dense, starts of the rows, column of each entry)."""
    dense = normal(rng, rows, columns) * (rng.random((rows, columns)) < share)
    starts = np.concatenate([[0], (dense != 0).sum(1).cumsum()]).astype(i32)
    return dense, starts, np.nonzero(dense)[1].astype(i32)


@case("graphs.cu")
def spmv_csr_scalar(rng):
    dense, starts, columns = sparse(rng, 40, 30, 0.15)
    x = normal(rng, 30)
    arguments = [starts, columns, dense[dense != 0], x, blank(40), i32(40)]
    return Run("spmv_csr_scalar", (2,), (32,), arguments, {4: wide(dense) @ x}, atol=1e-5)


@case("graphs.cu")
def spmv_csr_vector(rng):
    dense, starts, columns = sparse(rng, 21, 60, 0.4)
    x = normal(rng, 60)
    arguments = [starts, columns, dense[dense != 0], x, blank(21), i32(21)]
    return Run("spmv_csr_vector", (3,), (64,), arguments, {4: wide(dense) @ x}, atol=1e-5)


@case("graphs.cu")
def spmv_ell(rng):
    dense, starts, columns = sparse(rng, 25, 25, 0.2)
    width = int(np.diff(starts).max())
    places, values = np.full((width, 25), -1, i32), np.zeros((width, 25))
    for r in range(25):
        own = slice(starts[r], starts[r + 1])
        places[: starts[r + 1] - starts[r], r] = columns[own]
        values[: starts[r + 1] - starts[r], r] = dense[r, columns[own]]
    x = wide(normal(rng, 25))
    arguments = [places, values, x, blank(25, np.float64), i32(25), i32(width)]
    return Run("spmv_ell", (1,), (32,), arguments, {3: wide(dense) @ x}, rtol=1e-12, atol=1e-12)


@case("graphs.cu")
def spmv_coo(rng):
    dense, _, columns = sparse(rng, 12, 20, 0.4)
    x, rows = normal(rng, 20), np.nonzero(dense)[0].astype(i32)
    entries = np.stack([rows, columns, dense[dense != 0].view(i32)], axis=1)
    count = rows.size
    arguments = [entries, x, np.zeros(12, f32), i32(count)]
    return Run("spmv_coo", (-(-count // 64),), (64,), arguments, {2: wide(dense) @ x}, atol=1e-5)


@case("graphs.cu")
def sddmm(rng):
    entries = np.argwhere(rng.random((9, 11)) < 0.3).astype(i32)[:21]
    a, b = normal(rng, 9, 40), normal(rng, 11, 40)
    expected = (wide(a)[entries[:, 0]] * b[entries[:, 1]]).sum(1)
    count = len(entries)
    arguments = [entries, a, b, blank(count), i32(count), i32(10)]
    return Run("sddmm", (-(-count // 4),), (16, 4), arguments, {3: expected}, atol=1e-5)


@case("graphs.cu")
def bfs_levels(rng):
    linked = rng.random((50, 50)) < 0.05
    starts = np.concatenate([[0], linked.sum(1).cumsum()]).astype(i32)
    level, depth = np.full(50, -1, i32), 0
    level[3] = 0
    given = level.copy()
    while (level == depth).any():
        level[linked[level == depth].any(0) & (level < 0)] = depth + 1
        depth += 1
    arguments = [starts, np.nonzero(linked)[1].astype(i32), given, i32(3)]
    return Run("bfs_levels", (1,), (32,), arguments, {2: level})


@case("graphs.cu")
def components(rng):
    edges, parent = rng.integers(0, 60, (45, 2), dtype=i32), np.arange(60, dtype=i32)
    labels = np.arange(60)
    for a, b in edges:
        low, high = sorted((labels[a], labels[b]))
        labels[labels == high] = low
    return [
        Run("components_hook", (2,), (32,), [edges, parent, i32(45)]),
        Run("components_flatten", (2,), (32,), [parent, blank(60, i32), i32(60)], {1: labels}),
    ]


@case("graphs.cu")
def shortest_paths(rng):
    d = np.where(rng.random((16, 16)) < 0.2, rng.integers(1, 90, (16, 16)), 0xFFFF).astype(np.uint16)
    np.fill_diagonal(d, 0)
    expected = d.astype(int)
    for k in range(16):
        expected = np.minimum(expected, np.minimum(expected[:, k, None] + expected[k], 0xFFFF))
    return Run("shortest_paths", (1,), (16, 16), [d, i32(16)], {0: expected})


@case("graphs.cu")
def count_triangles(rng):
    upper = np.triu(rng.random((40, 40)) < 0.3, 1)
    linked = (upper | upper.T).astype(int)
    rows = np.array([sum(1 << int(j) for j in np.flatnonzero(row)) for row in linked], np.uint64)
    expected = [np.trace(linked @ linked @ linked) // 6]
    return Run("count_triangles", (40,), (64,), [rows, np.zeros(1, i32), i32(40)], {1: expected})
