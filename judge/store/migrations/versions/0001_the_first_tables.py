"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "devices",
        sa.Column("id", sa.String(length=160), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=False),
        sa.Column("queues", sa.JSON(), nullable=False),
        sa.Column("kind", sa.String(length=4), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("arch", sa.String(length=16), nullable=False),
        sa.Column("isolation", sa.String(length=10), nullable=False),
        sa.Column("state", sa.String(length=11), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("roofs", sa.JSON(), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("judged_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_devices")),
    )
    with op.batch_alter_table("devices", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_devices_worker"), ["worker"], unique=False)

    op.create_table(
        "problem_versions",
        sa.Column("problem_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=12), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("problem_id", "version", name=op.f("pk_problem_versions")),
    )
    op.create_table(
        "sources",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_sources")),
    )
    op.create_table(
        "tallies",
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("label", sa.String(length=64), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "label", name=op.f("pk_tallies")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )
    op.create_table(
        "submissions",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("problem_id", sa.String(length=64), nullable=False),
        sa.Column("problem_version", sa.String(length=12), nullable=False),
        sa.Column("source_sha256", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("backend", sa.String(length=8), nullable=False),
        sa.Column("device", sa.String(length=64), nullable=True),
        sa.Column("cases", sa.String(length=8), nullable=False),
        sa.Column("visibility", sa.String(length=8), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("queue", sa.String(length=64), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("faults", sa.Integer(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(length=20), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("report_attempt", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("queued_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["source_sha256"], ["sources.sha256"], name=op.f("fk_submissions_source_sha256")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_submissions_user_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_submissions")),
        sa.UniqueConstraint("id", name=op.f("uq_submissions_id")),
    )
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.create_index("ix_submissions_of_user", ["user_id", "number"], unique=False)
        batch_op.create_index("ix_submissions_of_user_problem", ["user_id", "problem_id", "number"], unique=False)
        batch_op.create_index(
            "ix_submissions_open_of_user",
            ["user_id", "turn"],
            unique=False,
            sqlite_where=sa.text("state IN ('queued', 'running')"),
            postgresql_where=sa.text("state IN ('queued', 'running')"),
        )
        batch_op.create_index("ix_submissions_public", ["visibility", "number"], unique=False)
        batch_op.create_index("ix_submissions_source", ["source_sha256"], unique=False)
        batch_op.create_index(
            "ix_submissions_waiting",
            ["queue", "priority", "turn", "number"],
            unique=False,
            sqlite_where=sa.text("state = 'queued'"),
            postgresql_where=sa.text("state = 'queued'"),
        )

    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("label", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tokens_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tokens_user_id"), ["user_id"], unique=False)

    op.create_table(
        "attempts",
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("problem_version", sa.String(length=12), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.Column("verdict", sa.String(length=20), nullable=True),
        sa.Column("report", sa.Text(), nullable=True),
        sa.Column("incident", sa.String(length=64), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name=op.f("fk_attempts_submission_id")),
        sa.PrimaryKeyConstraint("submission_id", "number", name=op.f("pk_attempts")),
    )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index(
            "ix_attempts_running",
            ["worker"],
            unique=False,
            sqlite_where=sa.text("state = 'running'"),
            postgresql_where=sa.text("state = 'running'"),
        )

    op.create_table(
        "case_results",
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("group", sa.String(length=8), nullable=False),
        sa.Column("backend", sa.String(length=4), nullable=False),
        sa.Column("verdict", sa.String(length=20), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name=op.f("fk_case_results_submission_id")),
        sa.PrimaryKeyConstraint("submission_id", "attempt", "position", name=op.f("pk_case_results")),
    )
    op.create_table(
        "events",
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name=op.f("fk_events_submission_id")),
        sa.PrimaryKeyConstraint("submission_id", "number", name=op.f("pk_events")),
    )
    op.create_table(
        "measurements",
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("case", sa.String(length=128), nullable=False),
        sa.Column("problem_id", sa.String(length=64), nullable=False),
        sa.Column("problem_version", sa.String(length=12), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("device", sa.String(length=128), nullable=False),
        sa.Column("accepted", sa.Boolean(), nullable=False),
        sa.Column("median_us", sa.Double(), nullable=False),
        sa.Column("p10_us", sa.Double(), nullable=False),
        sa.Column("p90_us", sa.Double(), nullable=False),
        sa.Column("rel_ci95", sa.Double(), nullable=False),
        sa.Column("noisy", sa.Boolean(), nullable=False),
        sa.Column("bandwidth_gbs", sa.Double(), nullable=True),
        sa.Column("roofline_fraction", sa.Double(), nullable=True),
        sa.Column("measured_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name=op.f("fk_measurements_submission_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_measurements_user_id")),
        sa.PrimaryKeyConstraint("submission_id", "attempt", "case", name=op.f("pk_measurements")),
    )
    with op.batch_alter_table("measurements", schema=None) as batch_op:
        batch_op.create_index(
            "ix_measurements_board", ["problem_id", "device", "case", "accepted", "median_us"], unique=False
        )
        batch_op.create_index("ix_measurements_of_user", ["user_id", "problem_id", "measured_at"], unique=False)

    op.create_table(
        "request_keys",
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name=op.f("fk_request_keys_submission_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_request_keys_user_id")),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_request_keys")),
    )
    with op.batch_alter_table("request_keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_request_keys_created_at"), ["created_at"], unique=False)
