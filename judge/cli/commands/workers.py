"""`judge workers`: the devices that judge for a service, and how they are."""

from judge.cli.commands.token import DEFAULT_DATABASE, DatabaseOption, opened
from judge.cli.output import Format, FormatOption, say, say_json


def workers(
    database: DatabaseOption = DEFAULT_DATABASE,
    format_: FormatOption = Format.TEXT,
) -> None:
    """List the devices that judge for a service, and how they are."""
    import time

    from judge.reports.style import style_for
    from judge.reports.tables import Column, render_table
    from judge.store.devices import devices

    with opened(database) as store, store.read() as session:
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
