"""Where the cases of the corpus are kept, and what more than one module of them needs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.corpus.harness import Maker

Generator = np.random.Generator
i32, f32 = np.int32, np.float32


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    make: Maker


CASES: list[Case] = []


def case(file: str) -> Callable[[Maker], Maker]:
    def add(make: Maker) -> Maker:
        CASES.append(Case(file, make.__name__, make))
        return make

    return add


def normal(rng: Generator, *shape: int, dtype: object = f32) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def to_bf16(x: np.ndarray) -> np.ndarray:
    """Round to nearest even; the bits as uint16."""
    bits = np.ascontiguousarray(x, dtype=f32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(f32)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)
