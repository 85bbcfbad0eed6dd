"""Does a wrong answer equal a known mistake? Compares it with the problem's mutants.

A mutant is the float64 result of a typical mistake. When the outputs of a kernel are those of a
mutant within the tolerance, the report can say what the kernel computes instead of how far off it
is. A mutant that gives the right answer in this case explains nothing and is left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.problem import Arrays, Case, Mutant, Problem, Tolerance
from judge.records import Diagnosis, DiagnosisKind
from judge.verification.tolerances import is_right, tolerance_of

Outputs = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class _Match:
    """telling: whether the mutant has a finite value here. One without says nothing by itself, only what may be too."""

    mutant: Mutant
    distance: float
    telling: bool

    @property
    def order(self) -> tuple[bool, bool, float]:
        """Smaller is told first: a mistake that says when it shows beats one that always may."""
        return (not self.telling, self.mutant.applies is None, self.distance)


def explain_by_mutant(
    problem: Problem, case: Case, inputs: Arrays, got: Outputs, reference: Arrays
) -> Diagnosis | None:
    """The diagnosis of the mutant whose outputs these are, or None.

    got and reference: float64 outputs in the problem's shapes.
    """
    matches = sorted(matching_mutants(problem, case, inputs, got, reference), key=lambda m: m.order)
    return told_match([match.mutant for match in matches]) if matches and matches[0].telling else None


def told_match(mutants: Sequence[Mutant]) -> Diagnosis:
    """The diagnosis of a case whose values are those of all these mutants; the first one is explained."""
    mutant = mutants[0]
    others = ", ".join(other.id for other in mutants[1:])
    also = f" (in this case the same values as: {others})" if others else ""
    return Diagnosis(
        kind=DiagnosisKind.MUTANT_MATCH, message=f"{mutant.sentence} [{mutant.id}]{also}", hint=mutant.advice
    )


def words_with_ids(diagnosis: Diagnosis) -> list[str]:
    """The ids of the mutants that told_match() was given, in their order, among other words of the message's end."""
    # The end is "[ID]" or "[ID] (in this case the same values as: ID, ID)".
    return re.findall(r"[\w-]+", diagnosis.message[diagnosis.message.rindex("[") :])


def matched_mutants(problem: Problem, diagnosis: Diagnosis) -> list[Mutant]:
    """The mutants that told_match() was given."""
    known = {mutant.id: mutant for mutant in problem.mutants}
    return [known[name] for name in words_with_ids(diagnosis) if name in known]


def matching_mutants(problem: Problem, case: Case, inputs: Arrays, got: Outputs, reference: Arrays) -> list[_Match]:
    """Every mutant that shows in this case and gives these outputs within the tolerance."""
    found = []
    for mutant in problem.mutants:
        if mutant.applies is not None and not mutant.applies(case):
            continue
        with np.errstate(all="ignore"):
            outputs = mutant.compute(case, inputs)
        match = _match(problem, mutant, outputs, got, reference)
        if match is not None:
            found.append(match)
    return found


def shows(problem: Problem, case: Case, inputs: Arrays, mutant: Mutant, reference: Arrays) -> bool:
    """True when the case rejects the mutant: some element of its outputs is outside the tolerance."""
    if mutant.applies is not None and not mutant.applies(case):
        return False
    with np.errstate(all="ignore"):
        outputs = mutant.compute(case, inputs)
    return not all(
        _close(
            np.asarray(outputs[b.name], dtype=np.float64),
            np.asarray(reference[b.name], dtype=np.float64),
            tolerance_of(problem, b.name),
        )
        for b in problem.outputs
    )


def _match(problem: Problem, mutant: Mutant, outputs: Arrays, got: Outputs, reference: Arrays) -> _Match | None:
    """With the relative distance of the answer from the mutant's outputs; None when it is not that mutant's answer.

    Where a mutant gives NaN, a kernel may do so too, or guard against it and store 0. Outputs without one finite
    element tell nothing: every broken kernel may end in NaN. Zeros in their place may be that mistake, if other cases
    tell it.
    """
    distance = scale = 0.0
    differs = telling = guards = False
    for buffer in problem.outputs:
        name = buffer.name
        mine = np.asarray(outputs[name], dtype=np.float64)
        truth = np.asarray(reference[name], dtype=np.float64)
        tolerance = tolerance_of(problem, name)
        guarded = np.where(np.isnan(mine) & (got[name] == 0), 0.0, mine)
        if not _close(got[name], guarded, tolerance, nan_equal=True):
            return None
        differs = differs or not _close(mine, truth, tolerance)
        finite = np.isfinite(mine)
        telling = telling or bool(finite.any())
        guards = guards or bool(np.isfinite(guarded).all())
        distance += float(((got[name][finite] - mine[finite]) ** 2).sum())
        scale += float((mine[finite] ** 2).sum())
    if not differs or not (telling or guards):
        return None
    return _Match(mutant, distance / scale if scale > 0 else distance, telling)


def _close(
    got: NDArray[np.float64], want: NDArray[np.float64], tolerance: Tolerance, *, nan_equal: bool = False
) -> bool:
    return bool(is_right(got, want, tolerance, nan_equal=nan_equal).all())
