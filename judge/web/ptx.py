"""The PTX that was judged, beside the source lines it came from, as long as the compiler's cache holds it.

Nothing is compiled here: a page must cost nothing but a look. What the CPU backend runs is unoptimized (-G), so that
every access of the source is in it; a GPU runs other code.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from judge.compiler import CPU_ARCH, Target
from judge.compiler.compile import kept_compilation
from judge.errors import JudgeError
from judge.problem import Problem
from judge.records import Report
from judge.submission.read import read_submission
from judge.submission.unit import SOURCE_NAME, build_unit
from judge.verification.requirements import baseline_names

MAX_INSTRUCTIONS = 4000
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_PLACE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_INSTRUCTION = re.compile(r"\s+(?:@!?%p\d+\s+)?[a-z]")


@dataclass(frozen=True)
class PtxLine:
    """A source line with what it became. number 0: what belongs to no line of the submission."""

    number: int
    text: str
    instructions: Sequence[str]


@dataclass(frozen=True)
class KernelPtx:
    """kernels: all that the submission launches. left_out: instructions that are not shown."""

    name: str
    kernels: Sequence[str]
    lines: Sequence[PtxLine]
    left_out: int


def kept_ptx(problem: Problem, source: bytes, report: Report, wanted: str) -> KernelPtx | None:
    """The PTX of a kernel, of the first one where there is none called wanted; None where it is not kept."""
    try:
        submission = read_submission(source, report.submission.name, problem)
        cases = [problem.case(case.name) for case in report.cases if case.backend == "cpu"]
        cases += [problem.case(name) for name in baseline_names(problem, cases)]
        sets = dict.fromkeys(problem.constants_of(case) for case in cases)
        unit = build_unit(submission, problem, tuple(sets))
        found = kept_compilation(unit, Target(kind="ptx", arch=CPU_ARCH, mode="debug")) if cases else None
    except (JudgeError, KeyError):
        # The problem has changed since.
        return None
    if found is None or not found.ok or not found.lowered:
        return None
    names = list(found.lowered)
    name = wanted if wanted in names else names[0]
    at = instructions_by_line(found.image.decode("utf-8", "replace"), found.lowered[name])
    return _shown(name, names, submission.source.split("\n"), at)


def _shown(name: str, names: Sequence[str], texts: Sequence[str], at: dict[int, list[str]]) -> KernelPtx:
    lines, room = [], MAX_INSTRUCTIONS
    for number in sorted(at):
        kept = at[number][:room]
        room -= len(kept)
        if kept:
            text = texts[number - 1] if 0 < number <= len(texts) else ""
            lines.append(PtxLine(number, text, kept))
    return KernelPtx(name, names, lines, sum(map(len, at.values())) - (MAX_INSTRUCTIONS - room))


def instructions_by_line(ptx: str, symbol: str) -> dict[int, list[str]]:
    """Instructions of an entry by the line of the submission they came from; under 0 those of other files."""
    own: set[str] = set()
    at: dict[int, list[str]] = {}
    line, inside = 0, False
    entry = re.compile(rf"\.entry\s+{re.escape(symbol)}\b")
    for text in ptx.split("\n"):
        file = _FILE.match(text)
        if file and file[2].lstrip("/") == SOURCE_NAME:
            own.add(file[1])
    for text in ptx.split("\n"):
        if not inside:
            inside = entry.search(text) is not None
        elif text.startswith("}"):
            break
        elif place := _PLACE.match(text):
            line = int(place[2]) if place[1] in own else 0
        elif _INSTRUCTION.match(text) and text.rstrip().endswith(";"):
            at.setdefault(line, []).append(" ".join(text.split()))
    return at
