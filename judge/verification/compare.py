"""Is an output right? Compares the outputs of a case with the float64 reference.

The comparison accepts and never rejects: an element is right when `|got - want| <= abs + rel * |want|`
holds, so a NaN fails by itself. Two budgets must hold: that of every element, and that of every
slice (each row of the last axis, each head), whose root mean square error may use only a third of
the element budget. The second one stops a small error that is the same everywhere in one head and
stays just inside the element budget.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judge.backends.base import POISON_BYTE
from judge.problem import Array, Arrays, Buffer, Case, Problem, Tolerance
from judge.records import Diagnosis, DiagnosisKind, ErrorSummary, Mismatch
from judge.verdict import Verdict
from judge.verification.failuremap import map_failures
from judge.verification.mutants import explain_by_mutant
from judge.verification.numbers import count_of, show_number
from judge.verification.patterns import describe_pattern
from judge.verification.tolerances import as_float64, budget, is_right, tolerance_of

SLICE_SHARE = 1 / 3
"""Share of the element budget that the root mean square error of a slice may use."""

SLICE_MIN_ELEMENTS = 8
"""Below this many elements a mean says nothing that the elements do not."""


EXACT_BY_LUCK = 1e-10
"""A yardstick whose error is so small a share of the largest value is exact in this case: it measures nothing."""


@dataclass(frozen=True)
class CaseJudgement:
    """What the outputs of one case are worth.

    verdict: ACCEPTED, WRONG_ANSWER, or JUDGE_ERROR when the problem itself is broken.
    message: one sentence for the reader, empty when accepted.
    """

    verdict: Verdict
    message: str = ""
    error: ErrorSummary = field(default_factory=ErrorSummary)
    diagnoses: tuple[Diagnosis, ...] = ()


@dataclass(frozen=True)
class OutputComparison:
    """One output against its reference; masks have the output's shape."""

    buffer: Buffer
    got: NDArray[np.float64]
    want: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    unwritten: NDArray[np.bool_]
    slices_over: tuple[str, ...] = ()
    worst_slice_share: float = 0.0

    @property
    def error(self) -> NDArray[np.float64]:
        """|got - want|; 0 where both are the same infinity, NaN where no distance exists."""
        with np.errstate(invalid="ignore"):
            distance = np.abs(self.got - self.want)
        distance[self.got == self.want] = 0.0
        return np.asarray(distance, dtype=np.float64)


def judge_case(
    problem: Problem,
    case: Case,
    inputs: Arrays,
    outputs: Mapping[str, Array],
    reference: Arrays,
    naive: Arrays,
    *,
    explain: bool = True,
) -> CaseJudgement:
    """Compare all outputs of a case.

    outputs: arrays in the problem's shapes and storage types (bf16 as uint16).
    reference: float64 truth. naive: a plain float32 implementation, the yardstick of the error.
    explain: look for a known mistake when the answer is wrong (costs one float64 pass a mutant).
    """
    broken = _broken_reference(problem, reference)
    if broken:
        return CaseJudgement(Verdict.JUDGE_ERROR, broken)
    compared = [
        compare_output(buffer, outputs[buffer.name], reference[buffer.name], tolerance_of(problem, buffer.name))
        for buffer in problem.outputs
    ]
    error = _summary(compared, naive)
    bad = [c for c in compared if c.wrong.any()]
    if bad:
        diagnoses = _value_diagnoses(bad)
        if explain:
            diagnoses += explain_case(problem, case, inputs, outputs, reference)
        return CaseJudgement(Verdict.WRONG_ANSWER, _wrong_sentence(error), error, diagnoses)
    drifting = [text for c in compared for text in c.slices_over]
    if drifting:
        more = f" ({count_of(len(drifting) - 1, 'more slice')} likewise)" if len(drifting) > 1 else ""
        message = f"Every element is inside its tolerance, but the error is systematic: {drifting[0]}{more}."
        return CaseJudgement(Verdict.WRONG_ANSWER, message, error)
    return CaseJudgement(Verdict.ACCEPTED, "", error)


def explain_case(
    problem: Problem, case: Case, inputs: Arrays, outputs: Mapping[str, Array], reference: Arrays
) -> tuple[Diagnosis, ...]:
    """The known mistake whose outputs these are; empty when there is none."""
    got = {buffer.name: as_float64(outputs[buffer.name], buffer.dtype) for buffer in problem.outputs}
    mutant = explain_by_mutant(problem, case, inputs, got, reference)
    return () if mutant is None else (mutant,)


def compare_output(buffer: Buffer, raw: Array, want: Array, tolerance: Tolerance) -> OutputComparison:
    """Compare one output element by element and slice by slice.

    raw: the bytes as stored. want: float64 in the same shape.
    Raises ValueError when the shapes differ (a fault of the problem, never of a kernel).
    """
    if raw.shape != want.shape:
        raise ValueError(f"{buffer.name}: the output has shape {raw.shape}, the reference {want.shape}")
    got = as_float64(raw, buffer.dtype)
    expected = np.asarray(want, dtype=np.float64)
    right = is_right(got, expected, tolerance)
    unwritten = ~right & _still_poisoned(raw)
    slices_over, worst = _check_slices(buffer, got, expected, tolerance)
    return OutputComparison(buffer, got, expected, ~right, unwritten, slices_over, worst)


def _still_poisoned(raw: Array) -> NDArray[np.bool_]:
    data = np.ascontiguousarray(raw)
    if data.size == 0:
        return np.zeros(data.shape, dtype=np.bool_)
    bytes_ = data.reshape(-1).view(np.uint8).reshape(data.size, data.itemsize)
    return np.asarray((bytes_ == POISON_BYTE).all(axis=1).reshape(data.shape), dtype=np.bool_)


def _broken_reference(problem: Problem, reference: Arrays) -> str:
    for buffer in problem.outputs:
        missing = np.isnan(np.asarray(reference[buffer.name], dtype=np.float64))
        if missing.any():
            index = tuple(int(i) for i in np.argwhere(missing)[0])
            return f"The reference of {problem.id} gives NaN at {buffer.name}{list(index)}; the problem is broken."
    return ""


def _check_slices(
    buffer: Buffer, got: NDArray[np.float64], want: NDArray[np.float64], tolerance: Tolerance
) -> tuple[tuple[str, ...], float]:
    """Names of the slices over their budget, and the largest share of the element budget any slice uses."""
    over: list[str] = []
    worst = 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        squares = np.where(np.isinf(want) & (got == want), 0.0, (got - want) ** 2)
        allowed = np.where(np.isinf(want), 0.0, budget(want, tolerance) ** 2)
    for kept_axes in range(got.ndim):
        shape = (*got.shape[:kept_axes], -1)
        elements = math.prod(got.shape[kept_axes:])
        if elements < SLICE_MIN_ELEMENTS or got.size == 0:
            continue
        spent = np.sqrt(squares.reshape(shape).mean(axis=-1))
        granted = np.sqrt(allowed.reshape(shape).mean(axis=-1))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(spent == 0.0, 0.0, spent / granted)
        worst = max(worst, float(np.nan_to_num(share, nan=np.inf).max()))
        for index in np.argwhere(~(share <= SLICE_SHARE)):
            where = f"{buffer.name}[{', '.join([*map(str, index), ':'])}]"
            over.append(
                f"over {where} the root mean square error is {spent[tuple(index)]:.3g}, "
                f"where at most {SLICE_SHARE * granted[tuple(index)]:.3g} is rounding"
            )
    return tuple(over), worst


def _summary(compared: list[OutputComparison], naive: Arrays) -> ErrorSummary:
    max_abs, max_rel, multiples = [], [], []
    error_square = want_square = 0.0
    for c in compared:
        error = c.error
        finite = np.isfinite(error)
        if not finite.any():
            continue
        worst = float(error[finite].max())
        max_abs.append(worst)
        nonzero = finite & (c.want != 0)
        if nonzero.any():
            max_rel.append(float((error[nonzero] / np.abs(c.want[nonzero])).max()))
        error_square += float((error[finite] ** 2).sum())
        want_square += float((c.want[finite & np.isfinite(c.want)] ** 2).sum())
        multiple = _naive_multiple(worst, c, naive)
        if multiple is not None:
            multiples.append(multiple)
    first = next((c for c in compared if c.wrong.any()), None)
    return ErrorSummary(
        max_abs=max(max_abs, default=None),
        max_rel=max(max_rel, default=None),
        norm_rel=math.sqrt(error_square / want_square) if want_square > 0 and math.isfinite(error_square) else None,
        naive_multiple=max(multiples, default=None),
        mismatches=int(sum(c.wrong.sum() for c in compared)),
        total=int(sum(c.wrong.size for c in compared)),
        first=None if first is None else _first_mismatch(first),
        pattern=None if first is None else describe_pattern(first.wrong, first.buffer.axis_names),
        map=None
        if first is None
        else map_failures(first.buffer.name, first.buffer.axis_names, first.got, first.want, first.wrong),
    )


def _naive_multiple(worst: float, compared: OutputComparison, naive: Arrays) -> float | None:
    if compared.buffer.name not in naive:
        return None
    plain = np.asarray(naive[compared.buffer.name], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        plain_error = np.abs(plain - compared.want)
    plain_error = plain_error[np.isfinite(plain_error)]
    yardstick = float(plain_error.max()) if plain_error.size else 0.0
    largest = float(np.abs(compared.want[np.isfinite(compared.want)]).max(initial=0.0))
    return worst / yardstick if yardstick > EXACT_BY_LUCK * largest else None


def _first_mismatch(compared: OutputComparison) -> Mismatch:
    index = tuple(int(i) for i in np.argwhere(compared.wrong)[0])
    return Mismatch(
        output=compared.buffer.name,
        index=index,
        got=_figure(float(compared.got[index])),
        want=_figure(float(compared.want[index])),
    )


def _figure(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _wrong_sentence(error: ErrorSummary) -> str:
    share = f"{error.mismatches} of {count_of(error.total, 'element')} differ"
    first = error.first
    if first is None:
        return f"{share}."
    where = f"{first.output}[{', '.join(map(str, first.index))}]"
    return f"{share}; the first is {where}: got {show_number(first.got)}, want {show_number(first.want)}."


def _value_diagnoses(bad: list[OutputComparison]) -> tuple[Diagnosis, ...]:
    found: list[Diagnosis] = []
    for c in bad:
        written_badly = c.wrong & ~c.unwritten & ~np.isfinite(c.got)
        for mask, build in ((c.unwritten, _unwritten), (written_badly, _nonfinite)):
            if mask.any():
                found.append(build(c, mask))
    return tuple(found)


def _unwritten(compared: OutputComparison, mask: NDArray[np.bool_]) -> Diagnosis:
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    name = compared.buffer.name
    return Diagnosis(
        kind=DiagnosisKind.UNWRITTEN,
        message=f"{int(mask.sum())} of {mask.size} elements of {name} still hold the judge's fill: no thread wrote "
        f"them, or they were computed from memory that nobody wrote. "
        f"Where: {describe_pattern(mask, compared.buffer.axis_names)}.",
        buffer=name,
        index=index,
        occurrences=int(mask.sum()),
        hint="Check that grid, block and loops cover every element, the last partial tile included.",
    )


def _nonfinite(compared: OutputComparison, mask: NDArray[np.bool_]) -> Diagnosis:
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    name = compared.buffer.name
    values = compared.got[mask]
    seen = [word for word, test in (("NaN", np.isnan(values)), ("infinity", np.isinf(values))) if test.any()]
    return Diagnosis(
        kind=DiagnosisKind.NONFINITE,
        message=f"{int(mask.sum())} of {mask.size} elements of {name} are {' or '.join(seen)} where a number belongs. "
        f"Where: {describe_pattern(mask, compared.buffer.axis_names)}.",
        buffer=name,
        index=index,
        occurrences=int(mask.sum()),
        hint="Usual causes: exp without subtracting the maximum, (-inf) - (-inf) of two empty sets, a division "
        "by l = 0, or weight 0 times a NaN in a slot nobody should read.",
    )
