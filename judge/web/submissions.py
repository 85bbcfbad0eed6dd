"""Routes of submissions: history, a result while it comes and after, its files, and what its author may do with it."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from judge.api import submissions as api
from judge.api.errors import Refusal
from judge.api.models import Visibility
from judge.api.service import Service, service_of
from judge.records import CaseReport
from judge.store import submissions
from judge.store.accounts import Caller
from judge.verdict import Verdict
from judge.web import tables
from judge.web.blocktable import DrawnTable, draw_block_table
from judge.web.bundle import make_bundle
from judge.web.failuremap import DrawnMap, draw_map
from judge.web.keymap import DrawnKeys, draw_keys
from judge.web.looking import Shown, look, look_at_report
from judge.web.rendering import go_to, render
from judge.web.results import Result
from judge.web.roofline import draw_bandwidth, draw_roofline
from judge.web.sessions import Author, Fields, Viewer

router = APIRouter(prefix="/submissions")

_NO_INDEX = {"X-Robots-Tag": "noindex"}


@router.get("")
def history(
    request: Request,
    response: Response,
    caller: Viewer,
    problem: Annotated[str, Query(max_length=64)] = "",
    verdict: Annotated[str, Query(max_length=20)] = "",
    public: bool = False,
    cursor: api.Cursor = None,
) -> Response:
    """One's own submissions from the newest on, or the public ones of everybody."""
    chosen = Verdict(verdict) if verdict in set(Verdict) else None
    listed = api.list_submissions(request, response, caller, problem or None, None, chosen, public, cursor, 25)
    return render(
        request,
        "history.html",
        page=listed,
        problems=service_of(request).problems,
        chosen={"problem": problem, "verdict": verdict, "public": public},
    )


@router.get("/{submission_id}")
def result(request: Request, caller: Viewer, submission_id: str, attempt: api.AttemptNumber = None) -> Response:
    """A submission: while it waits and runs what has happened, then what came of it, or of an earlier attempt."""
    shown = look(service_of(request), caller, submission_id, attempt)
    return _with_source(request, "submission.html", shown, caller)


@router.get("/{submission_id}/live")
def live(request: Request, caller: Viewer, submission_id: str) -> Response:
    """The part of that page that changes."""
    return _with_source(request, "live.html", look(service_of(request), caller, submission_id), caller)


def _with_source(request: Request, template: str, shown: Shown, caller: Caller) -> Response:
    service = service_of(request)
    found = shown.result
    problem = service.problems.get(shown.answer.problem.id)
    table = _block_table(service, found) if found else None
    response = render(
        request,
        template,
        shown=shown,
        submission=shown.answer,
        result=found,
        problem=problem,
        maps=_maps(found) if found else (),
        table=table,
        roofline=draw_roofline(found.report) if found else None,
        bandwidth=draw_bandwidth(found.report) if found else None,
        may_submit=caller.may("submit"),
    )
    response.headers.update(_NO_INDEX if shown.answer.visibility != "public" else {})
    return response


def _block_table(service: Service, found: Result) -> DrawnTable | None:
    problem = service.problems.get(found.report.problem.id)
    if problem is None or found.told is None:
        return None
    return draw_block_table(problem, found.told, found.report.seed)


def _maps(found: Result) -> Sequence[tuple[CaseReport, DrawnMap, DrawnKeys | None]]:
    """The maps of the report with those of the keys, that of the explained case first."""
    ordered = sorted(found.report.cases, key=lambda case: case is not found.told)
    mapped = [(case, case.error.map) for case in ordered if case.error and case.error.map]
    return [(case, draw_map(one, place), draw_keys(one, place)) for place, (case, one) in enumerate(mapped)]


@router.get("/{submission_id}/events")
async def events(
    request: Request,
    caller: Viewer,
    submission_id: str,
    last_event_id: api.LastEventId = None,
    after: api.After = None,
) -> Response:
    """The API's event stream, for a browser that has the cookie and cannot send a token."""
    return await api.events(request, caller, submission_id, last_event_id, after)


@router.post("/{submission_id}/cancel")
def cancel(request: Request, caller: Author, submission_id: str, fields: Fields) -> Response:
    """Stop judging it."""
    api.cancel(request, caller, submission_id)
    return go_to(f"/submissions/{submission_id}")


@router.post("/{submission_id}/rejudge")
def rejudge(request: Request, response: Response, caller: Author, submission_id: str, fields: Fields) -> Response:
    """Judge it once more, with the inputs of before unless the form asks for others."""
    api.rejudge(request, response, caller, submission_id, "new" if fields.get("seed") == "new" else "same")
    return go_to(f"/submissions/{submission_id}")


@router.post("/{submission_id}/visibility")
def visibility(request: Request, caller: Author, submission_id: str, fields: Fields) -> Response:
    """Who may see it from now on."""
    wanted = fields.get("visibility", "")
    if wanted not in Visibility.__args__:  # type: ignore[attr-defined]
        raise Refusal("invalid", "A submission is private, unlisted or public.")
    service = service_of(request)
    stored, _ = api.visible(service, caller, submission_id)
    if stored.user_id != caller.user_id and not caller.may("admin"):
        raise Refusal("no_such_submission", "Only its author changes who may see it.")
    with service.database.write() as session:
        row = submissions.find(session, submission_id)
        if row is not None:
            submissions.set_visibility(session, row[0], wanted)
    return go_to(f"/submissions/{submission_id}#share")


def _download(data: str | bytes, kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=kind, headers=headers)


@router.get("/{submission_id}/source.cu")
def source(request: Request, caller: Viewer, submission_id: str) -> Response:
    """The source as it was sent, as plain text."""
    return api.source(request, caller, submission_id)


@router.get("/{submission_id}/replay.zip")
def replay(request: Request, caller: Viewer, submission_id: str, attempt: api.AttemptNumber = None) -> Response:
    """All that is needed to judge it again elsewhere with the same numbers."""
    shown, report = look_at_report(service_of(request), caller, submission_id, attempt)
    return _download(make_bundle(shown.source, report), "application/zip", f"replay-{submission_id[:12]}.zip")


_TABLES = {
    "cases": tables.cases_csv,
    "counters": tables.counters_csv,
    "keys": tables.keys_csv,
    "map": tables.map_csv,
    "times": tables.times_csv,
}


@router.get("/{submission_id}/block-table.csv")
def block_table(request: Request, caller: Viewer, submission_id: str, attempt: api.AttemptNumber = None) -> Response:
    """The block table of the page as CSV."""
    shown, _ = look_at_report(service_of(request), caller, submission_id, attempt)
    drawn = _block_table(service_of(request), shown.result) if shown.result else None
    name = f"block-table-{submission_id[:12]}.csv"
    return _download(tables.block_table_csv(drawn), "text/csv; charset=utf-8", name)


@router.get("/{submission_id}/{name}.csv")
def table(
    request: Request, caller: Viewer, submission_id: str, name: str, attempt: api.AttemptNumber = None
) -> Response:
    """A table of the page as CSV: cases, counters, keys, map or times."""
    if name not in _TABLES:
        raise Refusal("not_found", f"Tables are: {', '.join(_TABLES)}.")
    _, report = look_at_report(service_of(request), caller, submission_id, attempt)
    return _download(_TABLES[name](report), "text/csv; charset=utf-8", f"{name}-{submission_id[:12]}.csv")


@router.get("/{submission_id}/report.{form}")
def report(
    request: Request, caller: Viewer, submission_id: str, form: str, attempt: api.AttemptNumber = None
) -> Response:
    """The report as the API gives it, for a browser that has the cookie."""
    return api.report(request, caller, submission_id, form, attempt, None)
