"""The index of what a user has open tells all that is asked of it without a look into the table."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NAME = "ix_submissions_open_of_user"


def upgrade() -> None:
    op.drop_index(NAME, "submissions")
    op.create_index(
        NAME,
        "submissions",
        ["user_id", "queue", "priority", "turn"],
        unique=False,
        sqlite_where=sa.text("state IN ('queued', 'running')"),
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
