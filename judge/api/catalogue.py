"""Routes of what is there: problems, devices, queues, leaderboards, badges, status."""

import time
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from sqlalchemy.orm import Session

import judge
from judge.api.auth import Reader
from judge.api.badge import render_badge
from judge.api.errors import Refusal
from judge.api.models import (
    CaseAnswer,
    DeviceAnswer,
    LeaderboardRow,
    ProblemAnswer,
    QueueAnswer,
    StatusAnswer,
    errors_of,
    known_moment,
    moment,
)
from judge.api.service import Service, service_of
from judge.catalogue import unknown_problem_message
from judge.problem import Group, Problem
from judge.store.boards import best_verdict, leaderboard, timed_on
from judge.store.devices import devices as all_devices
from judge.store.submissions import waiting_by_queue

router = APIRouter()

ProblemId = Annotated[str, Path(description="Id of a problem.", examples=["splitk-merge"])]


@router.get("/problems", tags=["problems"], responses=errors_of())
def problems(request: Request, caller: Reader) -> tuple[ProblemAnswer, ...]:
    """The problems, in the order to solve them."""
    return tuple(_problem(one) for one in service_of(request).problems.values())


@router.get("/problems/{problem_id}", tags=["problems"], responses=errors_of(404))
def problem(request: Request, caller: Reader, problem_id: ProblemId) -> ProblemAnswer:
    """A problem with its statement and starter."""
    found = find_problem(service_of(request), problem_id)
    texts = [_text(found, name) for name in ("statement.md", "starter.cu")]
    return _problem(found, *texts)


def find_problem(service: Service, problem_id: str) -> Problem:
    """Raises Refusal when it is not served; no file is touched by the name."""
    found = service.problems.get(problem_id)
    if found is None:
        raise Refusal("no_such_problem", unknown_problem_message(problem_id, service.problems))
    return found


def _text(found: Problem, name: str) -> str | None:
    path = found.folder / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _problem(found: Problem, statement: str | None = None, starter: str | None = None) -> ProblemAnswer:
    cases = tuple(
        CaseAnswer(name=case.name, group=case.group.value, doc=case.doc, parameters=dict(case.parameters))
        for case in found.cases
    )
    return ProblemAnswer(
        id=found.id,
        title=found.title,
        summary=found.summary,
        version=found.version,
        cases=cases,
        statement=statement,
        starter=starter,
    )


@router.get("/devices", tags=["machine"], responses=errors_of())
def devices(request: Request, caller: Reader) -> tuple[DeviceAnswer, ...]:
    """The devices that judge. `cuda:NAME` among the queues is what `device` of a submission may be."""
    with service_of(request).database.read() as session:
        return _devices(session)


def _devices(session: Session) -> tuple[DeviceAnswer, ...]:
    return tuple(
        DeviceAnswer(
            id=one.id,
            kind=one.kind,  # type: ignore[arg-type]
            name=one.name,
            arch=one.arch,
            isolation=one.isolation,  # type: ignore[arg-type]
            queues=tuple(one.queues),
            state=one.state,  # type: ignore[arg-type]
            reason=one.reason,
            roofs=one.roofs,
            seen_at=known_moment(one.seen_at),
            judged_at=moment(one.judged_at),
        )
        for one in all_devices(session)
    )


@router.get("/queue", tags=["machine"], responses=errors_of())
def queues(request: Request, caller: Reader) -> tuple[QueueAnswer, ...]:
    """How many wait, and how long."""
    with service_of(request).database.read() as session:
        return _queues(session)


def _queues(session: Session) -> tuple[QueueAnswer, ...]:
    now = time.time()
    return tuple(
        QueueAnswer(queue=name, waiting=count, oldest_s=round(max(now - since, 0.0), 3))
        for name, count, since in waiting_by_queue(session)
    )


@router.get("/status", tags=["machine"], responses=errors_of())
def status(request: Request, caller: Reader) -> StatusAnswer:
    """What a person wants to know: devices, queues, problems that are not served, limits."""
    service = service_of(request)
    with service.database.read() as session:
        return StatusAnswer(
            version=judge.__version__,
            devices=_devices(session),
            queues=_queues(session),
            broken_problems=service.broken,
            limits={
                "submissions_a_minute": service.settings.submit_rate,
                "reads_a_minute": service.settings.read_rate,
                "waiting": service.settings.max_waiting,
                "waiting_of_one_user": service.settings.max_waiting_of_user,
            },
        )


def bench_cases(problem: Problem) -> list[str]:
    """Names of the cases that are timed, each with a leaderboard."""
    return [case.name for case in problem.cases if case.group is Group.BENCH]


@router.get("/leaderboards/{problem_id}", tags=["leaderboards"], responses=errors_of(404, 422))
def board(
    request: Request,
    caller: Reader,
    problem_id: ProblemId,
    device: Annotated[str, Query(max_length=128, description="Name of a device; where one is known it is that.")] = "",
    case: Annotated[str, Query(max_length=128, description="Name of a bench case; left out: the first.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> tuple[LeaderboardRow, ...]:
    """The best accepted time of each user in a bench case, in the current version of the problem.

    Those whose 95% intervals overlap with the first of their rank share it.
    """
    service = service_of(request)
    found = find_problem(service, problem_id)
    timed = bench_cases(found)
    if case and case not in timed:
        names = f"the cases that are timed are {', '.join(timed)}" if timed else "none of its cases is timed"
        raise Refusal("not_found", f"{found.id} has no leaderboard for {case}: {names}.")
    with service.database.read() as session:
        known = timed_on(session, found.id)
        if not device and len(known) > 1:
            raise Refusal("invalid", f"It was timed on {', '.join(known)}. Say which: ?device=NAME.")
        chosen = (device or next(iter(known), ""), case or next(iter(timed), ""))
        rows = leaderboard(session, found.id, found.version, *chosen, limit)
    return tuple(LeaderboardRow(**{**row.as_dict(), "measured_at": known_moment(row.measured_at)}) for row in rows)


@router.get(
    "/badge/{problem_id}/{user}.svg",
    tags=["leaderboards"],
    response_class=Response,
    responses={200: {"content": {"image/svg+xml": {}}}, 304: {"description": "Not changed"}, **errors_of(404, 422)},
)
def badge(
    request: Request,
    caller: Reader,
    problem_id: ProblemId,
    user: Annotated[str, Path(description="Name of a user.", max_length=64, examples=["local"])],
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
) -> Response:
    """What became of a user's public submissions to a problem, as a picture."""
    service = service_of(request)
    found = find_problem(service, problem_id)
    with service.database.read() as session:
        verdict = best_verdict(session, found.id, user)
    tag = f'"badge-{verdict.value if verdict else "none"}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if if_none_match is not None and tag in if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(render_badge(found.id, verdict), media_type="image/svg+xml", headers=headers)
