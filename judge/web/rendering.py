"""From a template to an answer: what every page is given, its headers, and the page for errors."""

import gzip
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import judge
from judge.api.errors import ERRORS, Refusal
from judge.api.service import service_of
from judge.reports.style import inert, one_line
from judge.verdict import Verdict
from judge.verification.numbers import count_of, show_number, show_parameters
from judge.verification.telling import naive_multiple_to_tell, reads_to_tell, wrong_to_tell
from judge.web.assets import FOLDER, load_assets
from judge.web.sessions import FORM_COOKIE, FORM_FIELD, form_key, set_cookie

THEME_COOKIE = "kernel-judge-theme"
THEMES = ("auto", "light", "dark")
_MIN_PACKED = 1000
_NONCE = "{nonce}"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "as_sent": Markup.escape,
        "one_line": one_line,
        "number": show_number,
        "parameters": show_parameters,
        "moment": _moment,
        "naive_multiple": naive_multiple_to_tell,
        "reads": reads_to_tell,
        "wrong": wrong_to_tell,
        "times": lambda value: "" if value is None else f"{value:.2f}x",
        "short": lambda value: "" if value is None else f"{value:.3g}",
        "words": lambda text: str(text).replace("_", " "),
        "size": _size,
        "counted": _counted,
    }
    made.globals |= {"Verdict": Verdict, "version": judge.__version__, "icons": _ICONS}
    return made


def _harmless(value: Any) -> Any:
    """Whatever a template shows, with nothing in it that reorders or hides; `as_sent` is for what a form sends back."""
    return inert(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_ICONS = {
    "accepted": "✓",
    "requirement_unmet": "!",
    "judge_error": "!",
    "cancelled": "–",
    "not_run": "–",
}
"""A sign beside the word of a verdict; any other verdict has a cross. No meaning hangs on color alone."""


def _size(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun, in the singular where it is one."""
    return count_of(count, one, many).replace(str(count), _size(count), 1)


def _moment(value: datetime | None) -> Markup | str:
    if value is None:
        return ""
    told = value.astimezone(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(told.isoformat(), told.strftime("%Y-%m-%d %H:%M:%S"))


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """A page, or a part of one, as an answer with a strict policy and, where the browser takes it, compressed."""
    service = service_of(request)
    key, fresh = form_key(request)
    nonce = secrets.token_urlsafe(12)
    theme = request.cookies.get(THEME_COOKIE, "auto")
    caller = getattr(request.state, "caller", None)
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    text = (
        _environment()
        .get_template(template)
        .render(
            request=request,
            path=request.url.path,
            here=here,
            base=f"{request.url.scheme}://{request.url.netloc}",
            caller=caller,
            login=service.settings.login,
            theme=theme if theme in THEMES else "auto",
            themes=THEMES,
            assets=load_assets(),
            nonce=nonce,
            form_key=Markup('<input type="hidden" name="{}" value="{}">').format(FORM_FIELD, key),
            **values,
        )
    )
    response = Response(
        text,
        status,
        {
            "Content-Security-Policy": _POLICY.replace(_NONCE, nonce),
            # With none at all a browser says of our own forms, too, that they come from nowhere.
            "Referrer-Policy": "same-origin",
            "Vary": "Accept-Encoding, Cookie",
        },
        "text/html; charset=utf-8",
    )
    if fresh is not None:
        set_cookie(request, response, FORM_COOKIE, fresh)
    return pack(request, response)


def pack(request: Request, response: Response) -> Response:
    """The answer compressed, where that is worth it and wanted."""
    body = bytes(response.body)
    if len(body) >= _MIN_PACKED and "gzip" in request.headers.get("accept-encoding", ""):
        response.body = gzip.compress(body, 6, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response


def go_to(address: str, headers: Mapping[str, str] | None = None) -> Response:
    """Where a browser goes after it sent a form."""
    return RedirectResponse(address, 303, dict(headers or {}))


def refused(request: Request, refusal: Refusal) -> Response:
    """The page for an error; without a login the page to log in, which leads back."""
    if refusal.code in {"no_token", "bad_token"} and request.method == "GET":
        back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return go_to(f"/login?{urlencode({'next': back})}")
    kind = ERRORS[refusal.code]
    response = render(
        request,
        "error.html",
        status=kind.status,
        title=kind.title,
        phrase=HTTPStatus(kind.status).phrase,
        detail=refusal.detail,
        incident=refusal.incident,
    )
    for name, value in refusal.headers.items():
        response.headers[name] = value
    return response
