"""A problem that keeps what it computed, for a process that judges many kernels on the same inputs.

Verification draws the same inputs for every kernel of a package. What follows from them alone, the reference, the
yardstick and the outputs of the known mistakes, is the same each time too, and costs as much as running a kernel.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from judge.problem import Array, Arrays, Case, Problem

KEPT_BYTES = 512 << 20
"""For all cases together; what comes later is computed each time."""

_Compute = Callable[[Case, Arrays], dict[str, Array]]


def remembering(problem: Problem, generator: Callable[[Case], np.random.Generator]) -> Problem:
    """The problem, whose functions give the same arrays again, read-only, for the inputs that this generator draws.

    generator: makes the generator that `generate` is called with, the same one for a case each time. Other inputs
    than those are taken as ever. For any number of threads; two may compute the same at once.
    """
    memory = _Memory(problem, generator)
    return replace(
        problem,
        generate=memory.generate,
        reference=partial(memory.recall, "reference", problem.reference),
        naive=partial(memory.recall, "naive", problem.naive),
        mutants=tuple(
            replace(mutant, compute=partial(memory.recall, f"mutant {mutant.id}", mutant.compute))
            for mutant in problem.mutants
        ),
    )


class _Memory:
    def __init__(self, problem: Problem, generator: Callable[[Case], np.random.Generator]) -> None:
        self._problem = problem
        self._generator = generator
        self._kept: dict[tuple[str, str], dict[str, Array]] = {}
        self._kept_bytes = 0

    def generate(self, case: Case, rng: np.random.Generator) -> dict[str, Array]:
        if rng.bit_generator.state != self._generator(case).bit_generator.state:
            return self._problem.generate(case, rng)
        return self._look_up("inputs", case, lambda: self._problem.generate(case, rng))

    def recall(self, what: str, compute: _Compute, case: Case, inputs: Arrays) -> dict[str, Array]:
        if inputs is not self._kept.get(("inputs", case.name)):
            return compute(case, inputs)
        return self._look_up(what, case, lambda: compute(case, inputs))

    def _look_up(self, what: str, case: Case, make: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        key = (what, case.name)
        known = self._kept.get(key)
        if known is not None:
            return known
        made = make()
        size = sum(array.nbytes for array in made.values())
        if self._kept_bytes + size > KEPT_BYTES:
            return made
        for array in made.values():
            array.flags.writeable = False
        self._kept_bytes += size
        return self._kept.setdefault(key, made)
