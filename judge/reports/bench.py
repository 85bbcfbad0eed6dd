"""The answer of `judge bench` as text: times with their spread, and the tiers."""

from collections.abc import Callable

from judge.problem import Problem
from judge.records import CaseReport, Report, Timing
from judge.reports.style import Style
from judge.reports.tables import Column, render_table
from judge.reports.text import render_text
from judge.reports.timing import timing_section
from judge.verdict import Verdict


def render_bench(report: Report, problem: Problem, style: Style) -> str:
    """The whole report where the kernel is not right, else a table of its times."""
    timed = [case for case in report.cases if case.timing is not None]
    if report.verdict is not Verdict.ACCEPTED or not timed:
        return render_text(report, style)
    columns = [
        Column("case", lambda c: c.name),
        Column("median", lambda c: _us(c, lambda t: t.median_us), right=True),
        Column("p10", lambda c: _us(c, lambda t: t.p10_us), right=True, optional=True),
        Column("p90", lambda c: _us(c, lambda t: t.p90_us), right=True, optional=True),
        Column("+-", lambda c: f"{c.timing.rel_ci95:.1%}" if c.timing else None, right=True),
        Column("samples", lambda c: str(c.timing.samples) if c.timing else None, right=True, optional=True),
        Column("GB/s", lambda c: f"{c.bandwidth_gbs:.0f}" if c.bandwidth_gbs is not None else None, right=True),
        Column("TFLOP/s", _tflops, right=True),
        Column("bound by", lambda c: c.timing.bound if c.timing else None),
        Column(
            "roofline", lambda c: f"{c.roofline_fraction:.1%}" if c.roofline_fraction is not None else None, right=True
        ),
        Column("tier", lambda c: c.tier),
        Column("", lambda c: "noisy" if c.timing and c.timing.noisy else None),
    ]
    head = f"{problem.id}  {report.submission.name}  on {report.backend.device}"
    parts = [style.paint(style.wrap(head), "bold"), "", render_table(timed, columns, style).rstrip("\n")]
    tiers = problem.timed.tiers if problem.timed else None
    if tiers is not None:
        words = (
            f"Tiers of this problem, in shares of the measured roofline: bronze {tiers.bronze:.0%}, silver "
            f"{tiers.silver:.0%}, gold {tiers.gold:.0%} ({tiers.reason})."
        )
        parts.append(style.paint(style.wrap(words, hang=2), "dim"))
    return "\n".join(parts) + "\n" + timing_section(timed, style)


def _us(case: CaseReport, read: Callable[[Timing], float]) -> str | None:
    return None if case.timing is None else f"{read(case.timing):.1f} us"


def _tflops(case: CaseReport) -> str | None:
    timing = case.timing
    if timing is None or timing.refused or timing.bound == "launch" or not timing.minimum_flops:
        return None
    return f"{timing.minimum_flops / timing.median_us / 1e6:.2f}"
