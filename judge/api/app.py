"""The application: the list of routes, how errors are answered, and what begins and ends with the process."""

import asyncio
import json
import re
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse

import judge
from judge.api import catalogue, health, submissions
from judge.api.errors import MEDIA_TYPE, Refusal, refusal_of_status
from judge.api.guard import Guard
from judge.api.metrics import serve_metrics
from judge.api.models import SOURCE_TOO_LARGE
from judge.api.reference import POLICY, render_reference
from judge.api.service import Service
from judge.store.database import POOL_SIZE, StoreFull, StoreGone, StoreUnavailable
from judge.worker.incidents import record_incident

PREFIX = "/api/v1"
DESCRIPTION = (
    "Submissions are stored before they are answered; everything else only watches. "
    "Every error is application/problem+json with a stable code."
)

_log = structlog.get_logger()


@dataclass(frozen=True)
class Pages:
    """What is shown to people. routers: put at the root. refused: the page for an error, in answer to a browser."""

    routers: Sequence[APIRouter] = ()
    refused: Callable[[Request, Refusal], Response] | None = None


def create_app(service: Service, pages: Pages = Pages()) -> Guard:
    """The ASGI application. Without pages the root leads to the reference."""
    return Guard(create_routes(service, pages), service.settings)


def create_routes(service: Service, pages: Pages = Pages()) -> FastAPI:
    """As create_app(), without the guard around it."""
    app = FastAPI(
        title="Kernel judge",
        version=judge.__version__,
        description=DESCRIPTION,
        lifespan=_lifespan(service),
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.service = service
    app.state.pages = pages
    for router in (submissions.router, catalogue.router):
        app.include_router(router, prefix=PREFIX)
    app.include_router(health.router)
    for router in pages.routers:
        app.include_router(router, include_in_schema=False)
    if not pages.routers:
        app.add_api_route("/", _to_reference, include_in_schema=False)
    app.add_api_route(f"{PREFIX}/docs", _reference, include_in_schema=False)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(HTTPException, _refused_by_routing)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StoreUnavailable, _store_away)
    app.add_exception_handler(Exception, _failed)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name


def _lifespan(service: Service) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = POOL_SIZE
        metrics = serve_metrics(service) if service.settings.metrics_port else None
        watching = asyncio.create_task(service.hub.run())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            if metrics is not None:
                metrics.shutdown()

    return lifespan


def _to_reference() -> Response:
    return RedirectResponse(f"{PREFIX}/docs", status_code=307)


def _reference(request: Request) -> Response:
    page = render_reference(request.app.openapi())
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


def respond(request: Request, refusal: Refusal) -> Response:
    """problem+json; a page for a browser that asked for one outside of the API."""
    refused = request.app.state.pages.refused
    wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    if refused is not None and wants_page:
        page = refused(request, refusal)
        assert isinstance(page, Response)
        return page
    return Response(refusal.body(), refusal.status, refusal.headers, MEDIA_TYPE)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return respond(request, error)


def _refused_by_routing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        # Routing names only the methods of the first route that has the path.
        methods = _methods(request.app.openapi()["paths"], request.url.path) or {"GET"}
        allowed = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
        return respond(request, Refusal("method_not_allowed", f"It takes {allowed}.", headers={"Allow": allowed}))
    detail = error.detail if isinstance(error.detail, str) else ""
    return respond(request, refusal_of_status(error.status_code, detail, error.headers))


def _methods(paths: dict[str, dict[str, Any]], path: str) -> set[str]:
    """The methods that the description of the API has for a path."""
    found: set[str] = set()
    for template, operations in paths.items():
        pattern = "[^/]+".join(map(re.escape, re.split(r"\{\w+\}", template)))
        if re.fullmatch(pattern, path):
            found |= {method.upper() for method in operations}
    return found


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    found = error.errors()
    if found and found[0]["loc"][:1] == ("body",):
        if kind != "application/json":
            return respond(request, Refusal("wrong_content_type", "Send it with Content-Type: application/json."))
        if found[0]["type"] == "json_invalid":
            place = f"at character {found[0]['loc'][-1]}" if len(found[0]["loc"]) > 1 else "somewhere"
            return respond(request, Refusal("bad_request", f"The body is no JSON: wrong {place}."))
        if any(one["type"] == SOURCE_TOO_LARGE for one in found):
            told = Refusal("too_large", "A source has at most 256 KiB.", errors=[("/source", "too long")])
            return respond(request, told)
    errors = [(_pointer(one["loc"]), str(one["msg"]).removeprefix("Value error, ")) for one in found[:20]]
    return respond(request, Refusal("invalid", "; ".join(f"{where}: {what}" for where, what in errors), errors=errors))


def _pointer(place: Sequence[str | int]) -> str:
    """JSON pointer into the body, or the name of a parameter."""
    where, *rest = map(str, place) if place else ("",)
    escaped = [one.replace("~", "~0").replace("/", "~1") for one in rest]
    return "/" + "/".join(escaped) if where == "body" else "/".join(rest)


def _store_away(request: Request, error: Exception) -> Response:
    if isinstance(error, StoreFull):
        told = "Nothing was stored. The operator must make room."
        return respond(request, Refusal("store_full", told, headers={"Retry-After": "60"}))
    told = f"Nothing was stored. {error}" if isinstance(error, StoreGone) else "Nothing was stored. Try again."
    return respond(request, Refusal("store_unavailable", told, headers={"Retry-After": "5"}))


def _failed(request: Request, error: Exception) -> Response:
    """A fault of ours: the caller gets an id, the details stay on the machine."""
    incident = record_incident(f"{request.method} {request.url.path}", "".join(traceback.format_exception(error)))
    _log.error("a route failed", incident=incident, kind=type(error).__name__, path=request.url.path)
    return respond(request, Refusal("internal", "Tell the operator the incident's id.", incident=incident))


def openapi_text(service: Service) -> str:
    """The OpenAPI description as it is committed."""
    return json.dumps(create_routes(service).openapi(), indent=1, sort_keys=True) + "\n"
