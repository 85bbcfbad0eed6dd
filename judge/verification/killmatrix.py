"""Can the cases of a problem tell right from wrong, without running a kernel?

Two proofs over the problem's own functions: every mutant is rejected by a named case (the kill
matrix), and a plain float32 implementation stays at least ten times below the tolerance.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from judge.problem import Array, Arrays, Case, Problem
from judge.verification.compare import compare_output
from judge.verification.mutants import shows
from judge.verification.tolerances import budget, tolerance_of

HEAD_ROOM = 10.0


@dataclass(frozen=True)
class Headroom:
    """How many times the float32 yardstick's error fits into the tolerance, at its tightest element.

    slice_share: the largest share of a slice's element budget that the yardstick uses.
    """

    factor: float
    case: str
    output: str
    slice_share: float


@dataclass(frozen=True)
class Kill:
    """The cases that reject a mutant, in the problem's order; none is a hole in the problem."""

    mutant: str
    cases: tuple[str, ...]


Inputs = Callable[[Case], dict[str, Array]]


def measure_headroom(problem: Problem, case: Case, inputs: Arrays) -> Headroom:
    """The tightest element of one case. factor is infinite where the yardstick is exact."""
    reference, naive = problem.reference(case, inputs), problem.naive(case, inputs)
    tightest = Headroom(float("inf"), case.name, problem.outputs[0].name, 0.0)
    for buffer in problem.outputs:
        tolerance = tolerance_of(problem, buffer.name)
        compared = compare_output(buffer, naive[buffer.name], reference[buffer.name], tolerance)
        error = compared.error
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.where(error == 0.0, np.inf, budget(compared.want, tolerance) / error)
        factor = float(np.nan_to_num(factors, nan=0.0, posinf=np.inf).min()) if factors.size else float("inf")
        share = max(tightest.slice_share, compared.worst_slice_share)
        better = factor < tightest.factor
        tightest = Headroom(
            factor if better else tightest.factor, case.name, buffer.name if better else tightest.output, share
        )
    return tightest


def kill_matrix(problem: Problem, cases: Iterable[Case], inputs: Inputs, *, full: bool) -> list[Kill]:
    """For every mutant the cases that reject it. full: all of them, else only the first."""
    killers: dict[str, list[str]] = {mutant.id: [] for mutant in problem.mutants}
    for case in cases:
        open_mutants = [m for m in problem.mutants if full or not killers[m.id]]
        open_mutants = [m for m in open_mutants if m.applies is None or m.applies(case)]
        if not open_mutants:
            continue
        arrays = inputs(case)
        reference = problem.reference(case, arrays)
        for mutant in open_mutants:
            if shows(problem, case, arrays, mutant, reference):
                killers[mutant.id].append(case.name)
    return [Kill(mutant.id, tuple(killers[mutant.id])) for mutant in problem.mutants]
