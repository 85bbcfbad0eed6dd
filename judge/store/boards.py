"""Leaderboards: the best accepted time of each user, with its interval."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import select, true
from sqlalchemy.orm import Session

from judge.store.models import Measurement, Submission, User
from judge.verdict import Verdict

MAX_READ = 5_000
"""Measurements read for one board; with more than this of the fastest users, the board is cut earlier."""


@dataclass(frozen=True)
class BoardRow:
    rank: int
    user: str
    submission: str
    problem_version: str
    device: str
    case: str
    median_us: float
    low_us: float
    high_us: float
    bandwidth_gbs: float | None
    roofline_fraction: float | None
    measured_at: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def timed_on(session: Session, problem_id: str) -> list[str]:
    """Names of the devices on which the problem was timed, sorted."""
    query = select(Measurement.device).where(Measurement.problem_id == problem_id).distinct()
    return sorted(session.scalars(query))


def leaderboard(
    session: Session, problem_id: str, version: str, device: str, case: str, limit: int
) -> Sequence[BoardRow]:
    """Users from the fastest on. Users whose intervals overlap with that of the first of a rank share the rank."""
    query = (
        select(Measurement, User.name)
        .join(User, User.id == Measurement.user_id)
        .join(Submission, Submission.id == Measurement.submission_id)
        .where(
            Measurement.problem_id == problem_id,
            Measurement.device == device,
            Measurement.case == case,
            Measurement.accepted == true(),
            Measurement.problem_version == version,
            Submission.visibility == "public",
        )
        .order_by(Measurement.median_us)
        .limit(MAX_READ)
    )
    best: dict[str, tuple[Measurement, str]] = {}
    for measured, name in session.execute(query):
        best.setdefault(measured.user_id, (measured, name))
        if len(best) == limit:
            break
    rows: list[BoardRow] = []
    first_high, rank = -1.0, 0
    for place, (measured, name) in enumerate(best.values(), start=1):
        half = measured.rel_ci95 * measured.median_us
        low, high = measured.median_us - half, measured.median_us + half
        if low > first_high:
            first_high, rank = high, place
        rows.append(
            BoardRow(
                rank,
                name,
                measured.submission_id,
                measured.problem_version,
                measured.device,
                measured.case,
                measured.median_us,
                low,
                high,
                measured.bandwidth_gbs,
                measured.roofline_fraction,
                measured.measured_at,
            )
        )
    return rows


def best_verdict(session: Session, problem_id: str, user_name: str) -> Verdict | None:
    """Accepted if a public submission of the user is, else that of the newest; None when there is none."""
    query = (
        select(Submission.verdict)
        .join(User, User.id == Submission.user_id)
        .where(
            User.name == user_name,
            Submission.problem_id == problem_id,
            Submission.visibility == "public",
            Submission.verdict.is_not(None),
        )
        .order_by(Submission.number.desc())
        .limit(1000)
    )
    found = [Verdict(verdict) for verdict in session.scalars(query) if verdict is not None]
    if Verdict.ACCEPTED in found:
        return Verdict.ACCEPTED
    return found[0] if found else None
