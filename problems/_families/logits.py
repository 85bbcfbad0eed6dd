"""Designed scores: rows of logits that force one behaviour each, exact in float32.

With q = (1/scale, 0, 0, ...) and k_j = (s_j, anything finite) the logit of key j is s_j to the last bit when
scale is a power of two, so that a wrong result cannot hide behind rounding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rng = np.random.Generator


def _steps(keys: int) -> Array:
    return np.floor(4 * np.arange(keys) / keys)


def _eighths(rng: Rng, keys: int) -> Array:
    """Random multiples of 1/8 in [0, 4): exact beside any base below 2^20."""
    return rng.integers(0, 32, keys) / 8


def _slope(rng: Rng, keys: int) -> Array:
    return np.round(np.linspace(-30, 30, keys) * 8) / 8 + _eighths(rng, keys) if keys > 1 else np.zeros(1)


def _spike(keys: int, at: int) -> Array:
    scores = np.full(keys, -40.0)
    scores[at] = 40.0
    return scores


DESIGNS: dict[str, Callable[[Rng, int], Array]] = {
    "equal": lambda rng, keys: np.full(keys, 3.0),
    "stairs-rising": lambda rng, keys: _steps(keys),
    "stairs-falling": lambda rng, keys: 3 - _steps(keys),
    "cliff-rising": lambda rng, keys: 100 * _steps(keys),
    "cliff-falling": lambda rng, keys: 300 - 100 * _steps(keys),
    "rising": _slope,
    "falling": lambda rng, keys: _slope(rng, keys)[::-1],
    "huge": lambda rng, keys: 150 + _eighths(rng, keys),
    "deep": lambda rng, keys: -20000 - _eighths(rng, keys),
    "top": lambda rng, keys: 20000 + _eighths(rng, keys),
    "deepest": lambda rng, keys: -245000 - _eighths(rng, keys),
    "crumbs": lambda rng, keys: np.where(np.arange(keys) < 2, 0.0, -8.25),
    "needle-last": lambda rng, keys: _spike(keys, -1),
    "needle-first": lambda rng, keys: _spike(keys, 0),
}
"""Name of a family -> scores of one row of keys, by position."""


LEVELS = (0.0, 150.0, -5000.0, -20000.0)
"""Where the scores of row 0, 1, 2, 3, 4 = 0, ... of the family "levels" lie: a range mistake spoils some rows only,
and which ones tells the mistake."""


def design(family: str, keys: int, rng: Rng, row: int = 0) -> Array:
    """Scores [keys] in float32 of one row. Raises KeyError for a family that is not designed."""
    if family == "levels":
        return (LEVELS[row % len(LEVELS)] + _eighths(rng, keys)).astype(np.float32)
    return np.ascontiguousarray(DESIGNS[family](rng, keys), np.float32)


def group_values(keys: int) -> Array:
    """1, 2, 3, 4 by quarter of the row: the values that make the signatures of stairs and cliff readable."""
    return (_steps(keys) + 1).astype(np.float32)


def crumb_values(keys: int) -> Array:
    """1 for the first two keys, 3 for the others. In crumbs each of these adds 3 e^-8.25 = 0.00078 to a sum of 2 or
    more: together they count, but a sum in 16 bits rounds every one away.
    """
    return np.where(np.arange(keys) < 2, 1, 3).astype(np.float32)
