"""Looks for the cause of wrong values: known mistakes in every case that is cheap enough, keys in the cases shown.

All of it costs passes over a case in float64 and is paid only where values are wrong. What it may cost is counted,
not timed: a report must not depend on how busy the machine is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.problem import Array, Case, Mutant, Problem
from judge.records import CaseReport
from judge.verdict import Verdict
from judge.verification.compare import compare_output, explain_case
from judge.verification.failuremap import widest_map
from judge.verification.keyblame import blame_keys
from judge.verification.mutants import matched_mutants, told_match
from judge.verification.telling import is_explained, is_match, told_case
from judge.verification.tolerances import tolerance_of

CHEAP_TO_EXPLAIN_FLOPS = 2e9
"""A case is explained at once when a float64 pass for each mutant costs at most this much."""

EXPLAINING_FLOPS = 8e9
"""What explaining may cost over all cases of a submission."""

CHANCE = 0.25
RARE = 0.1
"""A known mistake was met by chance where at most the first share of the wrong cases in which it may show agree with
it, or at most the second of all wrong cases: in the others a kernel that made it alone would be right."""


@dataclass(frozen=True)
class WrongCase:
    """A case with wrong values. explained: known mistakes were looked for."""

    case: Case
    inputs: Mapping[str, Array]
    outputs: dict[str, Array]
    reference: dict[str, Array]
    explained: bool


def _chances(mutant: Mutant, cases: Sequence[Case]) -> int:
    """In how many of the cases the mistake may show."""
    return sum(mutant.applies is None or mutant.applies(case) for case in cases)


class Explaining:
    """The wrong cases of one submission, of which it keeps three at most."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._spent = 0.0
        self._examined: list[Case] = []
        self._late: str | None = None
        self._kept: dict[str, tuple[CaseReport, WrongCase]] = {}

    def begin(self) -> None:
        """Cases of another backend follow."""
        self._late = None
        self._examined = []
        self._kept = {}

    def is_cheap(self, case: Case, inputs: Mapping[str, Array]) -> bool:
        price = self._price(case, inputs)
        return price <= CHEAP_TO_EXPLAIN_FLOPS and self._spent + price <= EXPLAINING_FLOPS

    def _price(self, case: Case, inputs: Mapping[str, Array]) -> float:
        return self._problem.minimum_flops(case, inputs) * len(self._problem.mutants)

    def add(self, report: CaseReport, wrong: WrongCase) -> None:
        """A case is wrong: count what explaining it cost, and keep it while its report may be one that is shown."""
        if wrong.explained:
            self._spent += self._price(wrong.case, wrong.inputs)
            # What overflowed denies no mistake: in float64, in which those are computed, it would not have.
            if all(np.isfinite(output).all() for output in wrong.outputs.values()):
                self._examined.append(wrong.case)
        elif self._late is None:
            self._late = report.name
        self._kept[report.name] = (report, wrong)
        wanted = {self._late, *self._shown([kept for kept, _ in self._kept.values()])}
        self._kept = {name: kept for name, kept in self._kept.items() if name in wanted}

    def finish(self, reports: Sequence[CaseReport]) -> list[CaseReport]:
        """The reports with what could not be told of a case by itself.

        When no cheap case told the mistake, the first dear one may cost what it costs. Keys are looked at only in
        the cases whose failure maps are shown.
        """
        reports = self._weighed(reports)
        if self._late is not None and not any(is_explained(report) for report in reports):
            reports = [self._explained(report) if report.name == self._late else report for report in reports]
        shown = self._shown([report for report in reports if report.name in self._kept])
        told = [self._with_keys(report) if report.name in shown else report for report in reports]
        self.begin()
        return told

    def _weighed(self, reports: Sequence[CaseReport]) -> list[CaseReport]:
        """The reports, of the mistakes that a case agrees with that one told which most cases agree with.

        A single case may have the values of several mistakes, and those of one that is not the kernel's.
        """
        agreed = {report.name: self._mistakes(report) for report in reports}
        counts = Counter(mutant.id for mutants in agreed.values() for mutant in mutants)
        right = [self._problem.case(report.name) for report in reports if report.verdict is Verdict.ACCEPTED]

        def unlikely(mutant: Mutant) -> tuple[int, int]:
            """Few cases agree; or, where as many do, many are right in which it may show."""
            return -counts[mutant.id], _chances(mutant, right)

        return [
            self._retold(report, sorted(agreed[report.name], key=unlikely), counts) if agreed[report.name] else report
            for report in reports
        ]

    def _mistakes(self, report: CaseReport) -> list[Mutant]:
        return [mutant for one in report.diagnoses if is_match(one) for mutant in matched_mutants(self._problem, one)]

    def _retold(self, report: CaseReport, mutants: Sequence[Mutant], counts: Mapping[str, int]) -> CaseReport:
        """mutants: what the case agrees with, the likeliest first."""
        kept = [mutant for mutant in mutants if not self._by_chance(mutant, counts[mutant.id])]
        if not kept:
            # A kernel that takes the keys in pieces of its own has the values of such a mistake in few cases.
            kept = [one for one in mutants if one.depends_on_order and (len(mutants) == 1 or counts[one.id] > 1)]
        others = [one for one in report.diagnoses if not is_match(one)]
        told = [told_match(kept)] if kept else []
        return report.model_copy(update={"diagnoses": tuple(others + told)})

    def _by_chance(self, mutant: Mutant, agreeing: int) -> bool:
        return agreeing <= max(CHANCE * _chances(mutant, self._examined), RARE * len(self._examined))

    def _explained(self, report: CaseReport) -> CaseReport:
        wrong = self._kept[report.name][1]
        found = explain_case(self._problem, wrong.case, wrong.inputs, wrong.outputs, wrong.reference)
        return report.model_copy(update={"diagnoses": report.diagnoses + found})

    def _shown(self, reports: Sequence[CaseReport]) -> set[str]:
        """Names of the case that the report explains and the one with the widest map."""
        told = told_case(reports, Verdict.WRONG_ANSWER)
        return {told.name, widest_map(reports).name} if told else set()

    def _with_keys(self, report: CaseReport) -> CaseReport:
        axis, wrong = self._problem.keys, self._kept[report.name][1]
        found = report.error.map if report.error else None
        if axis is None or report.error is None or found is None or found.output != axis.output:
            return report
        buffer = next(one for one in self._problem.outputs if one.name == axis.output)
        compared = compare_output(
            buffer,
            wrong.outputs[buffer.name],
            wrong.reference[buffer.name],
            tolerance_of(self._problem, buffer.name),
        )
        rows = compared.wrong.size // max(1, compared.wrong.shape[-1])
        flops_of_row = self._problem.minimum_flops(wrong.case, wrong.inputs) / max(1, rows)
        keys = blame_keys(
            axis, wrong.case, wrong.inputs, compared.got, compared.want, compared.wrong, found, flops_of_row
        )
        mapped = found.model_copy(update={"keys": keys})
        return report.model_copy(update={"error": report.error.model_copy(update={"map": mapped})})
