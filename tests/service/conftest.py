"""What the tests of the service share: a database of each kind, always a real one."""

import shutil
import socket
from contextlib import closing

import pytest

from judge.store.database import Database
from judge.store.schema import migrate
from tests.service.postgresql import PostgreSQL, programs
from tests.service.running import start_serve, until

KINDS = ("sqlite", "postgresql") if programs() is not None else ("sqlite",)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def postgresql():
    server = PostgreSQL(free_port())
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def migrated(postgresql):
    """Name of a PostgreSQL database with all tables and nothing in them, to be copied."""
    url = postgresql.new_database()
    database = Database(url)
    migrate(database)
    database.close()
    return url.rpartition("/")[2]


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory):
    """A SQLite database with all tables and nothing in them, to be copied."""
    path = tmp_path_factory.mktemp("store") / "empty.db"
    database = Database(f"sqlite:///{path}")
    migrate(database)
    database.close()
    return path


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """`judge serve` on SQLite with a lane that is ready; whoever kills a part of it waits until it is back."""
    running = start_serve(tmp_path_factory.mktemp("served"))
    until(lambda: running.client.get("/readyz").json()["parts"]["devices"] == "ok", 60)
    yield running
    running.stop()


@pytest.fixture(params=KINDS)
def url(request, tmp_path):
    """URL of an empty database with all tables."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("empty_file"), tmp_path / "judge.db")
        return f"sqlite:///{tmp_path}/judge.db"
    postgresql = request.getfixturevalue("postgresql")
    return postgresql.new_database(request.getfixturevalue("migrated"))


@pytest.fixture
def database(url):
    opened = Database(url)
    yield opened
    opened.close()
