"""The answer of `judge compare` as text."""

from judge.comparing import ComparedCase, ComparisonReport
from judge.reports.style import Style, inert, one_line
from judge.reports.tables import Column, render_table


def render_comparison(report: ComparisonReport, style: Style) -> str:
    """A line a case, and how to read it."""
    columns = [
        Column("case", lambda c: c.case),
        Column("A", lambda c: f"{c.a_us:.1f} us", right=True),
        Column("B", lambda c: f"{c.b_us:.1f} us", right=True),
        Column("B/A", lambda c: f"{c.ratio:.4f}", right=True),
        Column("95% interval", lambda c: f"{c.low:.4f} to {c.high:.4f}"),
        Column("pairs", lambda c: str(c.pairs), right=True),
        Column("B is", lambda c: c.answer, paint=lambda c: (_color(c.answer),)),
    ]
    lines = [
        style.wrap(f"A  {one_line(report.a)}"),
        style.wrap(f"B  {one_line(report.b)}"),
        "",
        *(style.wrap(inert(sentence(case))) for case in report.cases),
        "",
    ]
    how = (
        f"{inert(report.device)}: both in turns on the same data, cold L2; the interval is of the median ratio within "
        f"a pair, and differences under 0.5% are none. Everything in {report.seconds:.1f} s."
    )
    return "\n".join(lines) + f"\n{render_table(report.cases, columns, style)}{style.paint(style.wrap(how), 'dim')}\n"


def sentence(case: ComparedCase) -> str:
    """The answer of one case in words."""
    if case.answer == "no difference":
        return f"{case.case}: no difference."
    most, least = sorted((abs(1 - case.low), abs(1 - case.high)), reverse=True)
    return f"{case.case}: B is {case.answer}, by {least:.1%} to {most:.1%} of A's time."


def _color(answer: str) -> str:
    return {"faster": "green", "slower": "red"}.get(answer, "dim")
