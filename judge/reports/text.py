"""The report a learner reads: verdict first, then what is wrong and where, one hint, the replay line, figures.

Text that came from a submission (source lines, compiler logs, device printf) is made inert before
it is shown. Words carry the meaning; color repeats it.
"""

from collections.abc import Callable, Sequence

from judge.records import BackendReport, CaseReport, CompileMessage, Diagnosis, ErrorSummary, LaunchReport, Report
from judge.reports.style import Style, inert, one_line
from judge.reports.tables import Column, render_table
from judge.reports.timing import timing_section
from judge.schedules import describe_schedule
from judge.verdict import Verdict
from judge.verification.numbers import count_of, show_number, show_parameters
from judge.verification.telling import (
    diagnoses_to_tell,
    fault_of,
    findings_of,
    hint_for,
    is_explained,
    keys_to_blame,
    naive_multiple_to_tell,
    reads_to_tell,
    told_case,
    wrong_to_tell,
)

MAX_DIAGNOSES = 3
MAX_COMPILE_MESSAGES = 10
MAX_PRINTED_LINES = 20
MAX_PRINTED_CASES = 3
MAX_ROWS = 10


def render_text(
    report: Report,
    style: Style,
    *,
    source: str | None = None,
    verbose: bool = False,
    brief: bool = False,
    as_typed: Callable[[str], str] = str,
) -> str:
    """The report as text with a final newline.

    source: the submission, for the source lines of compile messages. verbose: every case and the resources of
    kernels. brief: only the first compile message, where the rest follows from one mistake. as_typed: puts
    `judge COMMAND` the way the user calls it.
    """
    told = _told(report)
    parts = [
        _headline(report, style),
        _compile_section(report, style, source, as_typed, 1 if brief else MAX_COMPILE_MESSAGES),
        _case_section(report, told, style, source),
        _warnings_section(report, told, style),
        _hint_section(report, told, style, as_typed),
        _cases_section(report, style, verbose=verbose),
        timing_section(report.cases, style),
        _resources_section(report, style) if verbose else "",
        _printed_section(report, told, style, verbose=verbose),
        _footer(report, style),
    ]
    return "\n".join(part for part in parts if part)


def verdict_color(verdict: Verdict) -> str:
    if verdict is Verdict.ACCEPTED:
        return "green"
    mild = {Verdict.REQUIREMENT_UNMET, Verdict.NOT_RUN, Verdict.CANCELLED, Verdict.JUDGE_ERROR}
    return "yellow" if verdict in mild else "red"


def _headline(report: Report, style: Style) -> str:
    label = style.paint(report.verdict.label, "bold", verdict_color(report.verdict))
    lines = [f"{label}  {report.problem.id}  {one_line(report.submission.name)}"]
    lines.append(style.wrap(inert(_opening(report))))
    if report.incident:
        lines.append(f"  Incident {report.incident}")
    return "\n".join(lines) + "\n"


def _told(report: Report) -> CaseReport | None:
    """The case the report explains; None when everything was accepted."""
    return None if report.verdict is Verdict.ACCEPTED else told_case(report.cases, report.verdict)


def _opening(report: Report) -> str:
    """The sentence under the verdict. Where the sections below tell the same in detail, the general one."""
    return report.verdict.text.sentence if _is_detailed_below(report) or not report.message else report.message


def _is_detailed_below(report: Report) -> bool:
    told = _told(report)
    if report.compile.errors:
        return True
    if told is None:
        return False
    if told.column is not None:
        return True
    # Of a timed case the message says which repeats were wrong, and that is told nowhere else.
    wrong_values = told.error is not None and told.error.mismatches > 0 and told.timing is None
    return wrong_values or any(diagnosis.message in report.message for diagnosis in told.diagnoses)


def _compile_section(
    report: Report, style: Style, source: str | None, as_typed: Callable[[str], str], most: int
) -> str:
    messages = report.compile.errors
    if not messages:
        log = inert(report.compile.log).strip()
        return f"{_indent(log)}\n" if log and not report.compile.ok else ""
    # Only the judge's own words name a command; they have no place in the file.
    worded = [m if m.line is not None else m.model_copy(update={"message": as_typed(m.message)}) for m in messages]
    return render_compile_messages(worded, report.submission.name, source, style, most)


def render_compile_messages(
    messages: Sequence[CompileMessage],
    name: str,
    source: str | None,
    style: Style,
    most: int = MAX_COMPILE_MESSAGES,
) -> str:
    """At most so many messages, each with its place in the file `name` and, where source is given, its line."""
    source_lines = [] if source is None else source.split("\n")
    shown = [_compile_message(m, name, source_lines, style) for m in messages[:most]]
    if len(messages) > most:
        shown.append(f"  and {count_of(len(messages) - most, 'more message')}")
    return "\n".join(shown) + "\n"


def _compile_message(message: CompileMessage, name: str, source_lines: Sequence[str], style: Style) -> str:
    place = ":".join(str(p) for p in (one_line(name), message.line, message.column) if p is not None)
    color = "red" if message.severity == "error" else "yellow"
    lines = [f"  {place}: {style.paint(message.severity, 'bold', color)}: {one_line(message.message)}"]
    if message.line is not None and 0 < message.line <= len(source_lines):
        lines += _source_excerpt(message.line, source_lines[message.line - 1], message.column, style)
    return "\n".join(lines)


def _source_excerpt(line: int, text: str, column: int | None, style: Style) -> list[str]:
    # Tabs become one space, so that the caret stands under its character whatever the terminal's tab width.
    shown = one_line(text.replace("\t", " ").rstrip("\r\n")).rstrip()
    excerpt = [f"  {line:>5} | {shown}"]
    if column is not None and 1 <= column <= len(text) + 1:
        before = len(inert(text[: column - 1].replace("\t", " ")))
        excerpt.append(f"  {'':>5} | {' ' * before}{style.paint('^', 'bold', 'green')}")
    return excerpt


def _case_section(report: Report, told: CaseReport | None, style: Style, source: str | None) -> str:
    if told is None:
        return ""
    rows = [("Case", f"{told.name}  ({_parameters(told)})")]
    if told.schedule:
        rows.append(("Order", f"blocks and warps {describe_schedule(told.schedule)}"))
    error = told.error
    keys = keys_to_blame(report.cases, told)
    if error is not None and error.mismatches:
        rows.append(("Wrong", f"{error.mismatches} of {count_of(error.total, 'element')} ({_share(error)})"))
        if error.pattern:
            rows.append(("Where", error.pattern))
        if error.first is not None:
            where = f"{error.first.output}[{', '.join(map(str, error.first.index))}]"
            values = f"got {show_number(error.first.got)}, want {show_number(error.first.want)}"
            rows.append(("First", f"{where}: {values}"))
        # A known mistake says more than the keys it shows at, so it comes before them.
        if keys and not is_explained(told):
            rows.append(("Keys", keys))
    elif told.message and told.message not in report.message and told.column is None:
        rows.append(("What", told.message))
    if told.verdict is Verdict.LAUNCH_ERROR and told.line is None:
        rows += [("Launch", _launch(launch)) for launch in told.launches]
    width = max(len(name) for name, _ in rows)
    text = [style.wrap(f"{name:<{width}}  {inert(value)}", hang=width + 2) for name, value in rows]
    if told.column is not None:
        refused = CompileMessage(line=told.line, column=told.column, message=told.message.partition(": ")[2])
        lines = [] if source is None else source.splitlines()
        text += ["", _compile_message(refused, report.submission.name, lines, style)]
    ordered = diagnoses_to_tell(told)
    text += ["", *(_diagnosis(d, style) for d in ordered[:MAX_DIAGNOSES])] if ordered else [""]
    if len(ordered) > MAX_DIAGNOSES:
        text.append(f"  and {count_of(len(ordered) - MAX_DIAGNOSES, 'more diagnosis', 'more diagnoses')}\n")
    if keys and is_explained(told):
        text.append(style.wrap(f"Keys  {inert(keys)}", hang=6) + "\n")
    return "\n".join(text)


def _warnings_section(report: Report, told: CaseReport | None, style: Style) -> str:
    """Warnings that accepted cases have, each once with the number of those cases; none that the told case has too."""
    known = {fault_of(diagnosis) for diagnosis in told.diagnoses} if told is not None else set()
    found = [
        finding
        for finding in findings_of([case for case in report.cases if case.verdict is Verdict.ACCEPTED])
        if finding.diagnosis.warning and fault_of(finding.diagnosis) not in known
    ]
    parts = []
    for finding in found[:MAX_DIAGNOSES]:
        some = ", ".join(map(inert, finding.cases[:3])) + (", ..." if len(finding.cases) > 3 else "")
        where = f"in {count_of(len(finding.cases), 'accepted case')}: {some}"
        parts.append(_diagnosis(finding.diagnosis, style) + style.wrap(where, indent=4) + "\n")
    if len(found) > MAX_DIAGNOSES:
        parts.append(f"  and {count_of(len(found) - MAX_DIAGNOSES, 'more warning')}\n")
    return "\n".join(parts)


def _share(error: ErrorSummary) -> str:
    """The share of wrong elements; never rounded to all or to none where it is not."""
    if error.mismatches == error.total:
        return "all"
    share = 100 * error.mismatches / error.total
    return "under 0.1%" if share < 0.1 else f"{min(share, 99.9):.1f}%"


def _parameters(case: CaseReport) -> str:
    return show_parameters(case.parameters) or case.group


def _launch(launch: LaunchReport) -> str:
    place = f"line {launch.line}: " if launch.line is not None else ""
    geometry = ""
    if launch.grid is not None and launch.block is not None:
        geometry = f"  [grid {_triple(launch.grid)}, block {_triple(launch.block)}, shared {launch.shared_bytes} bytes]"
    return f"{place}{launch.text}{geometry}"


def _triple(dim: tuple[int, int, int]) -> str:
    return " x ".join(map(str, dim))


def _diagnosis(diagnosis: Diagnosis, style: Style) -> str:
    kind = ("warning, " if diagnosis.warning else "") + diagnosis.kind.value.replace("_", " ")
    color = "yellow" if diagnosis.warning else "red"
    head, *rest = style.wrap(f"{kind}: {inert(diagnosis.message)}", hang=2).split("\n")
    lines = [head.replace(kind, style.paint(kind, "bold", color), 1), *rest]
    if diagnosis.line is not None:
        lines += _source_excerpt(diagnosis.line, diagnosis.source or "", None, style)
    who = [
        f"kernel {inert(diagnosis.kernel)}" if diagnosis.kernel else "",
        f"block {_point(diagnosis.block)}" if diagnosis.block else "",
        f"thread {_point(diagnosis.thread)}" if diagnosis.thread else "",
        f"{inert(diagnosis.buffer)}{_index(diagnosis.index)}" if diagnosis.buffer else "",
        f"{diagnosis.occurrences} times" if diagnosis.occurrences > 1 else "",
    ]
    told = ", ".join(part for part in who if part)
    if told:
        lines.append(style.wrap(told, indent=4))
    return "\n".join(lines) + "\n"


def _point(point: tuple[int, int, int]) -> str:
    return f"({', '.join(map(str, point))})"


def _index(index: tuple[int, ...] | None) -> str:
    return "" if index is None else f"[{', '.join(map(str, index))}]"


def _hint_section(report: Report, told: CaseReport | None, style: Style, as_typed: Callable[[str], str]) -> str:
    word = "Next" if report.verdict is Verdict.ACCEPTED else "Hint"
    hint = _hint(report, told)
    shown = f"{word:<8}{one_line(as_typed(hint))}"
    # A command is there to be copied, so its line is never wrapped.
    lines = [f"  {shown}" if ": judge " in hint else style.wrap(shown, hang=8)]
    replay = report.replay or (told.replay if told else None)
    if replay and report.verdict is not Verdict.ACCEPTED:
        lines.append(f"  Replay  {one_line(as_typed(replay))}")
    return "\n".join(lines) + "\n"


def _hint(report: Report, told: CaseReport | None) -> str:
    return report.hint or hint_for(told, report.verdict)


def _cases_section(report: Report, style: Style, *, verbose: bool) -> str:
    if not report.cases:
        return ""
    shown = report.cases if verbose else _cases_to_show(report)
    backends = {case.backend for case in report.cases}
    columns = [
        Column("case", lambda c: c.name),
        Column("verdict", lambda c: c.verdict.label.lower(), paint=lambda c: (verdict_color(c.verdict),)),
        Column("on", lambda c: c.backend if len(backends) > 1 else None),
        Column("took", lambda c: f"{c.seconds:.2f} s" if c.verdict is not Verdict.NOT_RUN else None, right=True),
        Column("wrong", lambda c: wrong_to_tell(c) or None, right=True),
        Column("max error", lambda c: _short(c.error.max_abs if c.error else None), right=True, optional=True),
        Column("norm error", lambda c: _short(c.error.norm_rel if c.error else None), right=True, optional=True),
        Column("x plain f32", lambda c: _times(naive_multiple_to_tell(c)), right=True, optional=True),
        Column("order", lambda c: describe_schedule(c.schedule) if c.schedule else None, optional=True),
        Column("reads", lambda c: _times(reads_to_tell(c)), right=True),
        Column("median", lambda c: f"{c.timing.median_us:.1f} us" if c.timing else None, right=True),
        Column("GB/s", lambda c: f"{c.bandwidth_gbs:.0f}" if c.bandwidth_gbs is not None else None, right=True),
        Column(
            "roofline", lambda c: f"{c.roofline_fraction:.0%}" if c.roofline_fraction is not None else None, right=True
        ),
        Column("tier", lambda c: c.tier),
        Column("", lambda c: "noisy" if c.timing and c.timing.noisy else None),
    ]
    passed, not_run = (sum(c.verdict is v for c in report.cases) for v in (Verdict.ACCEPTED, Verdict.NOT_RUN))
    failed = len(report.cases) - passed - not_run
    parts = [f"{passed} of {count_of(len(report.cases), 'case')} accepted"]
    if len(shown) < failed:
        parts[0] += f", {len(shown)} of {failed} that failed shown"
    if not_run:
        parts[0] += f", {not_run} not run because two before them had to be killed"
    parts += [] if len(shown) == len(report.cases) else ["--verbose shows every case"]
    return f"{render_table(shown, columns, style)}{style.wrap('; '.join(parts))}\n"


def _cases_to_show(report: Report) -> Sequence[CaseReport]:
    """The rows a reader needs: what failed, else the samples and what was timed. The verdict must stay in view."""
    failed = [case for case in report.cases if case.verdict not in {Verdict.ACCEPTED, Verdict.NOT_RUN}]
    if failed:
        return failed[:MAX_ROWS]
    known = [case for case in report.cases if case.group != "hidden"]
    return known or report.cases[:MAX_ROWS]


def _short(value: float | None) -> str | None:
    return None if value is None else f"{value:.2g}"


def _times(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.2f}x" if value < 100 else f"{value:,.0f}x"


def _resources_section(report: Report, style: Style) -> str:
    kernels = [k for k in report.compile.kernels if k.registers is not None]
    columns = [
        Column("kernel", lambda k: one_line(k.name)),
        Column("registers", lambda k: str(k.registers), right=True),
        Column("shared", lambda k: f"{k.shared_bytes} B" if k.shared_bytes is not None else None, right=True),
        Column("local", lambda k: f"{k.local_bytes} B" if k.local_bytes is not None else None, right=True),
        Column("spills", lambda k: f"{k.spill_bytes} B" if k.spill_bytes is not None else None, right=True),
        Column("occupancy", lambda k: f"{k.occupancy:.0%}" if k.occupancy is not None else None, right=True),
    ]
    made_for = f", optimized for {report.compile.kernels_arch}" if report.compile.kernels_arch else ""
    return f"  Resources of the kernels{made_for}:\n{render_table(kernels, columns, style)}" if kernels else ""


def _printed_section(report: Report, told: CaseReport | None, style: Style, *, verbose: bool) -> str:
    """What device printf wrote, a block for each case: the told one first, a few others, all when verbose."""
    printing = [case for case in report.cases if case.printed]
    printing.sort(key=lambda case: case is not told)
    if told is not None and told.printed and not verbose:
        shown = printing[:1]
    else:
        shown = printing if verbose else printing[:MAX_PRINTED_CASES]
    blocks = [_printed(case, style) for case in shown]
    if len(shown) < len(printing):
        blocks.append(
            f"  {count_of(len(printing) - len(shown), 'more case')} printed; --verbose or --case NAME shows it\n"
        )
    return "\n".join(blocks)


def _printed(case: CaseReport, style: Style) -> str:
    lines = inert(case.printed).splitlines()
    text = lines[:MAX_PRINTED_LINES]
    if len(lines) > MAX_PRINTED_LINES:
        text.append(f"and {count_of(len(lines) - MAX_PRINTED_LINES, 'more line')}")
    head = style.paint(f"  Printed in {inert(case.name)}, {case.backend}:", "dim")
    return f"{head}\n{_indent(chr(10).join(text))}\n"


def _footer(report: Report, style: Style) -> str:
    backends = report.backends or (report.backend,)
    # Where nothing was compiled, no device was asked either.
    ran = report.compile.ok or report.compile.seconds > 0
    lines = [f"{b.kind}: {inert(b.device)}, {b.arch}, {_isolation(b)}" for b in backends] if ran else []
    cached = ", cached" if report.compile.cached else ""
    compiled = f"compiled in {report.compile.seconds:.2f} s{cached}; " if ran else ""
    lines.append(f"{compiled}everything in {report.seconds:.2f} s; seed {report.seed}")
    if report.submission.set_aside:
        lines.append(f"host code set aside: {inert('; '.join(report.submission.set_aside))}")
    lines += [inert(note) for note in report.submission.notes]
    return "\n".join(style.paint(style.wrap(line, hang=2), "dim") for line in lines) + "\n"


def _isolation(backend: BackendReport) -> str:
    why = f" ({inert('; '.join(backend.isolation_reasons))})" if backend.isolation_reasons else ""
    return f"isolation {backend.isolation}{why}"


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
