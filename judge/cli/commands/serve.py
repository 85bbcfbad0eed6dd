"""`judge serve`: the whole service on this machine in one command."""

from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    database: Annotated[
        str, typer.Option(envvar="JUDGE_DATABASE", help="sqlite:///FILE or postgresql://USER@HOST/NAME.")
    ] = "sqlite:///judge.db",
    cpu_lanes: Annotated[
        int | None, typer.Option(min=0, max=256, help="Submissions judged at once on the CPU (default: cores / 2).")
    ] = None,
    warm: Annotated[int, typer.Option(min=1, max=16, help="Submissions whose workers each lane keeps warm.")] = 1,
    metrics_port: Annotated[int, typer.Option(min=0, max=65535, help="Port for Prometheus; 0 for none.")] = 0,
    no_login: Annotated[
        bool, typer.Option("--no-login", help="Ask for no token even where others reach the server.")
    ] = False,
    login: Annotated[bool, typer.Option("--login", help="Ask for a token on loopback too.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A name the server is called by; may be repeated.")
    ] = None,
    rate: Annotated[
        int | None, typer.Option(min=1, help="Submissions a user may send in a minute (default: 60 with login).")
    ] = None,
    max_waiting: Annotated[int, typer.Option(min=1, help="Submissions that may wait in all.")] = 10_000,
) -> None:
    """Run API, dispatcher and workers on this machine. Ctrl-C or SIGTERM ends it; nothing accepted is lost."""
    from judge.dispatch.serving import ServeOptions, serve_machine

    serve_machine(
        ServeOptions(
            host=host,
            port=port,
            database=database,
            cpu_lanes=cpu_lanes,
            warm=warm,
            metrics_port=metrics_port,
            no_login=no_login,
            login=login,
            hosts=tuple(allow_host or ()),
            rate=rate,
            max_waiting=max_waiting,
        )
    )
