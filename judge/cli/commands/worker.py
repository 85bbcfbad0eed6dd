"""`judge worker`: judge on this machine what a service elsewhere has stored in its PostgreSQL."""

from typing import Annotated

import typer


def worker(
    database: Annotated[
        str, typer.Option(envvar="JUDGE_DATABASE", help="The service's database: postgresql://USER@HOST/NAME.")
    ],
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", help="cpu, cuda or cuda:NAME; may be repeated (default: all this machine can serve)."),
    ] = None,
    cpu_lanes: Annotated[
        int | None, typer.Option(min=1, max=256, help="Submissions judged at once on the CPU (default: cores / 2).")
    ] = None,
    warm: Annotated[int, typer.Option(min=1, max=16, help="Submissions whose workers each lane keeps warm.")] = 1,
) -> None:
    """Judge for a service on another machine.

    Ctrl-C or SIGTERM ends it; what is not finished then is given back.
    """
    from judge.dispatch.serving import WorkerOptions, work_for_service

    work_for_service(WorkerOptions(database, tuple(queue or ()), cpu_lanes, warm))
