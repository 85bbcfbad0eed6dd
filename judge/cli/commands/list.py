"""`judge list`: the problems, what each is about, and which are solved."""

from judge.cli.output import Format, FormatOption, say, say_json


def list_problems(format_: FormatOption = Format.TEXT) -> None:
    """List the problems in the order to solve them."""
    from judge.catalogue import load_problem
    from judge.cli.inputs import known_problems
    from judge.cli.program import program_name
    from judge.cli.state import load_state
    from judge.reports.style import style_for
    from judge.reports.tables import Column, render_table

    accepted = load_state().accepted
    problems = [load_problem(problem_id) for problem_id in known_problems()]
    if format_ is Format.JSON:
        say_json(
            [
                {"id": p.id, "title": p.title, "summary": p.summary, "version": p.version, "accepted": p.id in accepted}
                for p in problems
            ]
        )
        return
    columns = [
        Column("problem", lambda p: p.id),
        Column("", lambda p: "accepted" if p.id in accepted else "open"),
        Column("about", lambda p: p.summary),
    ]
    say(render_table(problems, columns, style_for()))
    say(f"  Begin with: {program_name()} start PROBLEM")
