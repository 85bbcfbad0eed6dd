"""A report as the page tells it: what stands at which source line, and which rows its tables have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from judge.records import CaseReport, Diagnosis, Report
from judge.reports.style import inert
from judge.verdict import Verdict
from judge.verification.telling import (
    findings_of,
    hint_for,
    is_explained,
    keys_to_blame,
    other_lines,
    reads_to_tell,
    told_case,
    wrong_to_tell,
)

AROUND = 5
"""Source lines shown before and after one with a note, where the source is too long to be shown whole."""

WHOLE_LINES = 48
MOST_LINES = 3000
MAX_NOTES = 60


@dataclass(frozen=True)
class Note:
    """A remark at a line. id: its anchor. others: further lines that its words name, the other side of a race say."""

    id: str
    line: int | None
    kind: str
    message: str
    warning: bool = False
    hint: str | None = None
    who: str = ""
    others: tuple[int, ...] = ()
    cases: tuple[str, ...] = ()
    occurrences: int = 1
    of_compiler: bool = False


@dataclass(frozen=True)
class Line:
    """A source line with its notes. referred: another note names it. gap: lines were left out before it."""

    number: int
    text: str
    notes: tuple[Note, ...] = ()
    referred: tuple[Note, ...] = ()
    gap: int = 0


@dataclass(frozen=True)
class Result:
    """What the page of a finished submission shows."""

    report: Report
    told: CaseReport | None
    notes: Sequence[Note]
    lines: Sequence[Line]
    left_out: int
    next_step: str
    columns: frozenset[str] = field(default_factory=frozenset)

    @property
    def failed(self) -> Sequence[CaseReport]:
        return [case for case in self.report.cases if case.verdict is not Verdict.ACCEPTED]

    @property
    def passed(self) -> int:
        return len(self.report.cases) - len(self.failed)

    @property
    def excerpt(self) -> bool:
        """Whether lines are left out."""
        return self.left_out > 0 or any(line.gap for line in self.lines)

    @property
    def sentence(self) -> str:
        """What the verdict means, in general; the particulars follow it."""
        return self.report.verdict.text.sentence

    @property
    def keys(self) -> str:
        """Which keys are to blame; empty where a known mistake was found, which says more."""
        found = self.told is None or is_explained(self.told)
        return "" if found else keys_to_blame(self.report.cases, self.told)

    @property
    def timed(self) -> Sequence[CaseReport]:
        return [case for case in self.report.cases if case.timing is not None]


def make_result(report: Report, source: str) -> Result:
    """source: the submission's text; what is invisible in it is shown as escapes."""
    told = None if report.verdict is Verdict.ACCEPTED else told_case(report.cases, report.verdict)
    notes = _notes(report, told)
    lines, left_out = _lines(source, notes)
    next_step = report.hint or hint_for(told, report.verdict)
    return Result(report, told, notes, lines, left_out, next_step, _columns(report.cases))


def remarks_at_lines(report: Report) -> Sequence[tuple[int, str]]:
    """(line, words) of the remarks that have a line, each once."""
    notes = _notes(report, told_case(report.cases, report.verdict))
    return list(dict.fromkeys((note.line, note.message) for note in notes if note.line is not None))


def _notes(report: Report, told: CaseReport | None) -> list[Note]:
    """Compile messages, then refused launch lines, then diagnoses, those of the explained case first; each once."""
    found: list[Note] = [
        Note(f"note-c{place}", one.line, one.severity, one.message, one.severity != "error", of_compiler=True)
        for place, one in enumerate(report.compile.errors, start=1)
    ]
    ordered = sorted(report.cases, key=lambda case: case is not told)
    refused = {(case.line, case.message): case for case in reversed(ordered) if case.line is not None}
    for place, (key, case) in enumerate(reversed(refused.items()), start=1):
        found.append(Note(f"note-l{place}", key[0], "launch line", key[1], cases=(case.name,)))
    for place, finding in enumerate(findings_of(report.cases, told), start=1):
        diagnosis = finding.diagnosis
        found.append(
            Note(
                f"note-d{place}",
                diagnosis.line,
                diagnosis.kind.value.replace("_", " "),
                diagnosis.message,
                diagnosis.warning,
                diagnosis.hint,
                _who(diagnosis),
                tuple(sorted(other_lines(diagnosis))),
                finding.cases,
                diagnosis.occurrences,
            )
        )
    return found[:MAX_NOTES]


def _who(diagnosis: Diagnosis) -> str:
    parts = [
        f"kernel {diagnosis.kernel}" if diagnosis.kernel else "",
        f"block {_point(diagnosis.block)}" if diagnosis.block else "",
        f"thread {_point(diagnosis.thread)}" if diagnosis.thread else "",
        _element(diagnosis),
    ]
    return ", ".join(part for part in parts if part)


def _element(diagnosis: Diagnosis) -> str:
    if not diagnosis.buffer:
        return ""
    index = "" if diagnosis.index is None else f"[{', '.join(map(str, diagnosis.index))}]"
    return f"{diagnosis.buffer}{index}"


def _point(point: tuple[int, int, int]) -> str:
    return f"({', '.join(map(str, point))})"


def _lines(source: str, notes: Iterable[Note]) -> tuple[list[Line], int]:
    """Lines to show and how many are left out after the last."""
    texts = source.replace("\r\n", "\n").split("\n")
    if texts and not texts[-1]:
        texts.pop()
    at: dict[int, list[Note]] = {}
    referred: dict[int, list[Note]] = {}
    for note in notes:
        if note.line is not None:
            at.setdefault(note.line, []).append(note)
        for other in note.others:
            referred.setdefault(other, []).append(note)
    wanted = set(range(1, len(texts) + 1))
    marked = [*at, *referred]
    if not marked:
        wanted = set(range(1, min(len(texts), MOST_LINES) + 1))
    elif len(texts) > WHOLE_LINES:
        wanted = {n for m in marked for n in range(m - AROUND, m + AROUND + 1)} & wanted
    shown: list[Line] = []
    last = 0
    for number in sorted(wanted):
        shown.append(
            Line(
                number,
                inert(texts[number - 1]),
                tuple(at.get(number, ())),
                tuple(referred.get(number, ())),
                number - last - 1,
            )
        )
        last = number
    return shown, len(texts) - last


def _columns(cases: Sequence[CaseReport]) -> frozenset[str]:
    """Names of the optional columns that at least one case has a figure for."""
    has = {
        "backend": len({case.backend for case in cases}) > 1,
        "wrong": any(wrong_to_tell(case) for case in cases),
        "error": any(case.error is not None and case.error.max_abs is not None for case in cases),
        "reads": any(reads_to_tell(case) is not None for case in cases),
        "timing": any(case.timing is not None for case in cases),
        "tier": any(case.tier is not None for case in cases),
        "order": any(case.schedule for case in cases),
    }
    return frozenset(name for name, there in has.items() if there)
