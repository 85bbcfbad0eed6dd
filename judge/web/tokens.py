"""Logging in with a token, and the tokens of whoever is logged in."""

import time

from fastapi import APIRouter, Request, Response

from judge.api.errors import Refusal
from judge.api.models import moment
from judge.api.service import service_of
from judge.errors import UsageError
from judge.store.accounts import SCOPES, Caller, caller_of, create_token, list_tokens, revoke_token
from judge.web.rendering import go_to, render
from judge.web.sessions import TOKEN_COOKIE, Author, Fields, Viewer, inner_address, set_cookie

router = APIRouter()

DAY_S = 86400.0
LIFETIMES = {"7": 7 * DAY_S, "30": 30 * DAY_S, "90": 90 * DAY_S}
LOGIN_S = 30 * 86400


@router.get("/login")
def login_page(request: Request, next: str = "/") -> Response:
    """Where a token is asked for."""
    return render(request, "login.html", following=inner_address(next), wrong=False)


@router.post("/login")
def login(request: Request, fields: Fields) -> Response:
    """Keep the token in a cookie, if it is good."""
    service = service_of(request)
    text = fields.get("token", "").strip()
    following = inner_address(fields.get("next", "/"))
    with service.database.read() as session:
        found = caller_of(session, text)
    if found is None:
        return render(request, "login.html", status=401, following=following, wrong=True)
    response = go_to(following)
    set_cookie(request, response, TOKEN_COOKIE, text, lifetime_s=LOGIN_S)
    return response


@router.post("/logout")
def logout(request: Request, fields: Fields) -> Response:
    """Forget the token here; it stays good elsewhere."""
    response = go_to("/login" if service_of(request).settings.login else "/")
    response.delete_cookie(TOKEN_COOKIE, path="/")
    return response


@router.get("/tokens")
def tokens(request: Request, caller: Viewer) -> Response:
    """One's own tokens."""
    return _page(request, caller)


def _page(request: Request, caller: Caller, made: str | None = None, wrong: str | None = None) -> Response:
    with service_of(request).database.read() as session:
        rows = [
            {
                "id": one.id,
                "label": one.label,
                "scopes": ", ".join(one.scopes),
                "state": _state(one.revoked_at, one.expires_at),
                "created": moment(one.created_at),
                "expires": moment(one.expires_at),
                "used": moment(one.used_at),
            }
            for one, _ in list_tokens(session, caller.user_id)
        ]
    offered = [scope for scope in SCOPES if caller.may(scope)]
    status = 200 if wrong is None else 422
    return render(request, "tokens.html", status=status, tokens=rows, offered=offered, made=made, wrong=wrong)


def _state(revoked_at: float | None, expires_at: float | None) -> str:
    if revoked_at is not None:
        return "revoked"
    return "expired" if expires_at is not None and expires_at <= time.time() else "good"


@router.post("/tokens")
def create(request: Request, caller: Author, fields: Fields) -> Response:
    """A new token, shown in the answer and never again. It can do no more than its maker's, and ends with that one."""
    wanted = [scope for scope in SCOPES if fields.get(f"scope_{scope}")]
    over = [scope for scope in wanted if not caller.may(scope)]
    if over:
        raise Refusal("missing_scope", f"You cannot give what you do not have: {', '.join(over)}.")
    lifetime = LIFETIMES.get(fields.get("days", "90"), 90 * DAY_S)
    try:
        with service_of(request).database.write() as session:
            text, _ = create_token(session, caller.name, wanted, lifetime, fields.get("label", ""), caller)
    except UsageError as error:
        return _page(request, caller, wrong=str(error))
    return _page(request, caller, made=text)


@router.post("/tokens/{token_id}/revoke")
def revoke(request: Request, caller: Author, token_id: str, fields: Fields) -> Response:
    """End one of one's own tokens at once."""
    with service_of(request).database.write() as session:
        if token_id not in {one.id for one, _ in list_tokens(session, caller.user_id)}:
            raise Refusal("not_found", "You have no such token.")
        revoke_token(session, token_id)
    return go_to("/tokens")
