"""What Alembic runs for each migration; the connection and its transaction are judge.store.schema's."""

from alembic import context

from judge.store.models import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
context.run_migrations()
