"""The report as Markdown, for a step summary or a comment: verdict, what is wrong, a table of the cases."""

from judge.records import Report
from judge.reports.style import one_line
from judge.verdict import Verdict
from judge.verification.telling import hint_for, keys_to_blame, told_case

MAX_ROWS = 50
_SPECIAL = "\\`*_{}[]<>()#+-.!|~&:@"


def render_markdown(report: Report) -> str:
    """Text with a final newline; what came from a submission is escaped and means nothing to Markdown."""
    told = None if report.verdict is Verdict.ACCEPTED else told_case(report.cases, report.verdict)
    parts = [
        f"## {report.verdict.label}: {_plain(report.problem.id)}",
        f"{_plain(report.submission.name)}, {_plain(report.message or report.verdict.text.sentence)}",
    ]
    if report.incident:
        parts.append(f"Incident {_plain(report.incident)}")
    errors = [
        f"- line {m.line}: {_plain(m.message)}" if m.line else f"- {_plain(m.message)}" for m in report.compile.errors
    ]
    if errors:
        parts.append("\n".join(errors[:MAX_ROWS]))
    if told is not None:
        lines = [
            f"- line {d.line}: {_plain(d.message)}" if d.line else f"- {_plain(d.message)}" for d in told.diagnoses
        ]
        if lines:
            parts.append("\n".join(lines[:MAX_ROWS]))
        keys = keys_to_blame(report.cases, told)
        if keys:
            parts.append(_plain(keys))
    if report.verdict is not Verdict.ACCEPTED:
        parts.append(f"Hint: {_plain(report.hint or hint_for(told, report.verdict))}")
    if report.cases:
        parts.append(_table(report))
    where = ", ".join(f"{b.kind} ({_plain(b.device)}, isolation {b.isolation})" for b in report.backends)
    parts.append(f"{where}; problem version {report.problem.version}; seed {report.seed}")
    return "\n\n".join(parts) + "\n"


def _table(report: Report) -> str:
    # What failed comes first, so that the cut takes what was accepted.
    ordered = sorted(report.cases, key=lambda case: case.verdict is Verdict.ACCEPTED)
    rows = [
        f"| {_plain(case.name)} | {case.backend} | {case.verdict.label.lower()} | {case.seconds:.2f} s |"
        for case in ordered[:MAX_ROWS]
    ]
    more = [f"\nand {len(ordered) - MAX_ROWS} more"] if len(ordered) > MAX_ROWS else []
    return "\n".join(["| case | on | verdict | took |", "|---|---|---|---|", *rows, *more])


def _plain(text: str) -> str:
    return "".join("\\" + c if c in _SPECIAL else c for c in one_line(text))
