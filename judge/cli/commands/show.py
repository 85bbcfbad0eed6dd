"""`judge show`: the statement of a problem with its kernel interface and cases."""

from typing import TYPE_CHECKING, Any

from judge.cli.arguments import ProblemArgument
from judge.cli.output import Format, FormatOption, say, say_json

if TYPE_CHECKING:
    from judge.problem import Problem


def show(problem_id: ProblemArgument, format_: FormatOption = Format.TEXT) -> None:
    """Show the statement, buffers, parameters and cases of a problem."""
    from judge.catalogue import load_problem

    problem = load_problem(problem_id)
    statement = (problem.folder / "statement.md").read_text(encoding="utf-8")
    if format_ is Format.JSON:
        say_json(_as_json(problem, statement))
        return
    from judge.reports.mathtext import plain_statement

    say(plain_statement(statement.rstrip()) + "\n\n")
    say(_facts(problem, statement))


def _facts(problem: "Problem", statement: str) -> str:
    """The cases, and of the interface and the default launch what the statement does not say itself."""
    from judge.reports.style import style_for
    from judge.reports.tables import Column, render_table
    from judge.verification.numbers import show_parameters

    style = style_for()
    buffers = render_table(
        problem.buffers,
        [
            Column("buffer", lambda b: b.name),
            Column("type", lambda b: f"{b.ctype}*"),
            Column("shape", lambda b: f"[{', '.join(map(str, b.shape))}]"),
            Column("role", lambda b: b.role.value),
            Column("", lambda b: b.doc),
        ],
        style,
    )
    parameters = render_table(
        problem.parameters,
        [
            Column("parameter", lambda p: p.name),
            Column("type", lambda p: p.ctype),
            Column("", lambda p: "compile-time constant" if p.constant else None),
            Column(" ", lambda p: p.doc),
        ],
        style,
    )
    cases = render_table(
        problem.cases,
        [
            Column("case", lambda c: c.name),
            Column("group", lambda c: c.group.value),
            Column("inputs", lambda c: c.family),
            Column("parameters", lambda c: show_parameters(c.parameters)),
        ],
        style,
    )
    names = [buffer.name for buffer in problem.buffers] + [parameter.name for parameter in problem.parameters]
    told = all(f"`{name}`" in statement for name in names)
    parts = [cases] if told else [buffers, parameters, cases]
    if problem.default_launch not in statement:
        parts.append(f"  Default launch: {problem.default_launch}\n  The starter names its own.")
    return "\n".join(parts)


def _as_json(problem: "Problem", statement: str) -> dict[str, Any]:
    return {
        "id": problem.id,
        "title": problem.title,
        "version": problem.version,
        "statement": statement,
        "default_launch": problem.default_launch,
        "buffers": [
            {"name": b.name, "dtype": b.dtype, "shape": list(b.shape), "role": b.role.value, "doc": b.doc}
            for b in problem.buffers
        ],
        "parameters": [
            {"name": p.name, "ctype": p.ctype, "constant": p.constant, "doc": p.doc} for p in problem.parameters
        ],
        "cases": [
            {"name": c.name, "group": c.group.value, "family": c.family, "parameters": dict(c.parameters)}
            for c in problem.cases
        ],
        "tolerances": {
            name: {"abs": t.abs_, "rel": t.rel, "reason": t.reason} for name, t in problem.tolerances.items()
        },
    }
