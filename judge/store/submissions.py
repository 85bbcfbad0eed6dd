"""Storing submissions and reading them back."""

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from judge.store.models import Attempt, Event, ProblemVersion, RequestKey, Source, Submission, User
from judge.store.queue import PRIORITY_FULL, PRIORITY_SAMPLE, append_created, in_state, next_turn

KEY_LIFETIME_S = 24 * 3600.0


@dataclass(frozen=True)
class NewSubmission:
    user_id: str
    problem_id: str
    problem_version: str
    source: bytes
    name: str
    backend: str
    device: str | None
    cases: str
    visibility: str
    seed: int | None
    queue: str


class QueueFull(Exception):  # noqa: N818 - a state, not an error
    """No more may wait. own: it is the user's own share that is used up."""

    def __init__(self, waiting: int, *, own: bool) -> None:
        super().__init__(f"{waiting} submissions wait")
        self.waiting = waiting
        self.own = own


class KeyReused(Exception):  # noqa: N818 - a mistake of the caller's
    """The Idempotency-Key stood for another request."""


@dataclass(frozen=True)
class Room:
    """How many may wait: in all, and of one user."""

    total: int = 10_000
    of_user: int = 1_000


def create(
    session: Session,
    new: NewSubmission,
    room: Room,
    key: tuple[str, str] | None = None,
    stored: Callable[[Session, Submission], None] | None = None,
) -> tuple[Submission, bool]:
    """Store a submission; False beside it when its key had been used for the same request before.

    key: the Idempotency-Key and the SHA-256 of the body. stored: what else belongs into the transaction.
    Raises QueueFull, KeyReused.
    """
    now = time.time()
    if key is not None:
        known = _known_key(session, new.user_id, key, now)
        if known is not None:
            return known, False
    _check_room(session, new, room)
    digest = hashlib.sha256(new.source).hexdigest()
    _insert_or_ignore(session, Source, sha256=digest, data=new.source)
    submission = Submission(
        id=secrets.token_hex(16),
        user_id=new.user_id,
        problem_id=new.problem_id,
        problem_version=new.problem_version,
        source_sha256=digest,
        name=new.name,
        backend=new.backend,
        device=new.device,
        cases=new.cases,
        visibility=new.visibility,
        seed=new.seed,
        queue=new.queue,
        priority=PRIORITY_SAMPLE if new.cases == "sample" else PRIORITY_FULL,
        state="queued",
        attempt=0,
        faults=0,
        events=0,
        created_at=now,
        queued_at=now,
    )
    submission.turn = next_turn(session, new.user_id, new.queue, submission.priority)
    session.add(submission)
    session.flush()
    append_created(session, submission)
    if key is not None:
        # A second request with the key that is not committed yet waits here, and then finds ours.
        session.add(
            RequestKey(user_id=new.user_id, key=key[0], body_sha256=key[1], submission_id=submission.id, created_at=now)
        )
        session.flush()
    if stored is not None:
        stored(session, submission)
    return submission, True


def _known_key(session: Session, user_id: str, key: tuple[str, str], now: float) -> Submission | None:
    known = session.get(RequestKey, (user_id, key[0]))
    if known is None:
        return None
    if now - known.created_at > KEY_LIFETIME_S:
        session.delete(known)
        session.flush()
        return None
    if known.body_sha256 != key[1]:
        raise KeyReused
    return session.scalars(select(Submission).where(Submission.id == known.submission_id)).one()


def _check_room(session: Session, new: NewSubmission, room: Room) -> None:
    own = session.scalar(select(func.count()).where(Submission.user_id == new.user_id, in_state("queued", "running")))
    if (own or 0) >= room.of_user:
        raise QueueFull(own or 0, own=True)
    waiting = session.scalar(select(func.count()).select_from(Submission).where(in_state("queued")))
    if (waiting or 0) >= room.total:
        raise QueueFull(waiting or 0, own=False)


def _insert_or_ignore(session: Session, table: type[Source] | type[ProblemVersion], **values: object) -> None:
    maker = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert
    session.execute(maker(table).values(**values).on_conflict_do_nothing())


def note_problem(session: Session, problem_id: str, version: str, title: str) -> None:
    """Remember that a problem was served in this version."""
    _insert_or_ignore(session, ProblemVersion, problem_id=problem_id, version=version, title=title, seen_at=time.time())


def find(session: Session, submission_id: str) -> tuple[Submission, str] | None:
    """A submission and the name of its user."""
    row = session.execute(
        select(Submission, User.name).join(User, User.id == Submission.user_id).where(Submission.id == submission_id)
    ).first()
    return None if row is None else (row[0], row[1])


def set_visibility(session: Session, submission: Submission, visibility: str) -> None:
    """private, unlisted or public, from now on."""
    submission.visibility = visibility


def solved(session: Session, user_id: str) -> set[str]:
    """Problems that a user has an accepted submission to."""
    query = select(Submission.problem_id).where(
        Submission.user_id == user_id, Submission.verdict == "accepted", Submission.cases == "all"
    )
    return set(session.scalars(query.distinct()))


def source_of(session: Session, submission: Submission) -> bytes:
    return session.get_one(Source, submission.source_sha256).data


def report_of(session: Session, submission: Submission, attempt: int | None = None) -> str | None:
    """The JSON report of an attempt, of the last finished one when None is named."""
    number = submission.report_attempt if attempt is None else attempt
    if number is None:
        return None
    found = session.get(Attempt, (submission.id, number))
    return None if found is None else found.report


def attempts_of(session: Session, submission_id: str) -> Sequence[Attempt]:
    return session.scalars(select(Attempt).where(Attempt.submission_id == submission_id).order_by(Attempt.number)).all()


def events_after(session: Session, submission_id: str, number: int, limit: int = 200) -> Sequence[Event]:
    return session.scalars(
        select(Event)
        .where(Event.submission_id == submission_id, Event.number > number)
        .order_by(Event.number)
        .limit(limit)
    ).all()


def page(
    session: Session,
    *,
    user_id: str | None,
    problem_id: str | None = None,
    state: str | None = None,
    verdict: str | None = None,
    before: int | None = None,
    limit: int = 20,
) -> Sequence[tuple[Submission, str]]:
    """Submissions from the newest back, those of a user or the public ones when user_id is None."""
    query = select(Submission, User.name).join(User, User.id == Submission.user_id)
    query = query.where(Submission.user_id == user_id if user_id is not None else Submission.visibility == "public")
    for column, value in (
        (Submission.problem_id, problem_id),
        (Submission.state, state),
        (Submission.verdict, verdict),
    ):
        if value is not None:
            query = query.where(column == value)
    if before is not None:
        query = query.where(Submission.number < before)
    return [(row[0], row[1]) for row in session.execute(query.order_by(Submission.number.desc()).limit(limit))]


def position(session: Session, submission: Submission) -> int | None:
    """How many will be judged before it in its queue, plus one; None when it does not wait."""
    if submission.state != "queued":
        return None
    ahead = session.scalar(
        select(func.count()).where(
            Submission.queue == submission.queue,
            in_state("queued"),
            (Submission.priority < submission.priority)
            | (
                (Submission.priority == submission.priority)
                & (
                    (Submission.turn < submission.turn)
                    | ((Submission.turn == submission.turn) & (Submission.number < submission.number))
                )
            ),
        )
    )
    return (ahead or 0) + 1


def waiting_by_queue(session: Session) -> Sequence[tuple[str, int, float]]:
    """Queue, how many wait in it, and since when the longest of them."""
    rows = session.execute(
        select(Submission.queue, func.count(), func.min(Submission.queued_at))
        .where(in_state("queued"))
        .group_by(Submission.queue)
    )
    return [(queue, count, since) for queue, count, since in rows]


def changes(session: Session, ids: Sequence[str]) -> dict[str, tuple[str, int]]:
    """State and number of the last event of each submission."""
    rows = session.execute(select(Submission.id, Submission.state, Submission.events).where(Submission.id.in_(ids)))
    return {row[0]: (row[1], row[2]) for row in rows}


def forget_old_keys(session: Session) -> None:
    session.execute(delete(RequestKey).where(RequestKey.created_at < time.time() - KEY_LIFETIME_S))


def prune(session: Session, before: float) -> int:
    """Delete submissions that were over before a moment, with all that hangs on them; gives how many."""
    from judge.store.models import CaseResult, Measurement

    old = select(Submission.id).where(Submission.finished_at < before, Submission.state.in_(("done", "cancelled")))
    ids = session.scalars(old).all()
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        for table in (Measurement, CaseResult, Event, RequestKey, Attempt):
            session.execute(delete(table).where(table.submission_id.in_(some)))
        session.execute(delete(Submission).where(Submission.id.in_(some)))
    used = select(Submission.source_sha256)
    session.execute(delete(Source).where(Source.sha256.not_in(used)))
    return len(ids)
