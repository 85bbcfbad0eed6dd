"""`judge verify`: prove that problems are in order."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.commands.test import Backend
from judge.cli.completion import complete_problem
from judge.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from judge.verification.selfcheck import Finding


def verify(
    problem_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROBLEM", help="Problems to check (default: all).", autocompletion=complete_problem),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="Where the planted submissions are judged.")] = Backend.CPU,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Checks at the same time.")] = 2,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the whole kill matrix.")] = False,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief", help="Run wrong kernels only until they failed as expected, later solutions on a third."
        ),
    ] = False,
    checks: Annotated[
        list[str] | None,
        typer.Option("--check", metavar="NAME", help="Only this check, such as mutants or accepted/plain.cu."),
    ] = None,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Prove that problems and their planted kernels are right."""
    import dataclasses

    from judge.catalogue import problem_folder
    from judge.cli.exits import Exit
    from judge.cli.inputs import known_problems
    from judge.cli.output import remark, say, say_json
    from judge.verification.selfcheck import Settings, verify

    chosen = list(dict.fromkeys(problem_ids or known_problems()))
    for problem_id in chosen:
        problem_folder(problem_id)
    if not chosen:
        remark("There are no problems to verify.")
        raise typer.Exit(Exit.NOTHING_TO_DO)
    settings = Settings(backend=backend.value, full_matrix=verbose, jobs=jobs, brief=brief, only=tuple(checks or ()))
    findings = verify(chosen, settings, _progress)
    if format_ is Format.JSON:
        say_json({"schema_version": 1, "findings": [dataclasses.asdict(finding) for finding in findings]})
    else:
        say(_table(findings, verbose=verbose))
    raise typer.Exit(Exit.ACCEPTED if all(finding.ok for finding in findings) else Exit.NOT_ACCEPTED)


def _progress(finding: "Finding") -> None:
    word = "ok  " if finding.ok else "FAIL"
    sys.stderr.write(f"{word}  {finding.seconds:6.1f} s  {finding.problem}  {finding.check}\n")
    sys.stderr.flush()


def _table(findings: "list[Finding]", *, verbose: bool) -> str:
    from judge.reports.style import inert, style_for

    style = style_for()
    width = max(len(finding.check) for finding in findings)
    lines: list[str] = []
    problem = ""
    for finding in findings:
        if finding.problem != problem:
            problem = finding.problem
            lines += ["", style.paint(problem, "bold")]
        word = style.paint("ok  ", "green") if finding.ok else style.paint("FAIL", "bold", "red")
        lines.append(f"  {word}  {finding.check:<{width}}  {inert(finding.text)}")
        if verbose or not finding.ok or finding.check == "mutants":
            lines += [f"        {inert(detail)}" for detail in finding.details]
    failed = [finding for finding in findings if not finding.ok]
    lines += ["", f"{len(findings) - len(failed)} of {len(findings)} checks ok"]
    lines += [f"  FAIL  {f.problem}  {f.check}: {inert(f.text)}" for f in failed]
    return "\n".join(lines).lstrip("\n")
