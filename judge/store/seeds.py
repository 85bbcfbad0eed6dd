"""The seed of a submission's inputs: drawn once, kept through all its attempts, so that a difference means something.

Whoever judges the same source again wants to know whether the judge, the problem or the device changed the result;
with other inputs nobody could tell. Another seed is drawn only for those who ask for one.
"""

import json
import secrets

from sqlalchemy.orm import Session

from judge.store.models import Attempt, Submission

_BITS = 32


def draw_seed() -> int:
    """One that nobody can foresee."""
    return secrets.randbits(_BITS)


def kept_seed(session: Session, submission: Submission) -> int | None:
    """The seed that the next attempt has to use again; None where no attempt came to one.

    A submission of an older judge has none of its own: there the last report knows.
    """
    if submission.seed is not None or submission.report_attempt is None:
        return submission.seed
    attempt = session.get(Attempt, (submission.id, submission.report_attempt))
    if attempt is None or attempt.report is None or attempt.verdict == "judge_error":
        return None
    try:
        seed = json.loads(attempt.report)["seed"]
    except (ValueError, KeyError, TypeError):
        return None
    return seed if isinstance(seed, int) else None
