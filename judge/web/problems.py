"""Routes of problems: the list, a problem to read and to write for, its hints, solutions, and what a launch will be."""

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request, Response
from markupsafe import Markup
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from judge.api.catalogue import find_problem
from judge.api.errors import Refusal
from judge.api.models import NewSubmission, as_report
from judge.api.service import Service, service_of
from judge.api.submissions import accept, visible
from judge.problem import Problem
from judge.store.accounts import Caller
from judge.store.devices import devices, served_queues
from judge.store.submissions import page, report_of, solved, source_of
from judge.verification.package import hint_files
from judge.verification.solutions import model_solutions
from judge.web.geometry import Preview, preview
from judge.web.markup import has_math, render_markdown
from judge.web.rendering import go_to, render
from judge.web.results import remarks_at_lines
from judge.web.sessions import Author, Fields, Viewer

router = APIRouter()

CHOICES = ("backend", "device", "cases", "visibility", "name")


@dataclass(frozen=True)
class Draft:
    """What the editor starts with. marks: (line, message) of what the compiler said about it."""

    source: str
    name: str
    marks: Sequence[tuple[int, str]] = ()
    origin: str | None = None

    @property
    def marks_json(self) -> str:
        return json.dumps([{"line": line, "message": message} for line, message in self.marks])


@router.get("/")
def problem_list(request: Request, caller: Viewer) -> Response:
    """The problems in the order to solve them."""
    service = service_of(request)
    with service.database.read() as session:
        done = solved(session, caller.user_id)
        lanes = [device for device in devices(session) if device.state == "ready"]
    following = next((one for one in service.problems if one not in done), None)
    return render(
        request,
        "problems.html",
        problems=list(service.problems.values()),
        solved=done,
        following=following,
        gpus=sorted({device.name for device in lanes if device.kind == "cuda"}),
        ready=bool(lanes),
    )


@router.get("/problems/{problem_id}")
def problem(
    request: Request, caller: Viewer, problem_id: str, hints: int = 0, submission: str | None = None
) -> Response:
    """A problem to read and to write for. hints: how many are shown. submission: start from this source."""
    found = find_problem(service_of(request), problem_id)
    draft = _starter(found) if submission is None else _draft(service_of(request), caller, submission)
    return _page(request, caller, found, draft, hints=hints)


def _page(
    request: Request,
    caller: Caller,
    found: Problem,
    draft: Draft,
    *,
    hints: int = 0,
    refusal: Refusal | None = None,
    told: Preview | None = None,
    case: str = "",
) -> Response:
    """told: what the launches in a case come to, where that was asked for."""
    service = service_of(request)
    with service.database.read() as session:
        queues = served_queues(session)
        done = found.id in solved(session, caller.user_id)
        recent = page(session, user_id=caller.user_id, problem_id=found.id, limit=5)
    statement = (found.folder / "statement.md").read_text(encoding="utf-8")
    texts = [path.read_text(encoding="utf-8") for path in hint_files(found.folder)]
    order = list(service.problems)
    place = order.index(found.id)
    return render(
        request,
        "problem.html",
        status=200 if refusal is None else refusal.status,
        problem=found,
        statement=render_markdown(statement),
        math=has_math(statement) or any(map(has_math, texts)),
        figure=_figure(found.folder),
        hints=[render_markdown(text) for text in texts[: max(hints, 0)]],
        all_hints=len(texts),
        draft=draft,
        starter=_starter(found).source,
        refusal=refusal,
        told=told,
        launch_case=case,
        gpus=sorted(queue.partition(":")[2] for queue in queues if queue.startswith("cuda:")),
        served=bool(queues),
        solved=done,
        recent=[one for one, _ in recent],
        once=secrets.token_hex(16),
        may_submit=caller.may("submit"),
        before=service.problems[order[place - 1]] if place else None,
        after=service.problems[order[place + 1]] if place + 1 < len(order) else None,
    )


def _figure(folder: Path) -> Markup | None:
    """The drawing of a problem, an author's file like its statement."""
    path = folder / "figure.svg"
    return Markup(path.read_text(encoding="utf-8")) if path.is_file() else None


def _starter(found: Problem) -> Draft:
    return Draft((found.folder / "starter.cu").read_text(encoding="utf-8"), f"{found.id}.cu")


def _draft(service: Service, caller: Caller, submission_id: str) -> Draft:
    """The source of a submission with the compiler's marks. Raises Refusal when the caller may not see it."""
    stored, _ = visible(service, caller, submission_id)
    with service.database.read() as session:
        source = source_of(session, stored).decode("utf-8", "replace")
        text = report_of(session, stored)
    report = None if text is None else as_report(text)
    return Draft(source, stored.name, () if report is None else remarks_at_lines(report), stored.id)


@router.post("/problems/{problem_id}/submissions")
async def submit(request: Request, caller: Author, problem_id: str, fields: Fields) -> Response:
    """Store what the form holds and go to its page; the problem's page again, with the reason, when it is refused."""
    service = service_of(request)
    found = find_problem(service, problem_id)
    # Browsers send line ends as CR LF, whatever was typed.
    source = (fields.get("file") or fields.get("source", "")).replace("\r\n", "\n")
    chosen = {name: fields[name] for name in CHOICES if fields.get(name)}
    if fields.get("file"):
        chosen["name"] = fields["file_name"]
    try:
        new = NewSubmission.model_validate({"problem": found.id, "source": source, **chosen})
        once = fields.get("once", "")
        told = json.dumps([found.id, source, chosen], sort_keys=True).encode()
        key = (f"page-{once}", hashlib.sha256(told).hexdigest()) if once.isalnum() and len(once) <= 64 else None
        answer, _ = await accept(service, caller, new, key)
    except ValidationError as error:
        what = "; ".join(str(one["msg"]).removeprefix("Value error, ") for one in error.errors()[:3])
        refusal = Refusal("invalid", f"It was not sent: {what}.")
    except Refusal as caught:
        refusal = caught
    else:
        return go_to(f"/submissions/{answer.id}")
    draft = Draft(source, chosen.get("name", f"{found.id}.cu"))
    return await run_in_threadpool(_page, request, caller, found, draft, refusal=refusal)


@router.post("/problems/{problem_id}/launches")
def launches(request: Request, caller: Viewer, problem_id: str, fields: Fields) -> Response:
    """What the launch lines of a source come to in a case, as far as that can be said without compiling."""
    found = find_problem(service_of(request), problem_id)
    named = fields.get("case", "")
    case = next((one for one in found.cases if one.name == named), found.cases[0])
    source = fields.get("source", "").replace("\r\n", "\n")
    told = preview(source, found, case)
    if "hx-request" in request.headers:
        return render(request, "launches.html", told=told)
    draft = Draft(source, fields.get("name") or f"{found.id}.cu")
    return _page(request, caller, found, draft, told=told, case=case.name)


@router.get("/problems/{problem_id}/solutions")
def solutions(request: Request, caller: Viewer, problem_id: str, reveal: bool = False) -> Response:
    """The model solutions in the order of their ladder, for those who solved the problem or ask to be spoiled."""
    service = service_of(request)
    found = find_problem(service, problem_id)
    with service.database.read() as session:
        allowed = found.id in solved(session, caller.user_id)
    shown = model_solutions(found.folder)
    return render(
        request,
        "solutions.html",
        problem=found,
        solved=allowed,
        count=len(shown),
        solutions=shown if allowed or reveal else [],
    )
