"""`judge workers`: the devices that judge for a service, and how they are."""

from typing import Annotated

import typer

from judge.cli.output import Format, FormatOption, say, say_json


def workers(
    database: Annotated[
        str, typer.Option(envvar="JUDGE_DATABASE", help="sqlite:///FILE or postgresql://USER@HOST/NAME.")
    ] = "sqlite:///judge.db",
    format_: FormatOption = Format.TEXT,
) -> None:
    """List the devices that judge for a service, and how they are."""
    import time

    from judge.reports.style import style_for
    from judge.reports.tables import Column, render_table
    from judge.store.database import Database
    from judge.store.devices import devices
    from judge.store.schema import migrate

    store = Database(database)
    migrate(store)
    with store.read() as session:
        found = [
            {
                "worker": one.worker,
                "kind": one.kind,
                "device": one.name,
                "queues": list(one.queues),
                "state": one.state,
                "reason": one.reason,
                "seen_s_ago": round(max(time.time() - one.seen_at, 0.0), 1),
            }
            for one in devices(session)
        ]
    store.close()
    if format_ is Format.JSON:
        say_json(found)
        return
    columns = [
        Column("worker", lambda w: str(w["worker"])),
        Column("device", lambda w: str(w["device"])),
        Column("queues", lambda w: ", ".join(map(str, w["queues"]))),
        Column("state", lambda w: str(w["state"])),
        Column("seen", lambda w: f"{w['seen_s_ago']} s ago", right=True),
        Column("", lambda w: str(w["reason"])),
    ]
    say(render_table(found, columns, style_for()) if found else "No worker has announced itself.")
