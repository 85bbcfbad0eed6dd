"""`judge prune`: forget old submissions of a service."""

from typing import Annotated

import typer

from judge.cli.commands.token import DEFAULT_DATABASE, DatabaseOption, opened, seconds_of
from judge.cli.output import Format, FormatOption, say, say_json


def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", help="Those that were over so long ago: hours or days, as 12h or 365d.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many there are.")] = False,
    database: DatabaseOption = DEFAULT_DATABASE,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Delete old submissions with all that is known of them.

    Finished and cancelled ones, with their sources, reports, events and times.

    Nothing else ever deletes them. What waits or runs stays, and so does a source that another submission has.
    """
    import time

    from judge.errors import UsageError
    from judge.store import pruning
    from judge.verification.numbers import count_of

    age_s = seconds_of(older_than, "--older-than")
    if age_s is None:
        raise UsageError("--older-than takes hours or days, such as 12h or 365d.")
    before = time.time() - age_s
    with opened(database) as store:
        if dry_run:
            with store.read() as session:
                count = len(pruning.prunable(session, before))
        else:
            count = pruning.prune(store, before)
    if format_ is Format.JSON:
        say_json({"submissions": count, "deleted": not dry_run, "older_than_s": age_s})
        return
    some = count_of(count, "submission")
    say(f"{some} would be deleted." if dry_run else f"{some} deleted.")
