"""A stored submission as callers see it."""

from sqlalchemy.orm import Session

from judge.api.models import Links, SubmissionAnswer, known_moment, moment
from judge.records import ProblemReference, Report
from judge.store import submissions
from judge.store.devices import served_queues
from judge.store.models import Submission
from judge.verdict import Verdict


def present(
    session: Session, found: Submission, user: str, *, report: Report | None = None, brief: bool = False
) -> SubmissionAnswer:
    """brief: without what costs a query, for lists."""
    waits = found.state == "queued" and not brief
    unserved = waits and found.queue not in served_queues(session)
    return as_answer(found, user, submissions.position(session, found) if waits else None, unserved, report)


def as_answer(
    found: Submission, user: str, position: int | None, unserved: bool, report: Report | None = None
) -> SubmissionAnswer:
    """unserved: whether it waits for a device that nobody has ready."""
    base = f"/api/v1/submissions/{found.id}"
    return SubmissionAnswer(
        id=found.id,
        state=found.state,  # type: ignore[arg-type]
        problem=ProblemReference(id=found.problem_id, version=found.problem_version),
        name=found.name,
        backend=found.backend,  # type: ignore[arg-type]
        device=found.device,
        cases=found.cases,  # type: ignore[arg-type]
        visibility=found.visibility,  # type: ignore[arg-type]
        user=user,
        queue=found.queue,
        position=position,
        waiting_for=f"a device that serves {found.queue}" if unserved else None,
        attempt=found.attempt,
        events=found.events,
        verdict=None if found.verdict is None else Verdict(found.verdict),
        message=found.message,
        created_at=known_moment(found.created_at),
        started_at=moment(found.started_at),
        finished_at=moment(found.finished_at),
        links=Links(
            self=base,
            events=f"{base}/events",
            source=f"{base}/source",
            attempts=f"{base}/attempts",
            report=f"{base}/report.json",
        ),
        report=report,
    )
