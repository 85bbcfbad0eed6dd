"""Transactions on SQLite or PostgreSQL, and the one place where a driver's error becomes one of ours.

SQLite runs in WAL mode with synchronous=FULL: what was committed survives a power cut. A transaction that
writes begins with BEGIN IMMEDIATE, so that two writers queue up instead of failing halfway.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from judge.errors import JudgeError, UsageError

DEFAULT_URL = "sqlite:///judge.db"
BUSY_LIMIT_S = 5.0
CONNECT_LIMIT_S = 3
STATEMENT_LIMIT_S = 15
IDLE_LIMIT_S = 10
POOL_SIZE = 20
RESTED_S = 0.5

_FULL = ("database or disk is full", "no space left", "could not extend file", "disk full")


_SHARED_STEP_BYTES = 32 * 1024


class StoreUnavailable(JudgeError):  # noqa: N818 - a state, and over when the database is back
    """The database cannot be reached, is locked for too long or lost the connection. Nothing was stored."""


class StoreFull(StoreUnavailable):
    """The disk of the database is full. Nothing was stored; reading goes on."""


class StoreGone(StoreUnavailable):
    """SQLite's file is not at its path any more, or another one is: what would be written, nobody would find."""


class Database:
    """url: as SQLAlchemy's, `sqlite:///judge.db` or `postgresql://user@host/name`.

    must_exist: whether a file of SQLite that is not there is a fault, instead of being made.

    file: of SQLite, where it really lies, so that all names of it by links give the same path; None on PostgreSQL.
    after_write: called after each commit of a transaction that may have written.

    Raises UsageError for a URL that names neither.
    """

    def __init__(self, url: str, *, must_exist: bool = False) -> None:
        self.url = _checked(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.file = _file_of(self.url) if self.sqlite else None
        # SQLite lets writers that wait sleep ever longer; threads of one process take turns instead.
        self._turn: AbstractContextManager[Any] = threading.Lock() if self.sqlite else nullcontext()
        self.after_write: Callable[[], None] | None = None
        self._must_exist = must_exist
        self._opened: tuple[int, int] | None = None
        self.engine = _engine(self.url, self.sqlite)
        if self.sqlite:
            event.listen(self.engine, "do_connect", lambda *_: self.check_file())
            event.listen(self.engine, "connect", lambda *_: self._note_file())
        self._reading = sessionmaker(self.engine, expire_on_commit=False)
        self._writing = sessionmaker(self.engine.execution_options(writes=True), expire_on_commit=False)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One transaction that only reads. Raises StoreUnavailable."""
        with _told(self.file), self._reading() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction, committed at the end of the block and undone by an exception. Raises StoreUnavailable."""
        with self._turn:
            self.check_file()
            with _told(self.file), self._writing.begin() as session:
                yield session
            self.check_file()
        if self.after_write is not None:
            self.after_write()

    def check_file(self) -> None:
        """Raises StoreGone when the file at SQLite's path is not the one that was opened first."""
        if self.file is None or (self._opened is None and not self._must_exist):
            return
        found = _identity(self.file)
        advice = "Stop the service and put the right one there."
        if found is None:
            raise StoreGone(f"The database file {self.file.name} is gone. {advice}")
        if self._opened is not None and found != self._opened:
            raise StoreGone(f"Another file lies where the database {self.file.name} was. {advice}")

    def _note_file(self) -> None:
        if self._opened is None and self.file is not None:
            self._opened = _identity(self.file)

    def close(self) -> None:
        self.engine.dispose()


def shown_url(url: str) -> str:
    """The URL without its password, for logs and messages."""
    return _checked(url).render_as_string(hide_password=True)


def _checked(text: str) -> URL:
    advice = "Give sqlite:///FILE or postgresql://USER@HOST/NAME."
    try:
        url = make_url(text)
        name = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise UsageError(f"This is no URL of a database. {advice}") from None
    if name == "sqlite":
        if not url.database or url.database == ":memory:":
            raise UsageError(f"A database in memory is gone with its process. {advice}")
        return url
    if name in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    raise UsageError(f"The judge keeps its state in SQLite or PostgreSQL, not in {name}. {advice}")


def _file_of(url: URL) -> Path:
    name = url.database or ""
    if "uri" in url.query and name.startswith("file:"):
        name = unquote(urlsplit(name).path)
    return Path(os.path.realpath(name))


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _engine(url: URL, sqlite: bool) -> Engine:
    if not sqlite:
        engine = create_engine(
            url,
            pool_size=POOL_SIZE,
            # The one that was used last knows the statements already: both sides keep those it prepared.
            pool_use_lifo=True,
            pool_timeout=CONNECT_LIMIT_S,
            connect_args={
                "connect_timeout": CONNECT_LIMIT_S,
                "options": f"-c statement_timeout={STATEMENT_LIMIT_S}s -c lock_timeout={BUSY_LIMIT_S:.0f}s "
                # A process that was stopped within a transaction would hold its rows until it goes on.
                f"-c idle_in_transaction_session_timeout={IDLE_LIMIT_S}s",
            },
        )
        _ask_those_that_rested(engine)
        return engine
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        pool_timeout=BUSY_LIMIT_S,
        connect_args={"timeout": BUSY_LIMIT_S, "isolation_level": None},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-16000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _ask_those_that_rested(engine: Engine) -> None:
    """Look whether a connection still stands before it is used, if that is not known from a moment ago."""

    @event.listens_for(engine, "checkin")
    def note(_connection: Any, record: Any) -> None:
        record.info["used_at"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, _proxy: Any) -> None:
        used_at = record.info.get("used_at")
        if used_at is None or time.monotonic() - used_at < RESTED_S:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            # All the others are of before, too.
            raise InvalidatePoolError from error


@contextmanager
def _told(file: Path | None) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        told = _as_ours(error, file)
        if told is None:
            raise
        raise told from error
    except SQLAlchemyError as error:
        # The pool's own: no connection came free in time.
        if type(error).__name__ == "TimeoutError":
            raise StoreUnavailable("The database is too busy. Try again.") from error
        raise


def _as_ours(error: DBAPIError, file: Path | None) -> StoreUnavailable | None:
    reason = str(error.orig).lower()
    if any(words in reason for words in _FULL) or ("disk i/o error" in reason and _no_room(file)):
        return StoreFull("The disk of the database is full.")
    kind = type(error.orig).__name__
    # DataError, IntegrityError and ProgrammingError are mistakes in our statements, not of the machine.
    if kind in {"OperationalError", "InterfaceError"} or error.connection_invalidated or kind in _PASSING:
        return StoreUnavailable("The database cannot be reached or is too busy.")
    return None


def _no_room(file: Path | None) -> bool:
    """Whether SQLite's shared memory can get no larger, which it calls an I/O error like any other fault of a disk."""
    try:
        return file is not None and shutil.disk_usage(file.parent).free < _SHARED_STEP_BYTES
    except OSError:
        return False


_PASSING = {
    "AdminShutdown",
    "CannotConnectNow",
    "CrashShutdown",
    "DeadlockDetected",
    "LockNotAvailable",
    "QueryCanceled",
    "ReadOnlySqlTransaction",
    "SerializationFailure",
    "TooManyConnections",
    "ConnectionTimeout",
}
