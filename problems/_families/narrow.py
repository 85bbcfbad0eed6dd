"""A family's functions over buffers stored in 16 bits.

A family makes and reads float32 arrays. Here they are rounded to what is stored, and everything that reads them -
reference, yardstick, mutants - gets the stored numbers as float32 again, exactly. NaN stays NaN, so unused slots
are poison in 16 bits too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from judge.bfloat16 import from_bfloat16, to_bfloat16
from judge.problem import Array, Arrays, Buffer, Case, KeyAxis, Mutant, Taker, Timed, Weighed
from problems._families.logits import DESIGNS

_Result = TypeVar("_Result")
Function = Callable[[Case, Arrays], _Result]
Generator = Callable[[Case, np.random.Generator], dict[str, Array]]


def _to_half(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


_STORE: Mapping[str, Callable[[Array], Array]] = {"f16": _to_half, "bf16": to_bfloat16}


def buffers_in(dtype: str, names: Sequence[str], buffers: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """The buffers, those named stored in another type."""
    return tuple(replace(buffer, dtype=dtype) if buffer.name in names else buffer for buffer in buffers)


def rounded(values: Array, dtype: str) -> Array:
    """The numbers as they come back from the store."""
    return wide(_STORE[dtype](values)).astype(np.asarray(values).dtype)


def wide(array: Array) -> Array:
    """float32 of an array in 16 bits; uint16 is bfloat16. Other arrays as they are."""
    if array.dtype == np.uint16:
        return from_bfloat16(array)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def over_wide(function: Function[_Result]) -> Function[_Result]:
    """A function of a family for inputs in 16 bits."""
    return lambda case, inputs: function(case, {name: wide(array) for name, array in inputs.items()})


def mutants_over_wide(mutants: Sequence[Mutant]) -> tuple[Mutant, ...]:
    """A family's mutants for inputs in 16 bits."""
    return tuple(replace(mutant, compute=over_wide(mutant.compute)) for mutant in mutants)


class _WideTaker:
    def __init__(self, taker: Taker) -> None:
        self._taker = taker

    @property
    def shape(self) -> tuple[int, ...]:
        return self._taker.shape

    def take(self, *leading: Any) -> Array:
        return wide(self._taker.take(*leading))


def timed_over_wide(timed: Timed) -> Timed:
    """How a family's bench cases are timed and verified, for inputs in 16 bits."""

    def rows(case: Case, inputs: Mapping[str, Taker], chosen: Array) -> dict[str, Array]:
        return timed.reference_rows(case, {name: _WideTaker(taker) for name, taker in inputs.items()}, chosen)

    return replace(timed, reference_rows=rows)


def keys_over_wide(keys: KeyAxis) -> KeyAxis:
    """How a family's output comes from keys, for inputs in 16 bits."""

    def attended(case: Case, inputs: Arrays, rows: Array) -> Iterator[Weighed]:
        return keys.weighed(case, {name: wide(array) for name, array in inputs.items()}, rows)

    return replace(keys, weighed=attended)


def generator_in(
    dtype: str, names: Sequence[str], generate: Generator, query: str, key: str, weights: Sequence[float]
) -> Generator:
    """A family's generator with the named inputs rounded to 16 bits.

    A designed score has more bits than the store. It is split: the key's first elements hold parts of it whose sum,
    weighted, is the score again, and the query holds 1/scale times these weights. query, key: the inputs that hold
    them; the scores of a design lie in element 0 of the last axis.
    """

    def narrow(case: Case, rng: np.random.Generator) -> dict[str, Array]:
        arrays = generate(case, rng)
        if case.family in DESIGNS or case.family == "levels":
            _split(arrays[query], arrays[key], dtype, weights)
        return {name: _STORE[dtype](array) if name in names else array for name, array in arrays.items()}

    return narrow


def _split(q: Array, k: Array, dtype: str, weights: Sequence[float]) -> None:
    rest = k[..., 0].astype(np.float64)
    unit = q[..., 0].copy()
    for place, weight in enumerate(weights):
        part = rounded(rest / weight, dtype)
        k[..., place] = part
        q[..., place] = unit * np.float32(weight)
        rest = rest - weight * part
