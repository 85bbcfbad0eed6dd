"""The answers of `judge profile` and `judge sanitize` as text."""

from judge.profiling import ProfileReport, SanitizeReport
from judge.reports.style import Style, inert, one_line
from judge.reports.tables import Column, render_table


def render_profile(report: ProfileReport, style: Style) -> str:
    """Metrics of each launch, then the lines on which warps waited most."""
    parts = [
        style.paint(f"  {report.problem}  {one_line(report.submission)}  case {one_line(report.case)}", "bold"),
        "",
    ]
    for kernel in report.kernels:
        parts.append(style.wrap(f"{one_line(kernel.kernel)}: {kernel.duration_us:.2f} us under ncu, caches flushed"))
        columns = [
            Column("metric", lambda m: m.name),
            Column("value", lambda m: m.value, right=True),
            Column("unit", lambda m: m.unit),
        ]
        parts.append(render_table(kernel.metrics, columns, style))
    if report.lines:
        parts.append(style.wrap("Lines with the most samples of waiting or working warps:"))
        columns = [
            Column("line", lambda one: str(one.line), right=True),
            Column("share", lambda one: f"{one.share:.1%}", right=True),
            Column("source", lambda one: one_line(one.source)[:90]),
        ]
        parts.append(render_table(report.lines, columns, style))
    else:
        parts.append(style.wrap("This ncu gave no samples by source line."))
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def render_findings(report: SanitizeReport, style: Style) -> str:
    """Each finding with its line of the submission."""
    head = f"  {report.problem}  {one_line(report.submission)}  case {one_line(report.case)}  {report.tool}"
    parts = [style.paint(head, "bold"), ""]
    for finding in report.findings:
        parts.append(style.wrap(inert(finding.message), hang=2))
        if finding.line is not None:
            parts.append(f"  {finding.line:>5} | {one_line(finding.source)}")
        parts += [f"    {one_line(detail)}" for detail in finding.details]
        parts.append("")
    if not report.findings:
        parts.append(style.wrap(f"compute-sanitizer's {report.tool} found nothing in this case."))
    return "\n".join(parts).rstrip("\n") + "\n"
