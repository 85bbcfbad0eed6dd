"""A stored submission and its attempts as callers see them."""

import json
from typing import Any

from sqlalchemy.orm import Session

from judge.api.models import AttemptAnswer, Links, SubmissionAnswer, known_moment, moment
from judge.records import ProblemReference, Report
from judge.store import submissions
from judge.store.devices import served_queues
from judge.store.models import Attempt, Submission
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


def as_attempt(found: Attempt) -> AttemptAnswer:
    told = _outline(found.report)
    seed = told.get("seed")
    base = f"/api/v1/submissions/{found.submission_id}/report.json"
    return AttemptAnswer(
        number=found.number,
        state=found.state,  # type: ignore[arg-type]
        worker=found.worker,
        problem_version=found.problem_version,
        verdict=None if found.verdict is None else Verdict(found.verdict),
        incident=found.incident,
        reason=found.reason,
        judge_version=str(told["judge_version"]) if "judge_version" in told else None,
        devices=tuple(str(one["device"]) for one in told.get("backends") or ()),
        seed=seed if isinstance(seed, int) else None,
        started_at=known_moment(found.started_at),
        finished_at=moment(found.finished_at),
        report=None if found.report is None else f"{base}?attempt={found.number}",
    )


def _outline(report: str | None) -> dict[str, Any]:
    """What a report of any age says of itself; it may be of a schema that is no longer read."""
    told = {} if report is None else json.loads(report)
    return told if isinstance(told, dict) else {}
