"""Softmax, log-sum-exp and the online softmax, row by row, in float64.

For a row s of scores with maximum m:

    softmax(s)_j = e^(s_j - m) / sum_k e^(s_k - m)        lse(s) = m + ln sum_k e^(s_k - m)

The online form sees the row in tiles and keeps three numbers a row. After tile j:

    m_j = max(m_(j-1), max of the tile)
    l_j = e^(m_(j-1) - m_j) l_(j-1) + sum of e^(s - m_j) over the tile
    o_j = e^(m_(j-1) - m_j) o_(j-1) + sum of e^(s - m_j) v over the tile

and the result is o/l after the last tile.

Sources: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (arXiv:1805.02867, 2018);
T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness"
(arXiv:2205.14135, 2022), algorithm 1.

A score of -inf is a masked key. A row, or the tiles seen so far, with nothing but masked keys is the empty
set: m = -inf, l = 0, o = 0, and the result is 0.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Float64 = NDArray[np.float64]


class Trace(NamedTuple):
    """m, l and o after each tile, [R, T] each, and the result, [R]."""

    m: Float64
    l: Float64
    o: Float64
    out: Float64


def lse(scores: Array, axis: int = -1) -> Float64:
    """Natural log of the sum of exponentials along an axis; -inf for an empty or fully masked set."""
    scores = np.asarray(scores, np.float64)
    if scores.shape[axis] == 0:
        return np.full(np.delete(scores.shape, axis % scores.ndim), -np.inf)
    m = scores.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        log_sum = np.log(exp_shifted(scores, m).sum(axis=axis))
    return np.where(np.isneginf(m.squeeze(axis)), -np.inf, m.squeeze(axis) + log_sum)


def softmax(scores: Array, axis: int = -1) -> Float64:
    """Softmax along an axis, same shape as scores; a fully masked row gives zeros."""
    scores = np.asarray(scores, np.float64)
    weights = exp_shifted(scores, scores.max(axis=axis, keepdims=True))
    total = weights.sum(axis=axis, keepdims=True)
    out: Float64 = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return out


def exp_shifted(scores: Array, m: Array) -> Float64:
    """e^(scores - m), and 0 where m is -inf: nothing has been seen there, so nothing counts."""
    shifted: Float64 = np.exp(scores - np.where(np.isneginf(m), 0.0, m))
    return shifted


def online_trace(scores: Array, v: Array, tile: int, *, rescale_l: bool = True, rescale_o: bool = True) -> Trace:
    """The online softmax of rows of scores with one scalar value a key.

    scores, v: [R, T * tile]. Leaving out a rescaling gives the mistakes this algorithm invites.
    Raises ValueError when the row is no whole number of tiles.
    """
    rows, keys = scores.shape
    if tile < 1 or keys % tile:
        raise ValueError(f"{keys} keys are no whole number of tiles of {tile}")
    tiles = keys // tile
    s = np.asarray(scores, np.float64).reshape(rows, tiles, tile)
    m = np.maximum.accumulate(s.max(axis=2), axis=1)
    weights = exp_shifted(s, m[:, :, None])
    tile_l = weights.sum(axis=2)
    weights *= np.asarray(v, np.float64).reshape(rows, tiles, tile)
    tile_o = weights.sum(axis=2)

    l_trace, o_trace = np.empty((rows, tiles)), np.empty((rows, tiles))
    l, o = np.zeros(rows), np.zeros(rows)
    previous = np.full(rows, -np.inf)
    for j in range(tiles):
        correction = exp_shifted(previous, m[:, j])
        l = l * (correction if rescale_l else 1.0) + tile_l[:, j]
        o = o * (correction if rescale_o else 1.0) + tile_o[:, j]
        l_trace[:, j], o_trace[:, j] = l, o
        previous = m[:, j]
    return Trace(m, l_trace, o_trace, normalized(o, l))


def normalized(o: Array, l: Array) -> Float64:
    """o / l, and 0 for the empty set (l = 0)."""
    out: Float64 = np.divide(o, l, out=np.zeros(np.broadcast_shapes(o.shape, l.shape)), where=l != 0)
    return out
