"""bfloat16, which NumPy does not have: kept as uint16, the upper half of a float32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 18
"""Elements rounded at a time, so that the steps in between stay in the cache."""


def to_bfloat16(values: NDArray[Any]) -> NDArray[np.uint16]:
    """The nearest bfloat16 of each number, ties to even, as uint16 in the same shape; a NaN becomes 0x7fc0.

    Floats wider than float32 are rounded to float32 first.
    """
    flat = np.ascontiguousarray(values, np.float32).reshape(-1)
    out = np.empty(flat.size, np.uint16)
    for first in range(0, flat.size, _CHUNK):
        part = flat[first : first + _CHUNK]
        bits = part.view(np.uint32)
        rounded = bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))
        out[first : first + _CHUNK] = np.where(np.isnan(part), np.uint32(0x7FC0), rounded >> 16)
    return out.reshape(np.shape(values))


def from_bfloat16(stored: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The numbers that uint16 words stand for, as float32 in the same shape, exactly."""
    return (stored.astype(np.uint32) << 16).view(np.float32)
