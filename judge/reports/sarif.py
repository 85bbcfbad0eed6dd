"""The report as SARIF 2.1.0: a result for each compile message and each diagnosis, at its line."""

import json
from typing import Any

from judge.records import Report
from judge.reports.style import inert
from judge.verdict import Verdict
from judge.verification.numbers import count_of
from judge.verification.telling import findings_of, told_case

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def render_sarif(report: Report) -> str:
    """One JSON object with a final newline."""
    results = [
        _result(report, "compile_error", _LEVELS[m.severity], m.message, m.line, m.column)
        for m in report.compile.errors
    ]
    told = None if report.verdict is Verdict.ACCEPTED else told_case(report.cases, report.verdict)
    # The same fault shows in many cases; an annotation of it once is enough, in the words that the report explains.
    for finding in findings_of(report.cases, told):
        diagnosis, more = finding.diagnosis, len(finding.cases) - 1
        level = "warning" if diagnosis.warning else "error"
        also = f" (and {count_of(more, 'more case')})" if more else ""
        message = f"case {finding.cases[0]}{also}: {diagnosis.message}"
        results.append(_result(report, diagnosis.kind.value, level, message, diagnosis.line, None))
    if not results and report.verdict is not Verdict.ACCEPTED:
        results.append(_result(report, report.verdict.value, "error", report.message, None, None))
    rules = [{"id": rule} for rule in sorted({result["ruleId"] for result in results})]
    driver = {
        "name": "kernel-judge",
        "version": report.judge_version,
        "rules": rules,
    }
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(
    report: Report, rule: str, level: str, message: str, line: int | None, column: int | None
) -> dict[str, Any]:
    # A result needs a place; what is about the whole file is put on its first line.
    region = {"startLine": max(line or 1, 1), **({"startColumn": column} if line and column else {})}
    place = {"artifactLocation": {"uri": _uri(report.submission.name)}, "region": region}
    text = inert(message)
    return {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [{"physicalLocation": place}]}


def _uri(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="/._-")
