"""Routes for what the compiler made of a submission: PTX and SASS, each under the source lines it came from."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from judge.api.errors import Refusal
from judge.api.service import Service, service_of
from judge.api.submissions import AttemptNumber
from judge.records import Report
from judge.store.accounts import Caller
from judge.submission.unit import TranslationUnit
from judge.web.desk import Desk
from judge.web.listing import judged_unit
from judge.web.looking import Shown, look_at_report
from judge.web.ptx import kept_ptx
from judge.web.rendering import go_to, render
from judge.web.sass import is_own, kept_sass, make_sass, sass_target
from judge.web.sessions import Author, Fields, Viewer

router = APIRouter(prefix="/submissions")

Kernel = Annotated[str, Query(max_length=1000)]


def _desk(request: Request) -> Desk:
    """The one of this application."""
    state = request.app.state
    if not hasattr(state, "desk"):
        state.desk = Desk()
    desk = state.desk
    assert isinstance(desk, Desk)
    return desk


def _judged(
    service: Service, caller: Caller, submission_id: str, attempt: int | None
) -> tuple[Shown, Report, TranslationUnit | None]:
    shown, report = look_at_report(service, caller, submission_id, attempt)
    problem = service.problems.get(report.problem.id)
    unit = None if problem is None else judged_unit(problem, shown.source.encode(), shown.answer, report)
    return shown, report, unit


@router.get("/{submission_id}/ptx")
def ptx(
    request: Request, caller: Viewer, submission_id: str, kernel: Kernel = "", attempt: AttemptNumber = None
) -> Response:
    """The PTX that the CPU backend ran, as long as the compiler's cache has it."""
    shown, _, unit = _judged(service_of(request), caller, submission_id, attempt)
    found = None if unit is None else kept_ptx(unit, kernel)
    return render(request, "ptx.html", shown=shown, submission=shown.answer, found=found)


@router.get("/{submission_id}/sass")
def sass(
    request: Request, caller: Viewer, submission_id: str, kernel: Kernel = "", attempt: AttemptNumber = None
) -> Response:
    """The SASS of the optimized kernels, once somebody has asked for it."""
    shown, report, unit = _judged(service_of(request), caller, submission_id, attempt)
    target = sass_target(report)
    desk, key = _desk(request), _key(submission_id, target.arch)
    # Asked before the look: what is done in between shows in the look.
    place = desk.place(key)
    found = None if unit is None else kept_sass(unit, target, kernel)
    return render(
        request,
        "sass.html",
        shown=shown,
        submission=shown.answer,
        found=found,
        code=found.code if found else None,
        place=place,
        failure=desk.failure(key),
        on_gpu=any(backend.kind == "cuda" for backend in report.backends),
        may_submit=caller.may("submit"),
    )


@router.post("/{submission_id}/sass")
def make(request: Request, caller: Author, submission_id: str, fields: Fields) -> Response:
    """Compile and disassemble it, while the page waits."""
    service = service_of(request)
    given = fields.get("attempt", "")
    attempt = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else None
    shown, report, unit = _judged(service, caller, submission_id, attempt)
    if unit is None:
        raise Refusal("not_found", "The problem has changed since it was judged.")
    target, trusted = sass_target(report), is_own(service.settings)
    key = _key(submission_id, target.arch)
    _desk(request).ask(key, caller.user_id, lambda: make_sass(unit, target, trusted=trusted))
    return go_to(f"/submissions/{submission_id}/sass{shown.query}")


def _key(submission_id: str, arch: str) -> str:
    return f"{submission_id} {arch}"
