"""Who looks at a page, and that a form came from one of ours.

On loopback there is no login. Elsewhere a token of the API is typed in once and kept in a cookie that no script can
read. A form carries what another cookie holds (double submit), masked anew in every page so that the size of
compressed pages says nothing about it; the guard has refused foreign origins before that.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from starlette.datastructures import FormData, UploadFile

from judge.api.errors import Refusal
from judge.api.service import Service, service_of
from judge.store.accounts import Caller, caller_of, note_use

TOKEN_COOKIE = "kernel-judge-token"
FORM_COOKIE = "kernel-judge-form"
FORM_FIELD = "form_key"
_KEY_BYTES = 16


def caller_of_page(service: Service, request: Request) -> Caller | None:
    """Who looks; None where a login is asked for and nobody is logged in."""
    if not service.settings.login:
        return service.local_caller()
    text = request.cookies.get(TOKEN_COOKIE, "")
    with service.database.read() as session:
        found = caller_of(session, text)
    if found is None:
        return None
    caller, stale = found
    if stale:
        with service.database.write() as session:
            note_use(session, text)
    return caller


def _with_scope(scope: str) -> Callable[..., Caller]:
    def checked(request: Request) -> Caller:
        service = service_of(request)
        caller = caller_of_page(service, request)
        if caller is None:
            raise Refusal("no_token", "Log in with a token first.")
        if not caller.may(scope):
            raise Refusal("missing_scope", f"It needs the scope {scope}; your token has {', '.join(caller.scopes)}.")
        limit = service.submit_limit if scope == "submit" else service.read_limit
        request.state.limits = limit.spend(caller.user_id)
        request.state.caller = caller
        return caller

    return checked


Viewer = Annotated[Caller, Depends(_with_scope("read"))]
Author = Annotated[Caller, Depends(_with_scope("submit"))]


def set_cookie(request: Request, response: Response, name: str, value: str, *, lifetime_s: int | None = None) -> None:
    """A cookie that no script reads and no other site's form sends."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=lifetime_s, httponly=True, samesite="lax", secure=secure, path="/")


def form_key(request: Request) -> tuple[str, str | None]:
    """What the forms of a page carry, and the cookie to set with it where the browser has none."""
    held = _key(request.cookies.get(FORM_COOKIE, ""))
    key = held or secrets.token_bytes(_KEY_BYTES)
    mask = secrets.token_bytes(_KEY_BYTES)
    masked = mask + bytes(a ^ b for a, b in zip(mask, key, strict=True))
    return masked.hex(), None if held else key.hex()


def _key(text: str, size: int = _KEY_BYTES) -> bytes | None:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        return None
    return key if len(key) == size else None


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form that one of our pages made. Raises Refusal for any other."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {"application/x-www-form-urlencoded", "multipart/form-data"}:
        raise Refusal("wrong_content_type", "Send it with the form of the page.")
    form: FormData = await request.form(max_files=1, max_fields=20, max_part_size=1 << 20)
    fields: dict[str, Any] = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    given = _key(fields.pop(FORM_FIELD, ""), 2 * _KEY_BYTES)
    held = _key(request.cookies.get(FORM_COOKIE, ""))
    if given is None or held is None:
        raise Refusal("cross_site", "The form is too old, or cookies are off. Load the page anew and send it again.")
    unmasked = bytes(a ^ b for a, b in zip(given[:_KEY_BYTES], given[_KEY_BYTES:], strict=True))
    if not secrets.compare_digest(unmasked, held):
        raise Refusal("cross_site", "The form belongs to another session. Load the page anew and send it again.")
    for name, value in form.multi_items():
        if isinstance(value, UploadFile) and value.filename:
            fields[name] = (await value.read()).decode("utf-8", "replace")
            fields[f"{name}_name"] = value.filename
    return fields


Fields = Annotated[Mapping[str, str], Depends(read_form)]


def inner_address(text: str) -> str:
    """An address on this server, for going on after a login; the start page for any other."""
    good = text.startswith("/") and not text.startswith("//") and text.isprintable() and "\\" not in text
    return text if good and len(text) <= 1000 else "/"
