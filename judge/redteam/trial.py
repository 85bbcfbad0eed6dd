"""One row through the real pipeline, and everything that must hold of what comes back.

The verdict is one of the row's, in its time; no report, event or progress line holds a secret of the machine
or a character that a terminal obeys; and no line that a reader takes for the judge's own is the submission's.
"""

import io
import json
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from judge.compiler import Compilation, Target, compile_unit
from judge.compiler.cache import DiskCache
from judge.pipeline import judge_submission
from judge.records import Report
from judge.redteam.exercise import exercise
from judge.redteam.rows import Backend, Row
from judge.reports.json import render_json
from judge.reports.progress import PlainProgress
from judge.reports.style import Style
from judge.reports.text import render_text
from judge.sandbox.limits import ProcessLimits
from judge.selection import Options
from judge.submission.unit import TranslationUnit
from judge.verdict import Verdict
from judge.worker.session import StartWorker

SUBMISSION_NAME = "submission.cu"
HURRIED_WALL_S = 1.5
MAX_REPORT_BYTES = 1 << 20


@dataclass(frozen=True)
class Outcome:
    """What became of a row. faults: what did not hold, empty when everything did. seconds: to the report's end.
    late: one of them is that it took too long. message: what the report says first.
    """

    row: Row
    verdict: Verdict
    seconds: float
    faults: tuple[str, ...]
    late: bool = False
    message: str = ""

    @property
    def ok(self) -> bool:
        return not self.faults


@dataclass(frozen=True)
class Ground:
    """Where trials happen: paths that sources may name, and what must never be told.

    slowness: how many times slower than a quiet machine this one is now; times of rows are stretched by it.
    """

    canary: str
    fifo: str
    secrets: tuple[str, ...]
    cache: DiskCache
    slowness: float = 1.0


class _HurriedTarget(Target):
    """A tenth of the usual time and memory: what ends at a limit ends at this one."""

    @property
    def wall_limit_s(self) -> float:
        return HURRIED_WALL_S

    @property
    def limits(self) -> ProcessLimits:
        return replace(super().limits, address_bytes=2 << 30, data_bytes=256 << 20, cpu_s=2)


def attempt(row: Row, backend: Backend, ground: Ground, start: StartWorker) -> Outcome:
    """Submit a row and examine what comes back. Raises MachineError when the machine cannot judge."""
    source = row.source.replace(b"@CANARY@", ground.canary.encode()).replace(b"@FIFO@", ground.fifo.encode())

    def compile_(unit: TranslationUnit, target: Target) -> Compilation:
        hurried = _HurriedTarget(target.kind, target.arch, target.mode) if row.hurried else target
        return compile_unit(unit, hurried, ground.cache)

    told = io.StringIO()
    sink = PlainProgress(told, Style())
    began = time.monotonic()
    report = judge_submission(
        exercise(row.time_limit_s, timed=row.timed),
        source,
        SUBMISSION_NAME,
        Options(backend=backend),
        sink,
        start,
        compile_,
    )
    text = source.decode("utf-8", "replace")
    shown = render_text(report, Style(), source=text, verbose=True)
    data = render_json(report)
    seconds = time.monotonic() - began
    says = row.says if backend == "cpu" else (*row.says, *row.cuda_says)
    longest_s = row.longest_s * ground.slowness
    faults = [
        *_verdict_faults(report, row.right_on(backend)),
        *([f"took {seconds:.1f} s, at most {longest_s:.1f} s are right"] if seconds > longest_s else []),
        *(f"the report does not say {wanted!r}" for wanted in says if wanted not in shown),
        *_told_faults({"report": shown, "JSON": data, "progress": told.getvalue()}, (*ground.secrets, *row.forbid)),
        *_line_faults(shown, report),
        *_json_faults(data, report),
    ]
    late = seconds > longest_s
    return Outcome(row, report.verdict, seconds, tuple(faults), late=late, message=report.message)


def _verdict_faults(report: Report, expected: Sequence[Verdict]) -> list[str]:
    if report.verdict in expected:
        return []
    incident = f" (incident {report.incident})" if report.incident else ""
    return [f"{report.verdict}{incident}: {report.message[:200]!r} where {' or '.join(expected)} is right"]


def _told_faults(texts: dict[str, str], secrets: Sequence[str]) -> list[str]:
    faults = []
    for name, text in texts.items():
        if len(text.encode()) > MAX_REPORT_BYTES:
            faults.append(f"the {name} has {len(text.encode())} bytes")
        faults += [f"the {name} tells {secret!r}" for secret in secrets if secret in text]
        obeyed = next(
            (c for c in text if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}), None
        )
        if obeyed is not None:
            faults.append(f"the {name} holds the character U+{ord(obeyed):04X}")
    return faults


def _line_faults(shown: str, report: Report) -> list[str]:
    """A line from the left edge on is the judge's; there is one with a verdict, and it is the verdict."""
    labels = tuple(verdict.label for verdict in Verdict)
    heads = [line for line in shown.splitlines() if line.startswith(labels)]
    if len(heads) == 1 and heads[0].startswith(report.verdict.label):
        return []
    return [f"lines of the report that look like its verdict: {heads}"]


def _json_faults(data: str, report: Report) -> list[str]:
    try:
        parsed = json.loads(data)
    except ValueError as error:
        return [f"the JSON report is none: {error}"]
    return [] if parsed["verdict"] == report.verdict else ["the JSON report has another verdict"]
