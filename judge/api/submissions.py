"""Routes of submissions: create, watch, list, cancel, judge again, reports."""

import hashlib
import re
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from judge.api.auth import AskedFirst, Reader, Submitter, confirm
from judge.api.errors import Refusal
from judge.api.models import (
    AttemptAnswer,
    NewSubmission,
    State,
    SubmissionAnswer,
    SubmissionPage,
    as_report,
    errors_of,
)
from judge.api.present import as_answer, as_attempt, present
from judge.api.service import Service, service_of
from judge.api.streams import STREAM_HEADERS, EventStream
from judge.api.waiting import OVER, wait_until_over
from judge.catalogue import unknown_problem_message
from judge.reports.json import render_json
from judge.reports.junit import render_junit
from judge.reports.markdown import render_markdown
from judge.reports.sarif import render_sarif
from judge.store import queue, submissions
from judge.store.accounts import Caller, still_good
from judge.store.desk import QueueFull
from judge.store.models import Submission
from judge.store.submissions import KeyReused
from judge.verdict import Verdict

router = APIRouter(prefix="/submissions", tags=["submissions"], route_class=AskedFirst)

MAX_WAIT_S = 60
_KEY = r"^[\x21-\x7e]{1,255}$"
_ID = re.compile(r"[0-9a-f]{32}")

# Numbers of events are kept in 32 bits.
MAX_EVENT = 2**31 - 1
Cursor = Annotated[str | None, Query(pattern=r"^[1-9][0-9]{0,17}$", description="`next` of the page before.")]
After = Annotated[int | None, Query(ge=0, le=MAX_EVENT, description="As Last-Event-ID, for those who cannot set it.")]
AttemptNumber = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="That of an earlier attempt.")]
LastEventId = Annotated[str | None, Header(max_length=20, description="Events after this one.")]
SubmissionId = Annotated[str, Path(description="Id of a submission.", examples=["5f2b8c1e9a7d4036b1c2d3e4f5a60718"])]


@router.post("", status_code=202, response_model=SubmissionAnswer, responses=errors_of(404, 408, 409, 413, 415, 507))
async def create(
    request: Request,
    caller: Submitter,
    new: NewSubmission,
    idempotency_key: Annotated[
        str | None, Header(description="The same key and body within 24 h give the same submission.", pattern=_KEY)
    ] = None,
) -> Response:
    """Store a kernel to be judged. It is in the database before this answers; everything else only watches."""
    service = service_of(request)
    key = None if idempotency_key is None else (idempotency_key, hashlib.sha256(await request.body()).hexdigest())
    answer, fresh = await accept(service, caller, new, key)
    headers = {"Location": answer.links.self, "Retry-After": "1"}
    if not fresh:
        headers["Idempotency-Replayed"] = "true"
    # Written out here: it is checked already, and the way round costs as much as all the rest.
    return Response(answer.model_dump_json(), 202, headers, "application/json")


async def accept(
    service: Service, caller: Caller, new: NewSubmission, key: tuple[str, str] | None
) -> tuple[SubmissionAnswer, bool]:
    """Store it; False beside it when the key stood for the same request before. Raises Refusal.

    key: an Idempotency-Key and the SHA-256 of what was sent with it.
    """
    problem = service.problems.get(new.problem)
    if problem is None:
        told = unknown_problem_message(new.problem, service.problems)
        raise Refusal("no_such_problem", told, errors=[("/problem", told)])
    stored = submissions.NewSubmission(
        caller.user_id,
        problem.id,
        problem.version,
        new.source.encode(),
        new.name,
        new.backend,
        new.device,
        new.cases,
        new.visibility,
        new.seed,
        queue="",
    )
    try:
        taken = await service.intake.store(stored, lambda served: _queue_for(new, served), key)
    except QueueFull as full:
        if full.own:
            told = f"{full.waiting} of your submissions wait or run. Wait for some of them."
            raise Refusal("too_many_waiting", told, headers={"Retry-After": "10"}) from None
        told = f"{full.waiting} submissions wait. Try again later."
        raise Refusal("queue_full", told, headers={"Retry-After": "30"}) from None
    except KeyReused:
        raise Refusal("key_reused", "Use another key for another request.") from None
    made = taken.created
    unserved = made.place is not None and not taken.served
    return as_answer(made.submission, caller.name, made.place, unserved), made.fresh


def _queue_for(new: NewSubmission, served: set[str]) -> str:
    """Which queue suits: a GPU's where one is asked for, or there and wanted. Raises Refusal where none can do it."""
    if new.backend == "cpu":
        if new.device is not None or new.cases == "bench":
            what = "device" if new.device is not None else "cases"
            told = "bench cases and devices need backend auto or cuda"
            raise Refusal("no_such_device", f"{told[0].upper()}{told[1:]}.", errors=[(f"/{what}", told)])
        return "cpu"
    wanted = "cuda" if new.device is None else f"cuda:{new.device}"
    if wanted in served:
        return wanted
    if new.backend == "cuda" or new.device is not None or new.cases == "bench":
        known = ", ".join(sorted(served)) or "none at the moment"
        pointer = "/device" if new.device is not None else "/backend"
        told = f"no device that is ready serves {wanted}; served are: {known}"
        raise Refusal("no_such_device", f"N{told[1:]}.", errors=[(pointer, told)])
    return "cpu"


@router.get("", responses=errors_of(400, 422))
def list_submissions(
    request: Request,
    response: Response,
    caller: Reader,
    problem: Annotated[str | None, Query(max_length=64, description="Only of this problem.")] = None,
    state: Annotated[State | None, Query(description="Only in this state.")] = None,
    verdict: Annotated[Verdict | None, Query(description="Only with this verdict.")] = None,
    public: Annotated[bool, Query(description="The public ones of everybody instead of your own.")] = False,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> SubmissionPage:
    """Your submissions, the newest first. What arrives meanwhile moves nothing on the pages that follow."""
    service = service_of(request)
    before = None if cursor is None else int(cursor)
    if problem is not None and problem not in service.problems:
        return SubmissionPage(items=(), next=None)
    with service.database.read() as session:
        found = submissions.page(
            session,
            user_id=None if public else caller.user_id,
            problem_id=problem,
            state=state,
            verdict=None if verdict is None else verdict.value,
            before=before,
            limit=limit + 1,
        )
        items = tuple(present(session, one, name, brief=True) for one, name in found[:limit])
    following = str(found[limit - 1][0].number) if len(found) > limit else None
    if following is not None:
        response.headers["Link"] = f'<{request.url.include_query_params(cursor=following)}>; rel="next"'
    return SubmissionPage(items=items, next=following)


@router.get(
    "/{submission_id}",
    response_model=SubmissionAnswer,
    responses={304: {"description": "Not changed"}, **errors_of(404, 422)},
)
async def read(
    request: Request,
    caller: Reader,
    submission_id: SubmissionId,
    wait: Annotated[
        int, Query(ge=0, le=MAX_WAIT_S, description="Answer when it is over, or after so many seconds.")
    ] = 0,
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
) -> Response:
    """A submission, with its report once there is one."""
    service = service_of(request)
    await run_in_threadpool(visible, service, caller, submission_id)
    if wait:
        await wait_until_over(request, service, submission_id, min(wait, service.settings.wait_limit_s))
        await run_in_threadpool(confirm, service, caller)
    return await run_in_threadpool(_read, service, caller, submission_id, if_none_match)


def _read(service: Service, caller: Caller, submission_id: str, if_none_match: str | None) -> Response:
    with service.database.read() as session:
        found, name = _find(session, caller, submission_id)
        answer = present(session, found, name)
        # Of all that is told: its author changes who may see it, and others its place, without an event. A report is
        # known by its event.
        tag = f'"{hashlib.sha256(answer.model_dump_json().encode()).hexdigest()[:32]}"'
        if if_none_match is not None and tag in if_none_match:
            return Response(status_code=304, headers={"ETag": tag, "Cache-Control": "no-cache"})
        text = submissions.report_of(session, found)
    whole = answer.model_copy(update={"report": None if text is None else as_report(text)})
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if answer.state not in OVER:
        headers["Retry-After"] = "1"
    # Written out here, as in create(): a report is large, and was checked when it was read.
    return Response(whole.model_dump_json(), 200, headers, "application/json")


def visible(service: Service, caller: Caller, submission_id: str) -> tuple[Submission, str]:
    """The submission if the caller may see it. Raises Refusal as if there were none otherwise."""
    with service.database.read() as session:
        return _find(session, caller, submission_id)


def _find(session: Session, caller: Caller, submission_id: str, *, own: bool = False) -> tuple[Submission, str]:
    found = submissions.find(session, submission_id) if _ID.fullmatch(submission_id) else None
    if found is not None:
        theirs = found[0].user_id == caller.user_id or caller.may("admin")
        if theirs or (found[0].visibility != "private" and not own):
            return found
    raise Refusal("no_such_submission", "Check the id, and whose token this is.")


@router.get(
    "/{submission_id}/events",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}, 204: {"description": "Over"}, **errors_of(404, 422)},
)
async def events(
    request: Request,
    caller: Reader,
    submission_id: SubmissionId,
    last_event_id: LastEventId = None,
    after: After = None,
) -> Response:
    """Server-sent events of a submission from the first on. 204 when there is nothing more to come."""
    service = service_of(request)
    found, _ = await run_in_threadpool(visible, service, caller, submission_id)
    start = _event_number(last_event_id)
    if start is None:
        start = after or 0
    if found.state in OVER and start >= found.events:
        return Response(status_code=204)
    if getattr(request.state, "only_head", False):
        return StreamingResponse(iter(()), media_type="text/event-stream", headers=STREAM_HEADERS)
    service.streams.check(caller.user_id)
    return EventStream(
        service, caller.user_id, submission_id, start, lambda session: _may_watch(session, caller, found)
    )


def known_attempt(times: int, attempt: int | None) -> None:
    """Raises Refusal for an attempt that never was. times: how often the submission was tried."""
    if attempt is not None and attempt > times:
        tried = {0: "not been tried yet", 1: "been tried once"}.get(times, f"been tried {times} times")
        raise Refusal("not_found", f"There is no attempt {attempt}: it has {tried}.")


def _may_watch(session: Session, caller: Caller, watched: Submission) -> bool:
    try:
        _find(session, caller, watched.id)
    except Refusal:
        return False
    return still_good(session, caller)


def _event_number(text: str | None) -> int | None:
    """The number in a Last-Event-ID; None for one that is no number of an event."""
    if not text or not text.isascii() or not text.isdecimal():
        return None
    number = int(text)
    return number if number <= MAX_EVENT else None


@router.post("/{submission_id}/cancel", responses=errors_of(404, 507))
def cancel(request: Request, caller: Submitter, submission_id: SubmissionId) -> SubmissionAnswer:
    """Stop judging. Harmless when it is over already; then nothing changes."""
    service = service_of(request)
    with service.database.write() as session:
        found, name = _find(session, caller, submission_id, own=True)
        queue.cancel(session, found.id)
        return present(session, found, name)


@router.post("/{submission_id}/rejudge", status_code=202, responses=errors_of(404, 507))
def rejudge(
    request: Request,
    response: Response,
    caller: Submitter,
    submission_id: SubmissionId,
    seed: Annotated[Literal["same", "new"], Query(description="same: the inputs it had; new: others.")] = "same",
) -> SubmissionAnswer:
    """Judge it once more. The old result stays until the new one is there, and stays in the list of attempts."""
    service = service_of(request)
    with service.database.write() as session:
        found, name = _find(session, caller, submission_id, own=True)
        if queue.rejudge(session, found.id, new_seed=seed == "new") and service.stored is not None:
            service.stored(session, [found])
        answer = present(session, found, name)
    response.headers["Location"] = answer.links.self
    return answer


@router.get(
    "/{submission_id}/source",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **errors_of(404)},
)
def source(request: Request, caller: Reader, submission_id: SubmissionId) -> Response:
    """The source as it was sent."""
    with service_of(request).database.read() as session:
        found, _ = _find(session, caller, submission_id)
        return Response(submissions.source_of(session, found), media_type="text/plain; charset=utf-8")


@router.get("/{submission_id}/attempts", responses=errors_of(404))
def attempts(request: Request, caller: Reader, submission_id: SubmissionId) -> tuple[AttemptAnswer, ...]:
    """Every attempt, those included whose worker was lost."""
    with service_of(request).database.read() as session:
        found, _ = _find(session, caller, submission_id)
        return tuple(as_attempt(one) for one in submissions.attempts_of(session, found.id))


_FORMATS = {
    "json": ("application/json", render_json),
    "junit.xml": ("application/xml", render_junit),
    "sarif": ("application/sarif+json", render_sarif),
    "md": ("text/markdown; charset=utf-8", render_markdown),
}


@router.get(
    "/{submission_id}/report.{form}",
    response_class=Response,
    responses={
        200: {"content": {kind.partition(";")[0]: {} for kind, _ in _FORMATS.values()}},
        304: {"description": "Not changed"},
        **errors_of(404, 409, 422),
    },
)
def report(
    request: Request,
    caller: Reader,
    submission_id: SubmissionId,
    form: Annotated[str, Path(description="json, junit.xml, sarif or md.", examples=["json"])],
    attempt: AttemptNumber = None,
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
) -> Response:
    """The report in a format of its own."""
    if form not in _FORMATS:
        raise Refusal("not_found", f"A report is had as {', '.join(_FORMATS)}.")
    with service_of(request).database.read() as session:
        found, _ = _find(session, caller, submission_id)
        known_attempt(found.attempt, attempt)
        number = found.report_attempt if attempt is None else attempt
        text = submissions.report_of(session, found, number)
    stored = None if text is None else as_report(text)
    if stored is None:
        told = f"It is {found.state}." if attempt is None else f"Attempt {attempt} has none."
        raise Refusal("no_report", told)
    tag = f'"report-{number}-{form}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if if_none_match is not None and tag in if_none_match:
        return Response(status_code=304, headers=headers)
    kind, render = _FORMATS[form]
    return Response(render(stored), media_type=kind, headers=headers)
