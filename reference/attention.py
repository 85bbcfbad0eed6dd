"""Scaled dot-product attention in float64, full and causal.

    S = scale * Q K^T        P = softmax(S) by rows        O = P V        LSE = log-sum-exp of S by rows

Causal is bottom-right: with Lq queries and Lk keys, query i sees the keys 0 .. i + Lk - Lq, so that the last
query sees every key. With Lq = Lk it is the lower triangle. A query that sees no key has O = 0, LSE = -inf.

Sources: A. Vaswani et al., "Attention Is All You Need" (arXiv:1706.03762, 2017), equation 1; the alignment of
the causal mask is that of T. Dao, "FlashAttention-2" (arXiv:2307.08691, 2023).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.softmax import exp_shifted, normalized

Array = NDArray[Any]
Float64 = NDArray[np.float64]

_BLOCK_SCORES = 1 << 19
_BLOCK_ROWS = 128
"""A block of rows holds so many scores, and no fewer rows: small enough for the cache of a CPU, large enough that
a matrix product is worth the threads that BLAS starts for it."""


def attention(
    q: Array, k: Array, v: Array, scale: float, causal: bool = False, diagonal: int | None = None
) -> tuple[Float64, Float64]:
    """Attention of every head: (O, LSE).

    q: [H, Lq, D]; k: [H, Lk, D]; v: [H, Lk, Dv]; O: [H, Lq, Dv]; LSE: [H, Lq].
    diagonal: with causal, query i sees keys up to i + diagonal; by default Lk - Lq.
    """
    heads, queries, _ = q.shape
    keys = k.shape[1]
    offset = keys - queries if diagonal is None else diagonal
    out = np.zeros((heads, queries, v.shape[2]))
    log_sums = np.full((heads, queries), -np.inf)
    step = max(_BLOCK_ROWS, _BLOCK_SCORES // max(1, keys))
    for head in range(heads):
        kt = np.asarray(k[head], np.float64).T
        values = np.asarray(v[head], np.float64)
        scaled = np.asarray(q[head], np.float64) * float(scale)
        for start in range(0, queries, step):
            rows = np.arange(start, min(start + step, queries))
            seen = min(keys, int(rows[-1]) + offset + 1) if causal else keys
            if seen <= 0:
                continue
            scores = scaled[rows] @ kt[:, :seen]
            if causal:
                scores[np.arange(seen) > (rows + offset)[:, None]] = -np.inf
            out[head, rows], log_sums[head, rows] = attend(scores, values[:seen])
    return out, log_sums


def attend(scores: Array, values: Array) -> tuple[Float64, Float64]:
    """Softmax-weighted sum of values and log-sum-exp, over the last axis of scores.

    scores: [..., R, K], -inf where masked; values: [..., K, Dv]; returns [..., R, Dv] and [..., R].
    """
    m = scores.max(axis=-1, keepdims=True)
    weights = exp_shifted(scores, m)
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_sum = (m + np.log(total))[..., 0]
    return normalized(weights @ values, total), log_sum


def causal_pairs(queries: int, keys: int) -> int:
    """How many (query, key) pairs the bottom-right causal mask leaves visible in one head."""
    seen = np.clip(np.arange(queries) + keys - queries + 1, 0, keys)
    return int(seen.sum())
