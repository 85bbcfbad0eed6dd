"""Bringing a database to the tables this version of the judge works with."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from judge.errors import MachineError
from judge.store.database import Database

_LOCK = 0x6B6A5F6D
"""Any number; every judge takes the same one while it migrates a PostgreSQL."""


def migrate(database: Database) -> None:
    """Bring the tables to the newest version; harmless when they are. Two at once wait for each other.

    Raises MachineError when the database was made by a newer judge.
    """
    config = _config()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with database.engine.execution_options(writes=True).begin() as connection:
        if not database.sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        current = MigrationContext.configure(connection).get_current_revision()
        if current is not None and current not in known:
            raise MachineError(
                f"The database is at version {current}, which this judge does not know. Install the newer judge."
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def at_head(database: Database) -> bool:
    """Whether the tables are those of this version."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    with database.read() as session:
        return MigrationContext.configure(session.connection()).get_current_revision() == head


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config
