"""A submission as its pages see it: what is stored, who may see it, and the report of the attempt that is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge.api import submissions as api
from judge.api.errors import Refusal
from judge.api.models import AttemptAnswer, SubmissionAnswer, as_report
from judge.api.present import as_attempt, present
from judge.api.service import Service
from judge.api.waiting import OVER
from judge.records import Report
from judge.store import submissions
from judge.store.accounts import Caller
from judge.store.models import Event
from judge.web.results import Result, make_result

MAX_EVENTS = 1000
MAX_ATTEMPTS = 20


@dataclass(frozen=True)
class Shown:
    """result: of the attempt that is shown, once that is over and has a report. attempts: the last ones, newest first.

    chosen: number of the attempt that was asked for; None for the last that was finished. shown: that of the result.
    """

    answer: SubmissionAnswer
    source: str
    events: Sequence[Event]
    result: Result | None
    own: bool
    attempts: Sequence[AttemptAnswer] = ()
    chosen: int | None = None
    shown: int | None = None

    @property
    def over(self) -> bool:
        return self.answer.state in OVER

    @property
    def final(self) -> bool:
        """Whether what is shown changes no more."""
        return self.over or self.chosen is not None

    @property
    def query(self) -> str:
        """What addresses of files of this attempt end with."""
        return "" if self.chosen is None else f"?attempt={self.chosen}"

    @property
    def earlier(self) -> bool:
        """Whether another attempt than the last one that was finished is shown."""
        return self.chosen is not None and any(one.report and one.number > self.chosen for one in self.attempts)


def look(service: Service, caller: Caller, submission_id: str, attempt: int | None = None) -> Shown:
    """Raises Refusal when it is not the caller's to see, or has no such attempt with a report."""
    api.visible(service, caller, submission_id)
    with service.database.read() as session:
        row = submissions.find(session, submission_id)
        if row is None:
            raise Refusal("no_such_submission", "It was deleted a moment ago.")
        stored, name = row
        api.known_attempt(stored.attempt, attempt)
        events = submissions.events_after(session, stored.id, max(0, stored.events - MAX_EVENTS), MAX_EVENTS)
        tried = submissions.attempts_of(session, stored.id, MAX_ATTEMPTS)
        text = submissions.report_of(session, stored, attempt)
        source = submissions.source_of(session, stored).decode("utf-8", "replace")
        answer = present(session, stored, name)
        shown = stored.report_attempt if attempt is None else attempt
    if attempt is not None and text is None:
        raise Refusal("no_report", f"Attempt {attempt} has none.")
    told = text is not None and (attempt is not None or answer.state in OVER)
    report = as_report(text) if told and text is not None else None
    since = [event for event in events if event.attempt == stored.attempt or event.kind in {"queued", "requeued"}]
    return Shown(
        answer,
        source,
        since,
        None if report is None else make_result(report, source),
        stored.user_id == caller.user_id or caller.may("admin"),
        [as_attempt(one) for one in reversed(tried)],
        attempt,
        shown,
    )


def look_at_report(
    service: Service, caller: Caller, submission_id: str, attempt: int | None = None
) -> tuple[Shown, Report]:
    """As look(). Raises Refusal where there is no report yet."""
    shown = look(service, caller, submission_id, attempt)
    if shown.result is None:
        raise Refusal("no_report", f"It is {shown.answer.state}.")
    return shown, shown.result.report
