"""Code of a compiler under the source lines it came from: what the pages for PTX and SASS have in common.

Which unit was compiled follows from the submission and its choice of cases, so nothing has to be stored to find it
in the compiler's cache again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.api.models import SubmissionAnswer
from judge.errors import JudgeError
from judge.problem import Problem
from judge.records import Report
from judge.selection import Options, choose_cases
from judge.submission.read import read_submission
from judge.submission.unit import TranslationUnit, build_unit
from judge.verification.requirements import baseline_names

MAX_INSTRUCTIONS = 4000


@dataclass(frozen=True)
class CodeLine:
    """A source line with what it became. number 0: what belongs to no line of the submission."""

    number: int
    text: str
    instructions: Sequence[str]


@dataclass(frozen=True)
class KernelCode:
    """kernels: all that the submission launches. left_out: instructions that are not shown."""

    name: str
    kernels: Sequence[str]
    lines: Sequence[CodeLine]
    left_out: int

    @property
    def instructions(self) -> int:
        return sum(len(line.instructions) for line in self.lines) + self.left_out


def judged_unit(problem: Problem, source: bytes, answer: SubmissionAnswer, report: Report) -> TranslationUnit | None:
    """The unit that was judged; None where the problem has changed so much since that there is none."""
    try:
        submission = read_submission(source, answer.name, problem)
        chosen = choose_cases(problem, Options(group=answer.cases))
        on_cpu = [case for case in chosen if case.cpu] if answer.backend != "cuda" else []
        on_cuda = chosen if any(backend.kind == "cuda" for backend in report.backends) else ()
        # In the order in which the judge takes them: the order of the constants is part of the unit.
        cases = [*(on_cpu or on_cuda), *on_cuda]
        cases += [problem.case(name) for name in baseline_names(problem, cases)]
        sets = dict.fromkeys(problem.constants_of(case) for case in cases)
        return build_unit(submission, problem, tuple(sets)) if cases else None
    except (JudgeError, KeyError):
        return None


def lay_out(name: str, names: Sequence[str], source: str, at: Mapping[int, Sequence[str]]) -> KernelCode:
    """at: instructions by source line."""
    texts = source.split("\n")
    lines, room = [], MAX_INSTRUCTIONS
    for number in sorted(at):
        kept = at[number][:room]
        room -= len(kept)
        if kept:
            text = texts[number - 1] if 0 < number <= len(texts) else ""
            lines.append(CodeLine(number, text, kept))
    return KernelCode(name, names, lines, sum(map(len, at.values())) - (MAX_INSTRUCTIONS - room))
