"""Inputs, float64 reference and float32 yardstick of the cases, made while a worker is busy.

All of it stays in the trusted parent; only the inputs are ever sent to a worker. One thread makes
them in the order they are asked for, so the next case is ready when the device is.
"""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from judge.problem import Array, Case, Problem

KEPT_BYTES = 1 << 30
"""Arrays kept for a second backend; beyond it they are made again from the same seed."""


@dataclass(frozen=True)
class Expected:
    reference: dict[str, Array]
    naive: dict[str, Array]


@dataclass
class _Example:
    inputs: Future[dict[str, Array]]
    expected: Future[Expected] | None = None


def case_generator(case: Case, seed: int) -> np.random.Generator:
    """The generator of a case's inputs.

    It depends on the seed and the case's name alone, so a case run by itself sees the same numbers.
    A case with a seed of its own (a sample) ignores the run's.
    """
    chosen = seed if case.seed is None else case.seed
    digest = hashlib.sha256(f"{chosen}/{case.name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))


class Examples:
    """The examples of one run; a context manager, because it owns a thread."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._problem = problem
        self._seed = seed
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="examples")
        self._examples: dict[str, _Example] = {}
        self._kept_bytes = 0

    def __enter__(self) -> "Examples":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(wait=kind is None, cancel_futures=True)

    def prepare(self, case: Case) -> None:
        """Start making all of a case's arrays, unless they are there or under way."""
        example = self._example(case)
        if example.expected is None:
            example.expected = self._executor.submit(self._expect, case, example.inputs)

    def inputs(self, case: Case) -> dict[str, Array]:
        """Wait for the inputs. Without prepare() before it, what is expected is left for later."""
        return self._example(case).inputs.result()

    def expected(self, case: Case) -> Expected:
        self.prepare(case)
        expected = self._examples[case.name].expected
        assert expected is not None
        return expected.result()

    def _example(self, case: Case) -> _Example:
        if case.name not in self._examples:
            generator = case_generator(case, self._seed)
            self._examples[case.name] = _Example(self._executor.submit(self._problem.generate, case, generator))
        return self._examples[case.name]

    def release(self, case: Case, *, needed_again: bool) -> None:
        """A backend is through with the case; keep its arrays if they are needed again and small enough."""
        example = self._examples[case.name]
        size = sum(array.nbytes for array in example.inputs.result().values())
        if needed_again and self._kept_bytes + size <= KEPT_BYTES:
            self._kept_bytes += size
            return
        del self._examples[case.name]

    def _expect(self, case: Case, inputs: Future[dict[str, Array]]) -> Expected:
        arrays = inputs.result()
        return Expected(self._problem.reference(case, arrays), self._problem.naive(case, arrays))
