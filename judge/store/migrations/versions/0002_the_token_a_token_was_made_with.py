"""The token that a token was made with."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("made_with", sa.String(length=12), nullable=True))
    op.create_index(op.f("ix_tokens_made_with"), "tokens", ["made_with"], unique=False)
