"""Routes for whoever runs the service: is the process alive, can it work, and if not, what is down."""

import shutil
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response

from judge.api.models import Answer, ProblemDetails
from judge.api.service import Service, service_of
from judge.store.database import StoreUnavailable
from judge.store.devices import devices
from judge.store.schema import at_head

router = APIRouter(tags=["health"])

MIN_FREE_BYTES = 64 << 20


class Liveness(Answer):
    alive: Literal[True] = True


class Readiness(Answer):
    """Each part with `ok`, or with what is wrong. ready: whether submissions are taken, devices or none."""

    ready: bool
    parts: dict[str, str]


@router.get("/livez")
async def livez() -> Liveness:
    """The process answers. Nothing else is looked at."""
    return Liveness()


@router.get(
    "/readyz", responses={503: {"model": Readiness, "description": "Something is down"}, 500: {"model": ProblemDetails}}
)
def readyz(response: Response, service: Annotated[Service, Depends(service_of)]) -> Readiness:
    """Whether submissions are taken, and which part is down if not. A part without influence on that is told too."""
    parts = {"database": "ok", "migrations": "ok", "disk": _disk(service), "problems": "ok"}
    judging = "no device is ready; submissions wait"
    try:
        service.database.check_file()
        if not at_head(service.database):
            parts["migrations"] = "the tables are of another version; start `judge serve` once"
        with service.database.read() as session:
            if any(device.state == "ready" for device in devices(session)):
                judging = "ok"
    except StoreUnavailable as error:
        parts["database"] = str(error)
        parts["migrations"] = judging = "not known"
    if not service.problems:
        parts["problems"] = "none can be served"
    needed = all(value == "ok" for value in parts.values())
    if not needed:
        response.status_code = 503
    broken = f"not served: {', '.join(service.broken)}" if service.broken else parts["problems"]
    return Readiness(ready=needed, parts={**parts, "problems": broken, "devices": judging})


def _disk(service: Service) -> str:
    if service.database.file is None:
        return "ok"
    try:
        free = shutil.disk_usage(service.database.file.parent).free
    except OSError as error:
        return f"the folder of the database: {error.strerror}"
    return "ok" if free >= MIN_FREE_BYTES else f"only {free >> 20} MiB are free beside the database"
