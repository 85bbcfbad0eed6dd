"""What the tests of the pages share: a site for each test, with the problems loaded once."""

import shutil

import pytest

from judge.catalogue import find_problems, load_problem
from judge.store.database import Database
from judge.store.schema import migrate
from tests.web.site import opened


@pytest.fixture(scope="session")
def problems():
    return {name: load_problem(name) for name in find_problems()}


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory):
    """A SQLite database with all tables and nothing in them, to be copied."""
    path = tmp_path_factory.mktemp("store") / "empty.db"
    database = Database(f"sqlite:///{path}")
    migrate(database)
    database.close()
    return path


@pytest.fixture
def url(empty_file, tmp_path):
    shutil.copy(empty_file, tmp_path / "judge.db")
    return f"sqlite:///{tmp_path}/judge.db"


@pytest.fixture
def site(url, problems):
    with opened(url, problems) as found:
        yield found


@pytest.fixture
def strict_site(url, problems):
    """One that asks for a token."""
    with opened(url, problems, login=True) as found:
        yield found
