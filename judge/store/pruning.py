"""Forgetting what is over and old, a piece at a time, so that nobody waits for it."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, exists, select
from sqlalchemy.orm import Session

from judge.store.database import Database
from judge.store.models import Attempt, CaseResult, Event, Measurement, RequestKey, Source, Submission

PIECE = 200


def prunable(session: Session, before: float) -> Sequence[str]:
    """Ids of the submissions that were over before a moment, the oldest first."""
    return session.scalars(select(Submission.id).where(*_old(before)).order_by(Submission.number)).all()


def prune(database: Database, before: float) -> int:
    """Delete submissions that were over before a moment, with all that hangs on them; gives how many.

    Each piece is a transaction of its own. What was sent to be judged again meanwhile stays, and so does a source
    that another submission has. Raises StoreUnavailable; what was deleted until then is gone.
    """
    with database.read() as session:
        ids = prunable(session, before)
    count = 0
    for start in range(0, len(ids), PIECE):
        with database.write() as session:
            count += _prune(session, ids[start : start + PIECE], before)
    return count


def _old(before: float) -> tuple[ColumnElement[bool], ...]:
    return Submission.finished_at < before, Submission.state.in_(("done", "cancelled"))


def _prune(session: Session, ids: Sequence[str], before: float) -> int:
    still = select(Submission.id, Submission.source_sha256).where(Submission.id.in_(ids), *_old(before))
    rows = session.execute(still.with_for_update()).all()
    gone = [row[0] for row in rows]
    for table in (Measurement, CaseResult, Event, RequestKey, Attempt):
        session.execute(delete(table).where(table.submission_id.in_(gone)))
    session.execute(delete(Submission).where(Submission.id.in_(gone)))
    used = exists().where(Submission.source_sha256 == Source.sha256)
    session.execute(delete(Source).where(Source.sha256.in_({row[1] for row in rows}), ~used))
    return len(gone)
