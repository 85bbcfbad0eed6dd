"""Statements that need not wait for each other: PostgreSQL gets them in one message and answers in one.

Each way there and back costs a change of processes at both ends, which is more than most statements themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from types import TracebackType
from typing import Any, cast

import psycopg
from sqlalchemy import Select
from sqlalchemy.dialects.postgresql.psycopg import dialect as postgresql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

Rows = Callable[[], Sequence[Any]]
"""The rows of an answer, once the statements have gone."""


class Together:
    """Statements of one transaction within a `with`, in their order. On SQLite each is carried out at once.

    Errors are those that SQLAlchemy has for its own statements, also where another library used the connection.
    """

    def __init__(self, session: Session) -> None:
        self._connection = session.connection()
        self._driver: psycopg.Connection[Any] | None = None
        self._message: AbstractContextManager[Any] = nullcontext()
        if self._connection.dialect.name != "sqlite":
            self._driver = cast("psycopg.Connection[Any]", self._connection.connection.driver_connection)
            self._message = self._driver.pipeline()

    def __enter__(self) -> "Together":
        self._message.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._message.__exit__(kind, error, trace)
        except psycopg.Error as late:
            error = late
        found = _first_cause(error)
        if found is None:
            return
        if self._driver is not None and self._driver.closed:
            self._connection.invalidate(found)
        raise DBAPIError.instance(
            None, None, found, psycopg.Error, dialect=self._connection.dialect, hide_parameters=True
        ) from found

    def ask(self, statement: Select[Any], parameters: Mapping[str, Any] | None = None) -> Rows:
        """statement: one that lives as long as the process, for its text is kept. All its values are parameters or
        rendered into it.
        """
        if self._driver is not None:
            return self.run(_text(statement, tuple(parameters or ())), parameters)
        rows = self._connection.execute(statement, dict(parameters or {})).all()
        return lambda: rows

    def run(self, text: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Carry out a text for PostgreSQL."""
        assert self._driver is not None
        return self._driver.execute(text.encode(), parameters or {}).fetchall


@lru_cache(maxsize=64)
def _text(statement: Select[Any], names: tuple[str, ...]) -> str:
    dialect = postgresql()  # type: ignore[no-untyped-call]
    # What is rendered is rendered only where all parameters have a value, whatever it is.
    given = statement.params(dict.fromkeys(names))
    return str(given.compile(dialect=dialect, compile_kwargs={"render_postcompile": True}))


def _first_cause(error: BaseException | None) -> psycopg.Error | None:
    """The error of the database behind an error, which another library may have wrapped."""
    while error is not None and not isinstance(error, psycopg.Error):
        error = error.__cause__ or error.__context__
    return error
