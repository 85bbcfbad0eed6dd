"""The report as JUnit XML: a test suite of the problem, a test case for each case that was run."""

from xml.etree import ElementTree

from judge.records import CaseReport, Report
from judge.reports.style import inert
from judge.verdict import Verdict


def render_junit(report: Report) -> str:
    """XML with its declaration and a final newline. Compile errors are one failed test case called `compile`."""
    name = f"{report.problem.id} {report.submission.name}"
    suite = ElementTree.Element("testsuite", name=_text(name))
    failures = errors = skipped = 0
    if not report.cases:
        case = ElementTree.SubElement(suite, "testcase", classname=report.problem.id, name="compile")
        if report.verdict is Verdict.JUDGE_ERROR:
            errors += 1
            _outcome(case, "error", report.verdict, report.message, "")
        elif report.verdict is not Verdict.ACCEPTED:
            failures += 1
            _outcome(case, "failure", report.verdict, report.message, _compile_messages(report))
    for one in report.cases:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"{report.problem.id}.{one.backend}",
            name=_text(one.name),
            time=f"{one.seconds:.3f}",
        )
        if one.verdict is Verdict.NOT_RUN:
            skipped += 1
            ElementTree.SubElement(case, "skipped", message=_text(one.message))
        elif one.verdict is Verdict.JUDGE_ERROR:
            errors += 1
            _outcome(case, "error", one.verdict, one.message, "")
        elif one.verdict is not Verdict.ACCEPTED:
            failures += 1
            _outcome(case, "failure", one.verdict, one.message, _details(one))
    suite.set("tests", str(max(len(report.cases), 1)))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    suite.set("skipped", str(skipped))
    suite.set("time", f"{report.seconds:.3f}")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _outcome(case: ElementTree.Element, tag: str, verdict: Verdict, message: str, details: str) -> None:
    outcome = ElementTree.SubElement(case, tag, type=verdict.value, message=_text(message))
    outcome.text = _text(details)


def _compile_messages(report: Report) -> str:
    return "\n".join(f"line {m.line}: {m.message}" if m.line else m.message for m in report.compile.errors)


def _details(case: CaseReport) -> str:
    lines = [f"line {d.line}: {d.message}" if d.line else d.message for d in case.diagnoses]
    return "\n".join([*lines, case.replay or ""]).strip()


def _text(text: str) -> str:
    # XML has no place for most control characters, not even as references.
    return inert(text)
