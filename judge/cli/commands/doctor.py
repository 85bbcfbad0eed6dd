"""`judge doctor`: what this machine has, what is missing, and how to mend it."""

from typing import TYPE_CHECKING

import typer

from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.doctor import Finding


def doctor(format_: FormatOption = Format.TEXT) -> None:
    """Check what this machine has. Safe to paste."""
    import dataclasses

    from judge.cli.exits import Exit
    from judge.cli.output import say, say_json
    from judge.doctor import examine

    findings = examine()
    failed = any(finding.status == "fail" for finding in findings)
    if format_ is Format.JSON:
        say_json({"schema_version": 1, "ok": not failed, "findings": [dataclasses.asdict(f) for f in findings]})
    else:
        say(_table(findings))
    raise typer.Exit(Exit.JUDGE_OR_MACHINE if failed else Exit.ACCEPTED)


def _table(findings: "list[Finding]") -> str:
    from judge.reports.style import inert, style_for

    style = style_for()
    colors = {"ok": ("green",), "warn": ("yellow",), "fail": ("bold", "red")}
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        word = style.paint(f"{finding.status:<4}", *colors[finding.status])
        lines.append(f"{word}  {finding.name:<{width}}  {inert(finding.text)}")
        if finding.fix:
            lines.append(f"{'':6}{'':{width}}  -> {inert(finding.fix)}")
    return "\n".join(lines)
