"""Other numbers for every timed repeat: each element of an input gets a random sign.

Element i of a buffer has bit i mod 64 of a hash of (seed, i div 64); a set bit flips its sign. The GPU
does it in place between two repeats (rulers.cu), the judge does it here for the rows it verifies.
A flip is exact and its own inverse, so the numbers of any repeat are known from the first ones and a
seed, and a kernel cannot know a repeat's output without having computed it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_CHUNK_WORDS = 1 << 16


def sign_words(seed: int, words: Words) -> Words:
    """The hash of each word number, 64 signs in each; all zero for seed 0."""
    if seed == 0:
        return np.zeros_like(words)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (words + np.uint64(1)) * _STEP
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        return z ^ (z >> np.uint64(31))


def flipped(array: Array, seed: int) -> Array:
    """A copy of a whole array of 2-, 4- or 8-byte elements with the signs of a seed."""
    out = np.ascontiguousarray(array).copy()
    bits = _as_bits(out.reshape(-1))
    top = _top_bit(out.itemsize)
    for first in range(0, bits.size, 64 * _CHUNK_WORDS):
        part = bits[first : first + 64 * _CHUNK_WORDS]
        numbers = np.arange(first // 64, first // 64 - (-part.size // 64), dtype=np.uint64)
        words = sign_words(seed, numbers).astype("<u8")
        signs = np.unpackbits(words.view(np.uint8), bitorder="little", count=part.size)
        part ^= signs.astype(bits.dtype) << top
    return out


class Fresh:
    """An input with the signs of a repeat, made row by row. array: the numbers without signs; seed 0 leaves them."""

    def __init__(self, array: Array, seed: int) -> None:
        self._array = array
        self._seed = seed

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    def take(self, *leading: Any) -> Array:
        """array[leading] with whole trailing axes, as a copy. Raises ValueError for more indices than axes."""
        if len(leading) > self._array.ndim:
            raise ValueError(f"{len(leading)} indices into {self._array.ndim} axes")
        indices = np.broadcast_arrays(*(np.asarray(index, np.int64) for index in leading))
        taken = np.array(self._array[tuple(indices)], order="C")
        if self._seed == 0:
            return taken
        inner = int(np.prod(self._array.shape[len(leading) :], dtype=np.int64))
        row = np.ravel_multi_index(tuple(indices), self._array.shape[: len(leading)])
        first: Words = np.asarray(row, np.uint64)[..., None] * np.uint64(inner)
        place: Words = np.asarray(first + np.arange(inner, dtype=np.uint64), np.uint64)
        if inner % 64 == 0:
            words = sign_words(self._seed, place[..., ::64] >> np.uint64(6)).astype("<u8")
            signs = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
        else:
            words = sign_words(self._seed, place >> np.uint64(6))
            signs = ((words >> (place & np.uint64(63))) & np.uint64(1)).astype(np.uint8)
        bits = _as_bits(taken.reshape(-1))
        bits ^= signs.reshape(-1).astype(bits.dtype) << _top_bit(taken.itemsize)
        return taken


def _as_bits(flat: Array) -> Array:
    return flat.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[flat.itemsize])


def _top_bit(itemsize: int) -> Any:
    return {2: np.uint16(15), 4: np.uint32(31), 8: np.uint64(63)}[itemsize]
