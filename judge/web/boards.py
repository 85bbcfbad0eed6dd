"""Leaderboards, and the page on the API."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from judge.api.catalogue import bench_cases, find_problem
from judge.api.service import service_of
from judge.store.boards import best_verdict, leaderboard, timed_on
from judge.web.rendering import THEME_COOKIE, THEMES, go_to, render
from judge.web.sessions import Fields, Viewer, inner_address, set_cookie

router = APIRouter()

LIMIT = 50
YEAR_S = 365 * 86400


@router.get("/leaderboards")
def boards(request: Request, caller: Viewer) -> Response:
    """All problems that are timed, with their bench cases."""
    problems = [one for one in service_of(request).problems.values() if bench_cases(one)]
    return render(request, "leaderboards.html", problems=[(one, bench_cases(one)) for one in problems])


@router.get("/leaderboards/{problem_id}")
def board(
    request: Request,
    caller: Viewer,
    problem_id: str,
    device: Annotated[str, Query(max_length=128)] = "",
    case: Annotated[str, Query(max_length=128)] = "",
) -> Response:
    """The best public times of a problem in one bench case on one device."""
    service = service_of(request)
    found = find_problem(service, problem_id)
    cases = bench_cases(found)
    with service.database.read() as session:
        known = timed_on(session, found.id)
        chosen = (device or next(iter(known), ""), case or next(iter(cases), ""))
        rows = leaderboard(session, found.id, found.version, *chosen, LIMIT)
        verdict = best_verdict(session, found.id, caller.name)
    return render(
        request,
        "leaderboard.html",
        problem=found,
        cases=cases,
        devices=known,
        device=chosen[0],
        case=chosen[1],
        rows=rows,
        badge=f"/api/v1/badge/{found.id}/{caller.name}.svg",
        verdict=verdict,
    )


@router.get("/api")
def guide(request: Request, caller: Viewer) -> Response:
    """How a program submits, with what to paste into a shell."""
    return render(request, "api.html", problem=next(iter(service_of(request).problems), "splitk-merge"))


@router.post("/theme")
def theme(request: Request, fields: Fields) -> Response:
    """Remember light, dark or what the system says. The server knows it, so no page is painted in another first."""
    response = go_to(inner_address(fields.get("back", "/")))
    wanted = fields.get("theme", "auto")
    set_cookie(request, response, THEME_COOKIE, wanted if wanted in THEMES else "auto", lifetime_s=YEAR_S)
    return response
