"""Typical mistakes in softmax-weighted sums, as float64 mathematics.

Each function takes the scores of rows of keys and their values, as `attend` does, and returns what a kernel
with one mistake returns. Problems build their mutants from these. They compute on through NaN and infinity
without a warning, as a GPU does.

scores: [..., R, K], -inf where a key is masked; values: [..., K, Dv]; every result is [..., R, Dv].
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.softmax import exp_shifted

Array = NDArray[Any]
Weighing = Callable[[Array, Array], Array]


def tiled(scores: Array, values: Array, tile: int, *, rescale_l: bool = True, rescale_o: bool = True) -> Array:
    """The online softmax in tiles of keys, with the rescaling of l or o left out."""
    rows = scores.shape[:-1]
    m = np.full((*rows, 1), -np.inf)
    l = np.zeros((*rows, 1))
    o = np.zeros((*rows, values.shape[-1]))
    with np.errstate(all="ignore"):
        for start in range(0, scores.shape[-1], tile):
            s = scores[..., start : start + tile]
            m_new = np.maximum(m, s.max(axis=-1, keepdims=True))
            correction = exp_shifted(m, m_new)
            weights = exp_shifted(s, m_new)
            l = l * (correction if rescale_l else 1.0) + weights.sum(axis=-1, keepdims=True)
            o = o * (correction if rescale_o else 1.0) + weights @ values[..., start : start + tile, :]
            m = m_new
        return o / l


def tiles_added(scores: Array, values: Array, tile: int) -> Array:
    """Each tile normalized alone and the results added."""
    total = np.zeros((*scores.shape[:-1], values.shape[-1]))
    with np.errstate(all="ignore"):
        for start in range(0, scores.shape[-1], tile):
            s = scores[..., start : start + tile]
            weights = exp_shifted(s, s.max(axis=-1, keepdims=True))
            l = weights.sum(axis=-1, keepdims=True)
            total += np.where(l > 0, weights @ values[..., start : start + tile, :] / l, 0.0)
    return total


def uniform(scores: Array, values: Array) -> Array:
    """The plain mean of the visible values: the scores are never used."""
    visible = np.where(np.isneginf(scores), 0.0, 1.0)
    with np.errstate(all="ignore"):
        mean: Array = (visible @ values) / visible.sum(axis=-1, keepdims=True)
    return mean


def base_two(scores: Array, values: Array) -> Array:
    """Weights 2^(s - m) where e^(s - m) is meant."""
    with np.errstate(all="ignore"):
        weights = np.exp2(scores - scores.max(axis=-1, keepdims=True))
        out: Array = (weights @ values) / weights.sum(axis=-1, keepdims=True)
    return out


def not_normalized(scores: Array, values: Array) -> Array:
    """The division by l left out."""
    with np.errstate(all="ignore"):
        return exp_shifted(scores, scores.max(axis=-1, keepdims=True)) @ values


def narrow_sums(rounded: Callable[[Array], Array], *, l: bool, o: bool) -> Weighing:
    """The online softmax key by key, with l or o (or both) rounded after every addition, as a narrow register is."""

    def compute(scores: Array, values: Array) -> Array:
        rows = scores.shape[:-1]
        m = np.full((*rows, 1), -np.inf)
        l_sum = np.zeros((*rows, 1))
        o_sum = np.zeros((*rows, values.shape[-1]))
        with np.errstate(all="ignore"):
            for key in range(scores.shape[-1]):
                s = scores[..., key : key + 1]
                m_new = np.maximum(m, s)
                correction, weight = exp_shifted(m, m_new), exp_shifted(s, m_new)
                l_sum = l_sum * correction + weight
                o_sum = o_sum * correction + weight * values[..., key : key + 1, :]
                l_sum = rounded(l_sum) if l else l_sum
                o_sum = rounded(o_sum) if o else o_sum
                m = m_new
            return np.asarray(o_sum / l_sum)

    return compute


def no_maximum(scores: Array, values: Array) -> Array:
    """e^s without a maximum, in the range of float32: overflow gives NaN, underflow of all weights 0/0."""
    with np.errstate(all="ignore"):
        weights = np.exp(scores).astype(np.float32)
        total = weights.sum(axis=-1, keepdims=True, dtype=np.float32)
        summed = (weights.astype(np.float64) @ values).astype(np.float32)
        out: Array = (summed / total).astype(np.float64)
    return out


def maximum_from(start: float) -> Weighing:
    """The maximum starts at a finite value instead of -inf: weights underflow when every score lies far below."""

    def compute(scores: Array, values: Array) -> Array:
        with np.errstate(all="ignore"):
            m = np.maximum(scores.max(axis=-1, keepdims=True), start)
            weights = np.exp(scores - m).astype(np.float32)
            total = weights.sum(axis=-1, keepdims=True, dtype=np.float32)
            summed = (weights.astype(np.float64) @ values).astype(np.float32)
            out: Array = (summed / total).astype(np.float64)
        return out

    return compute
