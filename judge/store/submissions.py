"""Storing submissions and reading them back."""

import hashlib
import itertools
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, delete, func, insert, select, tuple_
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from judge.store.models import Attempt, Base, Event, ProblemVersion, RequestKey, Source, Submission, User
from judge.store.queue import PRIORITY_FULL, PRIORITY_SAMPLE, created_row, in_state, next_turn
from judge.store.seeds import draw_seed

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
    [made] = create_many(session, [(new, key)], room, stored)
    if not isinstance(made, Created):
        raise made
    return made.submission, made.fresh


def create_many(
    session: Session, requests: Sequence[tuple[NewSubmission, Key | None]], room: Room, stored: Stored | None = None
) -> list[Created | Refused]:
    """Store submissions in one transaction, with as few statements for many as for one; what came of each, in order.

    No key may come twice for one user. stored: what else belongs into the transaction, called with those that are
    fresh. Raises IntegrityError when another transaction stored one of the keys a moment ago.
    """
    now = time.time()
    desk = _Desk(session, room)
    results: list[Created | Refused | None] = []
    made: list[tuple[int, Submission, Key | None]] = []
    sources: dict[str, bytes] = {}
    for new, key in requests:
        known = None if key is None else _known_key(session, new.user_id, key, now)
        refused = known if isinstance(known, KeyReused) else None if known else desk.refusal(new)
        if refused is not None:
            results.append(refused)
        elif isinstance(known, Submission):
            results.append(Created(known, False, position(session, known)))
        else:
            digest = hashlib.sha256(new.source).hexdigest()
            sources[digest] = new.source
            made.append((len(results), _fresh(new, digest, desk.turn(new), now), key))
            results.append(None)
    fresh = [submission for _, submission, _ in made]
    _insert(session, fresh, sources)
    keys = [
        {"user_id": one.user_id, "key": key[0], "body_sha256": key[1], "submission_id": one.id, "created_at": now}
        for _, one, key in made
        if key is not None
    ]
    if keys:
        # A second request with the key that is not committed yet waits here, and then finds ours.
        session.execute(insert(_table(RequestKey)), keys)
    if stored is not None and fresh:
        stored(session, fresh)
    places = _places(session, fresh)
    for at, submission, _ in made:
        results[at] = Created(submission, True, places[submission.id])
    return [result for result in results if result is not None]


class _Desk:
    """Room and turns of those who come in one transaction: each is asked for once, and then counted on."""

    def __init__(self, session: Session, room: Room) -> None:
        self._session = session
        self._room = room
        self._total: int | None = None
        self._own: dict[str, int] = {}
        self._turns: dict[tuple[str, str, int], int] = {}

    def refusal(self, new: NewSubmission) -> QueueFull | None:
        """None when there is room, which is then taken."""
        if new.user_id not in self._own:
            mine = (Submission.user_id == new.user_id, in_state("queued", "running"))
            self._own[new.user_id] = self._session.scalar(select(func.count()).where(*mine)) or 0
        if self._own[new.user_id] >= self._room.of_user:
            return QueueFull(self._own[new.user_id], own=True)
        if self._total is None:
            waiting = select(func.count()).select_from(Submission).where(in_state("queued"))
            self._total = self._session.scalar(waiting) or 0
        if self._total >= self._room.total:
            return QueueFull(self._total, own=False)
        self._own[new.user_id] += 1
        self._total += 1
        return None

    def turn(self, new: NewSubmission) -> int:
        place = (new.user_id, new.queue, _priority(new))
        known = self._turns.get(place)
        self._turns[place] = next_turn(self._session, *place) if known is None else known + 1
        return self._turns[place]


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


def _table(model: type[Base]) -> Table:
    return Base.metadata.tables[model.__tablename__]


_COLUMNS = tuple(column.name for column in _table(Submission).columns if column.name != "number")


def _insert(session: Session, fresh: Sequence[Submission], sources: dict[str, bytes]) -> None:
    """Rows of new submissions, their sources and first events. Sets the number of each."""
    if not fresh:
        return
    # In one order everywhere: two transactions that insert the same sources the other way round would never end.
    texts = [{"sha256": digest, "data": sources[digest]} for digest in sorted(sources)]
    session.execute(_maker(session)(_table(Source)).on_conflict_do_nothing(), texts)
    table = _table(Submission)
    rows = [{name: getattr(one, name) for name in _COLUMNS} for one in fresh]
    numbers = {row.id: row.number for row in session.execute(insert(table).returning(table.c.id, table.c.number), rows)}
    for one in fresh:
        one.number = numbers[one.id]
    session.execute(insert(_table(Event)), [created_row(one) for one in fresh])


def _places(session: Session, fresh: Sequence[Submission]) -> dict[str, int]:
    """The place of each in its queue: how many are before the first, and who waits from there to the last."""
    places: dict[str, int] = {}
    for _, members in itertools.groupby(sorted(fresh, key=_order), key=lambda one: (one.queue, one.priority)):
        first, *rest = members
        last = rest[-1] if rest else first
        between = select(Submission.number).where(
            Submission.queue == first.queue,
            in_state("queued"),
            Submission.priority == first.priority,
            tuple_(Submission.turn, Submission.number) >= (first.turn, first.number),
            tuple_(Submission.turn, Submission.number) <= (last.turn, last.number),
        )
        numbers = session.scalars(between.order_by(Submission.turn, Submission.number)) if rest else [first.number]
        start = position(session, first) or 1
        by_number = {number: place for place, number in enumerate(numbers, start)}
        places |= {one.id: by_number[one.number] for one in (first, *rest)}
    return places


def _order(one: Submission) -> tuple[str, int, int, int]:
    return one.queue, one.priority, one.turn, one.number


def _known_key(session: Session, user_id: str, key: Key, now: float) -> Submission | KeyReused | None:
    known = session.get(RequestKey, (user_id, key[0]))
    if known is None:
        return None
    if now - known.created_at > KEY_LIFETIME_S:
        session.delete(known)
        session.flush()
        return None
    if known.body_sha256 != key[1]:
        return KeyReused()
    return session.scalars(select(Submission).where(Submission.id == known.submission_id)).one()


def _maker(session: Session) -> Callable[[Any], Any]:
    return sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert


def note_problem(session: Session, problem_id: str, version: str, title: str) -> None:
    """Remember that a problem was served in this version."""
    row = {"problem_id": problem_id, "version": version, "title": title, "seen_at": time.time()}
    session.execute(_maker(session)(_table(ProblemVersion)).values(row).on_conflict_do_nothing())


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
