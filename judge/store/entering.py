"""The rows of new submissions. On PostgreSQL one statement has them all: each is a way to the server and back."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from judge.store.models import Base, Event, RequestKey, Source, Submission
from judge.store.queue import created_row
from judge.store.together import Together


def _table(model: type[Base]) -> Table:
    return Base.metadata.tables[model.__tablename__]


_COLUMNS = tuple(column.name for column in _table(Submission).columns if column.name != "number")


def enter(
    session: Session,
    together: Together,
    fresh: Sequence[Submission],
    sources: Mapping[str, bytes],
    keys: Sequence[Mapping[str, Any]] = (),
) -> Callable[[], dict[str, int]]:
    """Store new submissions in their order, with their first events; gives the number of each by its id.

    sources: texts by their SHA-256. keys: rows of request_keys. Raises IntegrityError when another transaction stored
    one of the keys a moment ago, or deleted a source.
    """
    if session.get_bind().dialect.name == "sqlite":
        numbers = _into_sqlite(session.connection(), fresh, sources, keys)
        return lambda: numbers
    rows = together.run(_ENTER, _parameters(fresh, sources, keys))
    return lambda: dict(rows())


def _into_sqlite(
    connection: Connection,
    fresh: Sequence[Submission],
    sources: Mapping[str, bytes],
    keys: Sequence[Mapping[str, Any]],
) -> dict[str, int]:
    texts = [{"sha256": digest, "data": data} for digest, data in sources.items()]
    connection.execute(sqlite_insert(_table(Source)).on_conflict_do_nothing(), texts)
    table = _table(Submission)
    stored = connection.execute(insert(table).returning(table.c.id, table.c.number), [_row(one) for one in fresh])
    numbers = {row.id: row.number for row in stored}
    connection.execute(insert(_table(Event)), [created_row(one) for one in fresh])
    if keys:
        connection.execute(insert(_table(RequestKey)), keys)
    return numbers


def _parameters(
    fresh: Sequence[Submission], sources: Mapping[str, bytes], keys: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    # In one order everywhere: two transactions that insert the same sources the other way round would never end.
    digests = sorted(sources)
    return {
        "digests": digests,
        "texts": [sources[digest] for digest in digests],
        "rows": json.dumps([{"place": place, **_row(one)} for place, one in enumerate(fresh)]),
        "events": json.dumps([created_row(one) for one in fresh]),
        "keys": json.dumps([dict(key) for key in keys]),
    }


def _row(one: Submission) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _COLUMNS}


def _typed(model: type[Base], names: Sequence[str]) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return ", ".join(f'"{name}" {_table(model).c[name].type.compile(dialect=dialect)}' for name in names)


def _inserted(model: type[Base], parameter: str, names: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    rows = f"json_to_recordset(%({parameter})s::json) AS sent({_typed(model, names)})"
    return f"INSERT INTO {model.__tablename__} ({listed}) SELECT {listed} FROM {rows}"


def _statement() -> str:
    # A foreign key is looked after when the whole statement is through, so no part need wait for another.
    rows = _inserted(Submission, "rows", _COLUMNS).removesuffix(")") + ", place integer)"
    events = _inserted(Event, "events", [column.name for column in _table(Event).columns])
    keys = _inserted(RequestKey, "keys", [column.name for column in _table(RequestKey).columns])
    return (
        f"WITH texts AS (INSERT INTO {Source.__tablename__} (sha256, data) "
        "SELECT * FROM unnest(%(digests)s::text[], %(texts)b::bytea[]) ON CONFLICT DO NOTHING), "
        f"entered AS ({rows} ORDER BY place RETURNING id, number), "
        f"told AS ({events}), kept AS ({keys}) "
        "SELECT id, number FROM entered"
    )


_ENTER = _statement()
