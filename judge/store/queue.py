"""Who may judge what: every statement that decides it, each under a name with a sentence.

The fence: whoever judges holds a Lease, the number of an attempt. Each of its writes names that number and changes
nothing when the submission has gone on to another attempt or another state (StaleLease); so a worker that was
paused, or cut off from the database, may wake up whenever it likes.

Fair order: in a queue a submission's turn is one more than the last turn of its own user who still waits, and at
least one more than the turn the queue has come to. Who sends a hundred gets every second place beside one who
sends one.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, insert, literal, select, update
from sqlalchemy.orm import Session

from judge.records import Report
from judge.reports.style import inert
from judge.store.devices import note_roofs
from judge.store.models import Attempt, CaseResult, Event, Measurement, Source, Submission
from judge.store.parked import parked_report
from judge.store.seeds import draw_seed, kept_seed
from judge.store.tallies import bucket, count
from judge.verdict import Verdict

MAX_FAULTS = 3
"""So many attempts may end by a fault of ours; then the submission is parked as judge_error."""

PRIORITY_SAMPLE, PRIORITY_FULL, PRIORITY_REJUDGE = 0, 1, 2

EventLine = tuple[str, dict[str, Any], float]
"""Kind, data and moment of an event."""


class StaleLease(Exception):  # noqa: N818 - the news that the work is no longer wanted
    """The attempt is no longer the one that runs. What its holder found out is thrown away."""


@dataclass(frozen=True)
class Lease:
    submission_id: str
    attempt: int


@dataclass(frozen=True)
class Claimed:
    """A lease and all that is needed to work on it. source: the bytes as they were sent."""

    lease: Lease
    problem_id: str
    problem_version: str
    source: bytes
    name: str
    backend: str
    device: str | None
    cases: str
    seed: int | None
    faults: int


_NO_FAULT = "not the kernel's fault"


def in_state(*states: str) -> ColumnElement[bool]:
    """A condition on the state, spelled as in the partial indexes: a database cannot match a parameter with those."""
    spelled: list[Any] = [literal(state, literal_execute=True) for state in states]
    return Submission.state == spelled[0] if len(spelled) == 1 else Submission.state.in_(spelled)


def next_turn(session: Session, user_id: str, queue: str, priority: int) -> int:
    """The turn of a user's next submission in a queue."""
    here = (Submission.queue == queue, Submission.priority == priority)
    come_to = session.scalar(select(func.min(Submission.turn)).where(in_state("queued"), *here))
    own = session.scalar(
        select(func.max(Submission.turn)).where(Submission.user_id == user_id, in_state("queued", "running"), *here)
    )
    return max(come_to or 1, (own or 0) + 1)


def claim_next(session: Session, queues: Sequence[str], worker: str) -> Claimed | None:
    """Take the submission whose turn it is in any of the queues, if one waits."""
    best: Submission | None = None
    for queue in queues:
        order = (Submission.priority, Submission.turn, Submission.number)
        waiting = select(Submission).where(Submission.queue == queue, in_state("queued")).order_by(*order).limit(1)
        found = session.scalars(waiting.with_for_update(skip_locked=True)).first()
        if found is not None and (best is None or _place(found) < _place(best)):
            best = found
    return None if best is None else _claim(session, best, worker)


def claim(session: Session, submission_id: str, worker: str) -> Claimed | None:
    """Take one submission, if it still waits and nobody else is taking it."""
    waiting = select(Submission).where(Submission.id == submission_id, in_state("queued"))
    found = session.scalars(waiting.with_for_update(skip_locked=True)).first()
    return None if found is None else _claim(session, found, worker)


def _place(submission: Submission) -> tuple[int, int, int]:
    return submission.priority, submission.turn, submission.number


def _claim(session: Session, submission: Submission, worker: str) -> Claimed:
    now = time.time()
    lease = Lease(submission.id, submission.attempt + 1)
    submission.state = "running"
    submission.attempt = lease.attempt
    submission.started_at = now
    session.add(
        Attempt(submission_id=lease.submission_id, number=lease.attempt, state="running", worker=worker, started_at=now)
    )
    session.flush()
    _append(session, submission, [("started", {"worker": worker}, now)])
    source = session.get_one(Source, submission.source_sha256)
    return Claimed(
        lease,
        submission.problem_id,
        submission.problem_version,
        source.data,
        submission.name,
        submission.backend,
        submission.device,
        submission.cases,
        submission.seed,
        submission.faults,
    )


def _held(session: Session, lease: Lease) -> Submission:
    """The submission, locked, if the lease is still good. Raises StaleLease."""
    found = session.scalars(
        select(Submission)
        .where(Submission.id == lease.submission_id, Submission.attempt == lease.attempt, Submission.state == "running")
        .with_for_update()
    ).first()
    if found is None:
        raise StaleLease(f"attempt {lease.attempt} of {lease.submission_id} is over")
    return found


def _append(session: Session, submission: Submission, lines: Iterable[EventLine]) -> None:
    """Number the events and store them. The caller holds the row of the submission."""
    rows = []
    for kind, data, moment in lines:
        submission.events += 1
        rows.append(
            {
                "submission_id": submission.id,
                "number": submission.events,
                "attempt": submission.attempt,
                "kind": kind,
                "data": data,
                "created_at": moment,
            }
        )
    if rows:
        session.flush()
        session.execute(insert(Event), rows)


def created_row(submission: Submission) -> dict[str, Any]:
    """The first event of a submission, which says that it waits."""
    return {
        "submission_id": submission.id,
        "number": 1,
        "attempt": 0,
        "kind": "queued",
        "data": {"queue": submission.queue},
        "created_at": submission.queued_at,
    }


def beat(session: Session, lease: Lease, lines: Sequence[EventLine] = ()) -> None:
    """Say that the attempt goes on, and what happened meanwhile. Raises StaleLease."""
    submission = _held(session, lease)
    _append(session, submission, lines)
    session.execute(
        update(Attempt)
        .where(Attempt.submission_id == lease.submission_id, Attempt.number == lease.attempt)
        .values(beat=Attempt.beat + 1)
    )


def finish(session: Session, lease: Lease, report: Report, text: str, lines: Sequence[EventLine] = ()) -> None:
    """Store the report of an attempt and end it. text: the report as JSON. Raises StaleLease."""
    submission = _held(session, lease)
    now = time.time()
    attempt = session.get_one(Attempt, (lease.submission_id, lease.attempt))
    _end_attempt(attempt, "done", now, report.verdict, text, report.incident, None)
    attempt.problem_version = report.problem.version
    _settle(submission, lease.attempt, report.verdict, report.message, now)
    rows = [
        {
            "submission_id": lease.submission_id,
            "attempt": lease.attempt,
            "position": position,
            "name": case.name,
            "group": case.group,
            "backend": case.backend,
            "verdict": case.verdict.value,
            "seconds": case.seconds,
        }
        for position, case in enumerate(report.cases, start=1)
    ]
    if rows:
        session.execute(insert(CaseResult), rows)
    measured = _measurements(submission, lease, report, now)
    if measured:
        session.execute(insert(Measurement), measured)
        note_roofs(session, attempt.worker, report)
    done = {"verdict": report.verdict.value, "message": report.message, "incident": report.incident}
    _append(session, submission, [*lines, ("done", done, now)])
    waited = max(attempt.started_at - submission.queued_at, 0.0)
    took = max(now - attempt.started_at, 0.0)
    count(
        session,
        ("verdict", report.verdict.value, took),
        ("wait", bucket(waited), waited),
        ("run", bucket(took), took),
    )


def _measurements(submission: Submission, lease: Lease, report: Report, now: float) -> list[dict[str, Any]]:
    devices = {backend.kind: backend.device for backend in report.backends}
    return [
        {
            "submission_id": lease.submission_id,
            "attempt": lease.attempt,
            "case": case.name,
            "problem_id": submission.problem_id,
            "problem_version": report.problem.version,
            "user_id": submission.user_id,
            "device": devices.get(case.backend, ""),
            "accepted": report.verdict is Verdict.ACCEPTED,
            "median_us": case.timing.median_us,
            "p10_us": case.timing.p10_us,
            "p90_us": case.timing.p90_us,
            "rel_ci95": case.timing.rel_ci95,
            "noisy": case.timing.noisy,
            "bandwidth_gbs": case.bandwidth_gbs,
            "roofline_fraction": case.roofline_fraction,
            "measured_at": now,
        }
        for case in report.cases
        if case.timing is not None
    ]


def give_back(session: Session, lease: Lease, reason: str) -> None:
    """Let another worker have it, at nobody's fault: the worker drains, or its device broke. Raises StaleLease."""
    submission = _held(session, lease)
    _again(session, submission, "returned", reason, None, None)


def fail(session: Session, lease: Lease, reason: str, incident: str | None, text: str | None = None) -> bool:
    """End an attempt by a fault of ours; the next one follows, or the submission is parked as judge_error.

    text: the JSON of the attempt's own report, where it has one. True when it was parked. Raises StaleLease.
    """
    return _fault(session, _held(session, lease), "failed", reason, incident, text)


def lose(session: Session, lease: Lease, seen_beat: int, reason: str) -> bool:
    """End an attempt whose holder gave no sign of life since seen_beat. False when it did, or has ended."""
    try:
        submission = _held(session, lease)
    except StaleLease:
        return False
    attempt = session.get_one(Attempt, (lease.submission_id, lease.attempt))
    if attempt.beat != seen_beat:
        return False
    _fault(session, submission, "lost", reason, None, None)
    return True


def _fault(
    session: Session, submission: Submission, how: str, reason: str, incident: str | None, text: str | None
) -> bool:
    submission.faults += 1
    count(session, ("fault", how, 0.0))
    if submission.faults < MAX_FAULTS:
        _again(session, submission, how, reason, incident, text)
        return False
    now = time.time()
    source = session.get_one(Source, submission.source_sha256)
    told = f"{reason}." if _NO_FAULT in reason else f"{reason}; this is {_NO_FAULT}."
    message = f"The judge failed {submission.faults} times on this submission: {told}"
    incident = incident or f"{submission.id[:10]}-{submission.attempt}"
    if text is None:
        text = parked_report(submission, len(source.data), message, incident)
    attempt = session.get_one(Attempt, (submission.id, submission.attempt))
    _end_attempt(attempt, how, now, Verdict.JUDGE_ERROR, text, incident, reason)
    _settle(submission, submission.attempt, Verdict.JUDGE_ERROR, message, now)
    done = {"verdict": Verdict.JUDGE_ERROR.value, "message": message, "incident": incident}
    _append(session, submission, [("done", done, now)])
    count(session, ("verdict", Verdict.JUDGE_ERROR.value, 0.0))
    return True


def _again(
    session: Session, submission: Submission, how: str, reason: str, incident: str | None, text: str | None
) -> None:
    now = time.time()
    verdict = Verdict.JUDGE_ERROR if text is not None else None
    attempt = session.get_one(Attempt, (submission.id, submission.attempt))
    _end_attempt(attempt, how, now, verdict, text, incident, reason)
    # Its turn stays, so it is the first of its queue again.
    submission.state = "queued"
    submission.queued_at = now
    submission.started_at = None
    _append(session, submission, [("requeued", {"reason": reason, "incident": incident}, now)])


def _end_attempt(
    attempt: Attempt,
    state: str,
    now: float,
    verdict: Verdict | None,
    text: str | None,
    incident: str | None,
    reason: str | None,
) -> None:
    attempt.state = state
    attempt.finished_at = now
    attempt.verdict = None if verdict is None else verdict.value
    attempt.report = text
    attempt.incident = incident
    attempt.reason = reason


def _settle(submission: Submission, attempt: int, verdict: Verdict, message: str, now: float) -> None:
    submission.state = "done"
    submission.verdict = verdict.value
    # Words of a compiler may hold what a database takes no text for.
    submission.message = inert(message)
    submission.report_attempt = attempt
    submission.finished_at = now


def cancel(session: Session, submission_id: str) -> bool:
    """Stop a submission in any state; its worker notices at its next beat. False when it was over already."""
    submission = _locked(session, submission_id)
    if submission is None or submission.state not in {"queued", "running"}:
        return False
    now = time.time()
    if submission.state == "running":
        attempt = session.get_one(Attempt, (submission.id, submission.attempt))
        _end_attempt(attempt, "cancelled", now, None, None, None, "cancelled by request")
    submission.state = "cancelled"
    submission.finished_at = now
    _append(session, submission, [("cancelled", {}, now)])
    return True


def rejudge(session: Session, submission_id: str, *, new_seed: bool = False) -> bool:
    """Judge once more what is over; its reports so far stay. False when it waits or runs already.

    new_seed: with other inputs than before.
    """
    submission = _locked(session, submission_id)
    if submission is None or submission.state in {"queued", "running"}:
        return False
    now = time.time()
    submission.seed = draw_seed() if new_seed else kept_seed(session, submission)
    submission.priority = PRIORITY_REJUDGE
    submission.turn = next_turn(session, submission.user_id, submission.queue, PRIORITY_REJUDGE)
    submission.state = "queued"
    submission.faults = 0
    submission.queued_at = now
    submission.started_at = None
    submission.finished_at = None
    _append(session, submission, [("queued", {"queue": submission.queue, "rejudge": True, "new_seed": new_seed}, now)])
    return True


def _locked(session: Session, submission_id: str) -> Submission | None:
    # The session may have read the row before it was locked, and another one may have changed it since.
    fresh = {"populate_existing": True}
    wanted = select(Submission).where(Submission.id == submission_id).with_for_update()
    return session.scalars(wanted.execution_options(**fresh)).first()


def running_attempts(session: Session, *, began_before: float = math.inf) -> list[tuple[Lease, str, int]]:
    """Every lease that is held since before then, by whom, and its beat."""
    rows = session.execute(
        select(Attempt.submission_id, Attempt.number, Attempt.worker, Attempt.beat).where(
            Attempt.state == literal("running", literal_execute=True), Attempt.started_at < began_before
        )
    )
    return [(Lease(submission_id, number), worker, beat) for submission_id, number, worker, beat in rows]
