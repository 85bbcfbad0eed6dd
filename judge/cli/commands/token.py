"""`judge token`: the tokens of a service's users."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.output import Format, FormatOption, say, say_json

if TYPE_CHECKING:
    from judge.store.database import Database
    from judge.store.models import Token

token = typer.Typer(help="Create, list and revoke tokens of the service.", no_args_is_help=True)

DatabaseOption = Annotated[
    str, typer.Option("--database", envvar="JUDGE_DATABASE", help="sqlite:///FILE or postgresql://USER@HOST/NAME.")
]
DEFAULT_DATABASE = "sqlite:///judge.db"
_UNITS = {"h": 3600.0, "d": 86400.0}


@token.command("create")
def create(
    user: Annotated[str, typer.Argument(metavar="USER", help="Name of the user; made if there is none.")],
    scope: Annotated[list[str] | None, typer.Option("--scope", help="submit, read or admin; may be repeated.")] = None,
    expires: Annotated[str, typer.Option(help="After how long it ends: 12h, 90d or never.")] = "90d",
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    database: DatabaseOption = DEFAULT_DATABASE,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Create a token. It is shown this once; the database keeps only its digest."""
    from judge.store.accounts import create_token

    with opened(database) as store, store.write() as session:
        text, made = create_token(session, user, scope or ["submit", "read"], seconds_of(expires, "--expires"), label)
        record = {**_as_dict(made, user), "token": text}
    if format_ is Format.JSON:
        say_json(record)
    else:
        say(text)


@token.command("list")
def list_all(database: DatabaseOption = DEFAULT_DATABASE, format_: FormatOption = Format.TEXT) -> None:
    """List all tokens by their ids."""
    from judge.reports.style import style_for
    from judge.reports.tables import Column, render_table
    from judge.store.accounts import list_tokens

    with opened(database) as store, store.read() as session:
        found = [_as_dict(one, name) for one, name in list_tokens(session)]
    if format_ is Format.JSON:
        say_json(found)
        return
    columns = [
        Column("id", lambda t: str(t["id"])),
        Column("user", lambda t: str(t["user"])),
        Column("scopes", lambda t: ", ".join(map(str, t["scopes"]))),
        Column("state", lambda t: str(t["state"])),
        Column("expires", lambda t: str(t["expires_at"] or "never")),
        Column("used", lambda t: str(t["used_at"] or "never")),
        Column("for", lambda t: str(t["label"])),
    ]
    say(render_table(found, columns, style_for()) if found else "There are no tokens.")


@token.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `judge token list` shows it.")],
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """End a token at once."""
    from judge.errors import UsageError
    from judge.store.accounts import revoke_token

    with opened(database) as store, store.write() as session:
        if not revoke_token(session, token_id):
            raise UsageError(f"There is no token {token_id[:40]!r}. `judge token list` shows them.")
    say(f"{token_id} is revoked.")


class opened:  # noqa: N801 - reads as the word it is in a with statement
    """The store of a service, its tables up to date, closed at the end.

    Raises UsageError where there is none, and makes none: a mistyped name would look like a service without users.
    """

    def __init__(self, url: str) -> None:
        from judge.store.database import Database

        self._database = Database(url)

    def __enter__(self) -> "Database":
        from judge.errors import UsageError
        from judge.store.schema import migrate

        if (where := self._missing()) is not None:
            self._database.close()
            raise UsageError(f"There is no database at {where}. `judge serve` makes one, or give --database.")
        migrate(self._database)
        return self._database

    def _missing(self) -> str | None:
        """Where nothing of a judge is; None where something is."""
        from sqlalchemy import text

        url = self._database.url
        # Opening would make a file of nothing, so its head is read first.
        if self._database.sqlite and not _is_sqlite(Path(url.database or "")):
            return url.database
        known = "sqlite_master WHERE name" if self._database.sqlite else "information_schema.tables WHERE table_name"
        with self._database.read() as session:
            found = session.execute(text(f"SELECT count(*) FROM {known} = 'alembic_version'")).scalar_one()
        return None if found else url.database if self._database.sqlite else url.render_as_string(hide_password=True)

    def __exit__(self, *_: object) -> None:
        self._database.close()


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def seconds_of(text: str, option: str) -> float | None:
    """What was given to an option, None for never. Raises UsageError."""
    from judge.errors import UsageError

    if text == "never":
        return None
    found = re.fullmatch(r"([1-9]\d{0,4})([hd])", text)
    if not found:
        raise UsageError(f"{option} {text[:40]!r} is no time. Give hours or days, such as 12h or 90d, or never.")
    return int(found[1]) * _UNITS[found[2]]


def _as_dict(made: "Token", user: str) -> dict[str, object]:
    import time
    from datetime import UTC, datetime

    def moment(seconds: float | None) -> str | None:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

    over = made.expires_at is not None and made.expires_at <= time.time()
    return {
        "id": made.id,
        "user": user,
        "label": made.label,
        "scopes": list(made.scopes),
        "state": "revoked" if made.revoked_at else "expired" if over else "good",
        "created_at": moment(made.created_at),
        "expires_at": moment(made.expires_at),
        "used_at": moment(made.used_at),
    }
