"""The tables of the store.

A submission goes through these states, and every change of state is one named statement in judge.store.queue:

    queued -> running            an attempt is claimed; attempt numbers count up and never come back
    running -> done              the attempt that runs wrote its report
    running -> queued            the attempt was lost or given back; the next one gets the next number
    queued, running -> cancelled someone asked for it
    done, cancelled -> queued    a rejudge; the reports of earlier attempts stay

Moments are seconds since 1970 in UTC. They are shown and sorted by, but no decision hangs on them: a lease is
held by a beat that goes on (judge.store.leases), so a clock that jumps takes nothing from anybody.
"""

from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Text, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# SQLite counts up by itself only in a column that is exactly INTEGER.
_Counter = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {dict[str, Any]: JSON, list[str]: JSON}


class User(Base):
    __tablename__ = "users"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[float]


class Token(Base):
    """digest: SHA-256 of the token in hex; the token itself is shown once and never stored.

    made_with: id of the token that made it, with which it ends; None for one that the operator made.
    """

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    label: Mapped[str] = mapped_column(String(64), default="")
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[str]]
    created_at: Mapped[float]
    expires_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
    made_with: Mapped[str | None] = mapped_column(String(12), index=True)
    used_at: Mapped[float | None]


class ProblemVersion(Base):
    __tablename__ = "problem_versions"

    problem_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    version: Mapped[str] = mapped_column(String(12), primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    seen_at: Mapped[float]


class Source(Base):
    """Sources by their SHA-256, so that the same text takes its place once."""

    __tablename__ = "sources"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class Submission(Base):
    """number: the order of arrival, which pages of a list go by. turn: the place in the fair queue.

    faults: attempts that ended by the judge's or the machine's fault. events: number of the last event.
    seed: of the inputs of every attempt; None in rows of older judges, which drew one for each.
    verdict, message, report_attempt: those of the last attempt that was finished, kept during a rejudge.
    """

    __tablename__ = "submissions"

    number: Mapped[int] = mapped_column(_Counter, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    problem_id: Mapped[str] = mapped_column(String(64))
    problem_version: Mapped[str] = mapped_column(String(12))
    source_sha256: Mapped[str] = mapped_column(ForeignKey("sources.sha256"))
    name: Mapped[str] = mapped_column(String(255))
    backend: Mapped[str] = mapped_column(String(8))
    device: Mapped[str | None] = mapped_column(String(64))
    cases: Mapped[str] = mapped_column(String(8))
    visibility: Mapped[str] = mapped_column(String(8))
    seed: Mapped[int | None] = mapped_column(BigInteger)
    queue: Mapped[str] = mapped_column(String(64))
    priority: Mapped[int]
    turn: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(String(9))
    attempt: Mapped[int] = mapped_column(default=0)
    faults: Mapped[int] = mapped_column(default=0)
    events: Mapped[int] = mapped_column(default=0)
    verdict: Mapped[str | None] = mapped_column(String(20))
    message: Mapped[str | None] = mapped_column(Text)
    report_attempt: Mapped[int | None]
    created_at: Mapped[float]
    queued_at: Mapped[float]
    started_at: Mapped[float | None]
    finished_at: Mapped[float | None]

    __table_args__ = (
        # Partial: what is done is never looked for by state, and a queue of none stays an index of none.
        Index(
            "ix_submissions_waiting",
            "queue",
            "priority",
            "turn",
            "number",
            sqlite_where=text("state = 'queued'"),
            postgresql_where=text("state = 'queued'"),
        ),
        Index(
            "ix_submissions_open_of_user",
            "user_id",
            "queue",
            "priority",
            "turn",
            sqlite_where=text("state IN ('queued', 'running')"),
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
        Index("ix_submissions_of_user", "user_id", "number"),
        Index("ix_submissions_of_user_problem", "user_id", "problem_id", "number"),
        Index("ix_submissions_public", "visibility", "number"),
        Index("ix_submissions_source", "source_sha256"),
    )


class Attempt(Base):
    """One try at a submission. beat: counted up by whoever holds it; report: the JSON report of its end."""

    __tablename__ = "attempts"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(String(9))
    worker: Mapped[str] = mapped_column(String(128))
    beat: Mapped[int] = mapped_column(BigInteger, default=0)
    problem_version: Mapped[str | None] = mapped_column(String(12))
    started_at: Mapped[float]
    finished_at: Mapped[float | None]
    verdict: Mapped[str | None] = mapped_column(String(20))
    report: Mapped[str | None] = mapped_column(Text)
    incident: Mapped[str | None] = mapped_column(String(64))
    reason: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        Index(
            "ix_attempts_running",
            "worker",
            sqlite_where=text("state = 'running'"),
            postgresql_where=text("state = 'running'"),
        ),
    )


class CaseResult(Base):
    __tablename__ = "case_results"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(128))
    group: Mapped[str] = mapped_column(String(8))
    backend: Mapped[str] = mapped_column(String(4))
    verdict: Mapped[str] = mapped_column(String(20))
    seconds: Mapped[float]


class Event(Base):
    """number: counts from 1 within a submission, without gaps, through all its attempts."""

    __tablename__ = "events"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    kind: Mapped[str] = mapped_column(String(20))
    data: Mapped[dict[str, Any]]
    created_at: Mapped[float]


class Measurement(Base):
    """The timing of one bench case on one device, for leaderboards. best: of its user, problem, version and device."""

    __tablename__ = "measurements"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    case: Mapped[str] = mapped_column(String(128), primary_key=True)
    problem_id: Mapped[str] = mapped_column(String(64))
    problem_version: Mapped[str] = mapped_column(String(12))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    device: Mapped[str] = mapped_column(String(128))
    accepted: Mapped[bool]
    median_us: Mapped[float]
    p10_us: Mapped[float]
    p90_us: Mapped[float]
    rel_ci95: Mapped[float]
    noisy: Mapped[bool]
    bandwidth_gbs: Mapped[float | None]
    roofline_fraction: Mapped[float | None]
    measured_at: Mapped[float]

    __table_args__ = (
        Index("ix_measurements_board", "problem_id", "device", "case", "accepted", "median_us"),
        Index("ix_measurements_of_user", "user_id", "problem_id", "measured_at"),
    )


class Device(Base):
    """A CPU lane or a GPU of one worker; roofs: measured on it. state: starting, ready, quarantined or gone."""

    __tablename__ = "devices"

    id: Mapped[str] = mapped_column(String(160), primary_key=True)
    worker: Mapped[str] = mapped_column(String(128), index=True)
    queues: Mapped[list[str]]
    kind: Mapped[str] = mapped_column(String(4))
    name: Mapped[str] = mapped_column(String(128))
    arch: Mapped[str] = mapped_column(String(16))
    isolation: Mapped[str] = mapped_column(String(10))
    state: Mapped[str] = mapped_column(String(11))
    reason: Mapped[str] = mapped_column(Text, default="")
    roofs: Mapped[dict[str, Any]]
    beat: Mapped[int] = mapped_column(BigInteger, default=0)
    started_at: Mapped[float]
    seen_at: Mapped[float]
    judged_at: Mapped[float | None]


class RequestKey(Base):
    """An Idempotency-Key: which request it stood for and which submission came of it."""

    __tablename__ = "request_keys"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(String(64))
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"))
    created_at: Mapped[float] = mapped_column(index=True)


class Tally(Base):
    """What was counted since the store was made: verdicts, faults, and times by their bucket, for the metrics."""

    __tablename__ = "tallies"

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    label: Mapped[str] = mapped_column(String(64), primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)
    total: Mapped[float]
