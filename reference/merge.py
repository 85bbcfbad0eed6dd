"""Merging the partial results of a split key range (split-K), in float64.

Segment s of the keys has a maximum m_s, a sum of exponentials l_s taken against that maximum, and an output
O_s that is already divided by l_s. The whole is

    m = max_s m_s        w_s = e^(m_s - m) l_s        l = sum_s w_s        O = sum_s w_s O_s / l

The same with one log-sum-exp a segment, L_s = m_s + ln l_s:  w_s = e^(L_s - max L).

A segment with no key has m = -inf, l = 0 and an undefined O: it takes no part, whatever bytes it holds. If all
segments are empty, O = 0.

Sources: T. Dao, D. Haziza, F. Massa, G. Sizov, "Flash-Decoding for long-context inference" (2023);
Z. Ye et al., "FlashInfer" (arXiv:2501.01005, 2025), section 3.2: attention states under this operation form
a commutative semigroup, so that segments may be merged in any order and grouping.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference.softmax import exp_shifted, normalized

Array = NDArray[Any]
Float64 = NDArray[np.float64]


class State(NamedTuple):
    """A partial result: o [..., D] divided by l; m and l [...]."""

    o: Float64
    m: Float64
    l: Float64


def merge(o: Array, m: Array, l: Array) -> State:
    """Merge the segments of the last axis but one.

    o: [..., S, D], normalized; m, l: [..., S]; the state returned has o [..., D], m and l [...].
    """
    m = np.asarray(m, np.float64)
    l = np.asarray(l, np.float64)
    used = l > 0
    top = np.where(used, m, -np.inf).max(axis=-1, keepdims=True)
    weights = np.where(used, exp_shifted(m, top) * l, 0.0)
    payload = np.where(used[..., None], np.asarray(o, np.float64), 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    merged = normalized((weights[..., None, :] @ payload)[..., 0, :], total)
    return State(merged, top[..., 0], total[..., 0])


def merge_lse(o: Array, log_sums: Array) -> tuple[Float64, Float64]:
    """Merge by log-sum-exp: o [..., S, D], log_sums [..., S] natural; returns O [..., D] and LSE [...]."""
    log_sums = np.asarray(log_sums, np.float64)
    state = merge(o, log_sums, np.where(np.isneginf(log_sums), 0.0, 1.0))
    with np.errstate(divide="ignore"):
        return state.o, state.m + np.log(state.l)


def partial(scores: Array, values: Array) -> State:
    """The state of one segment: scores [..., R, K], -inf where masked; values [..., K, D]; K may be 0."""
    scores = np.asarray(scores, np.float64)
    values = np.asarray(values, np.float64)
    if scores.shape[-1] == 0:
        rows = scores.shape[:-1]
        return State(np.zeros((*rows, values.shape[-1])), np.full(rows, -np.inf), np.zeros(rows))
    m = scores.max(axis=-1, keepdims=True)
    weights = exp_shifted(scores, m)
    total = weights.sum(axis=-1, keepdims=True)
    return State(normalized(weights @ values, total), m[..., 0], total[..., 0])
