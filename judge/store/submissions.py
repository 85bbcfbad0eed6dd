"""Storing submissions and reading them back."""

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from judge.store.desk import Desk, QueueFull, Room
from judge.store.entering import enter
from judge.store.models import Attempt, Event, ProblemVersion, RequestKey, Source, Submission, User
from judge.store.queue import PRIORITY_FULL, PRIORITY_SAMPLE, in_state
from judge.store.seeds import draw_seed
from judge.store.together import Together

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


class KeyReused(Exception):  # noqa: N818 - a mistake of the caller's
    """The Idempotency-Key stood for another request."""


@dataclass(frozen=True)
class Created:
    """A submission that was stored, as a copy that no session follows.

    fresh: False when its key had been used for the same request before. place: its place in the queue, 1 is next,
    None when it no longer waits.
    """

    submission: Submission
    fresh: bool
    place: int | None


Refused = QueueFull | KeyReused
Key = tuple[str, str]
"""An Idempotency-Key and the SHA-256 of the body it stands for."""

Stored = Callable[[Session, Sequence[Submission]], None]


def create(
    session: Session, new: NewSubmission, room: Room, key: Key | None = None, stored: Stored | None = None
) -> tuple[Submission, bool]:
    """As create_many() with one; the submission and whether it is fresh. Raises QueueFull, KeyReused."""
    [made] = create_many(session, Desk(session, room, {new.user_id}), [(new, key)], stored)
    if not isinstance(made, Created):
        raise made
    return made.submission, made.fresh


def create_many(
    session: Session, desk: Desk, requests: Sequence[tuple[NewSubmission, Key | None]], stored: Stored | None = None
) -> list[Created | Refused]:
    """Store submissions in one transaction, with as few statements for many as for one; what came of each, in order.

    desk: of this transaction, which knows all their users. No key may come twice for one user. stored: what else
    belongs into the transaction, called with those that are fresh. Raises IntegrityError when another transaction
    stored one of the keys a moment ago.
    """
    now = time.time()
    known = _known_keys(session, requests, now)
    results: list[Created | Refused | None] = []
    made: list[tuple[int, Submission, Key | None]] = []
    sources: dict[str, bytes] = {}
    for new, key in requests:
        earlier = None if key is None else known.get((new.user_id, key[0]))
        refused = desk.refusal(new.user_id) if earlier is None else None
        if key is not None and earlier is not None:
            results.append(_replayed(session, earlier, key))
        elif refused is not None:
            results.append(refused)
        else:
            digest = hashlib.sha256(new.source).hexdigest()
            sources[digest] = new.source
            turn = desk.turn(new.user_id, new.queue, _priority(new))
            made.append((len(results), _fresh(new, digest, turn, now), key))
            results.append(None)
    fresh = [submission for _, submission, _ in made]
    keys = [
        {"user_id": one.user_id, "key": key[0], "body_sha256": key[1], "submission_id": one.id, "created_at": now}
        for _, one, key in made
        if key is not None
    ]
    if fresh:
        with Together(session) as together:
            places = desk.ask_places(together, fresh)
            # A second request with a key that is not committed yet waits here, and then finds ours.
            numbers = enter(session, together, fresh, sources, keys)
            if stored is not None:
                stored(session, fresh)
        place_of, number_of = places(), numbers()
        for at, submission, _ in made:
            submission.number = number_of[submission.id]
            results[at] = Created(submission, True, place_of[submission.id])
    return [result for result in results if result is not None]


def _priority(new: NewSubmission) -> int:
    return PRIORITY_SAMPLE if new.cases == "sample" else PRIORITY_FULL


def _fresh(new: NewSubmission, digest: str, turn: int, now: float) -> Submission:
    return Submission(
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
        seed=draw_seed() if new.seed is None else new.seed,
        queue=new.queue,
        priority=_priority(new),
        turn=turn,
        state="queued",
        attempt=0,
        faults=0,
        events=1,
        created_at=now,
        queued_at=now,
    )


def _known_keys(
    session: Session, requests: Sequence[tuple[NewSubmission, Key | None]], now: float
) -> dict[tuple[str, str], RequestKey]:
    """The keys among these that stand for a request, by their user; those that are too old are forgotten."""
    keys = {key[0] for _, key in requests if key is not None}
    if not keys:
        return {}
    users = {new.user_id for new, key in requests if key is not None}
    known: dict[tuple[str, str], RequestKey] = {}
    wanted = select(RequestKey).where(RequestKey.user_id.in_(sorted(users)), RequestKey.key.in_(sorted(keys)))
    for one in session.scalars(wanted):
        if now - one.created_at > KEY_LIFETIME_S:
            session.delete(one)
        else:
            known[one.user_id, one.key] = one
    session.flush()
    return known


def _replayed(session: Session, known: RequestKey, key: Key) -> Created | KeyReused:
    if known.body_sha256 != key[1]:
        return KeyReused()
    submission = session.scalars(select(Submission).where(Submission.id == known.submission_id)).one()
    return Created(submission, False, position(session, submission))


def _maker(session: Session) -> Callable[[Any], Any]:
    return sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert


def note_problem(session: Session, problem_id: str, version: str, title: str) -> None:
    """Remember that a problem was served in this version."""
    row = {"problem_id": problem_id, "version": version, "title": title, "seen_at": time.time()}
    session.execute(_maker(session)(ProblemVersion).values(row).on_conflict_do_nothing())


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


def attempts_of(session: Session, submission_id: str, last: int | None = None) -> Sequence[Attempt]:
    """From the first on. last: only so many, the newest."""
    query = select(Attempt).where(Attempt.submission_id == submission_id).order_by(Attempt.number.desc()).limit(last)
    return session.scalars(query).all()[::-1]


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
