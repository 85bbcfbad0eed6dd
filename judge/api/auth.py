"""Who asks: the bearer token of a request, or the local user where no login is asked for."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from starlette.concurrency import run_in_threadpool

from judge.api.errors import Refusal
from judge.api.service import Service, service_of
from judge.store.accounts import Caller, caller_of, note_use, still_good

_bearer = HTTPBearer(auto_error=False, description="A token of `judge token create`. None is asked for on loopback.")
_REALM = 'Bearer realm="kernel-judge"'
_CHALLENGE = {"WWW-Authenticate": _REALM}


def _caller(service: Service, request: Request) -> Caller:
    given = request.headers.get("authorization", "")
    if not given:
        raise Refusal("no_token", "Send `Authorization: Bearer TOKEN`.", headers=_CHALLENGE)
    scheme, _, token = given.partition(" ")
    found = None
    if scheme.lower() == "bearer":
        with service.database.read() as session:
            found = caller_of(session, token.strip())
    if found is None:
        raise _bad_token()
    caller, stale = found
    if stale:
        with service.database.write() as session:
            note_use(session, token.strip())
    return caller


def _bad_token() -> Refusal:
    told = "Make another with `judge token create`."
    return Refusal("bad_token", told, headers={"WWW-Authenticate": f'{_REALM}, error="invalid_token"'})


def confirm(service: Service, caller: Caller) -> None:
    """For answers that took a while. Raises Refusal when the caller's token ended meanwhile."""
    with service.database.read() as session:
        if not still_good(session, caller):
            raise _bad_token()


def _local_caller(service: Service, _request: Request) -> Caller:
    return service.local_caller()


def _with_scope(scope: str) -> Callable[..., Awaitable[Caller]]:
    async def checked(
        request: Request,
        _token: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None,
    ) -> Caller:
        service = service_of(request)
        caller = service.known_local_caller
        if caller is None:
            ask = _caller if service.settings.login else _local_caller
            caller = await run_in_threadpool(ask, service, request)
        if not caller.may(scope):
            raise Refusal("missing_scope", f"It needs the scope {scope}; this token has {', '.join(caller.scopes)}.")
        limit = service.submit_limit if scope == "submit" else service.read_limit
        # The guard puts them on whatever answer comes of it, an error included.
        request.state.limits = limit.spend(caller.user_id)
        return caller

    return checked


Submitter = Annotated[Caller, Depends(_with_scope("submit"))]
Reader = Annotated[Caller, Depends(_with_scope("read"))]
