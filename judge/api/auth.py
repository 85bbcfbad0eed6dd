"""Who asks: the bearer token of a request, or the local user where no login is asked for."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
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


class _Allowed:
    """As a dependency: who asks, if they have the scope and requests left. Asked twice it counts one request."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    async def __call__(
        self, request: Request, _token: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None
    ) -> Caller:
        return await self.check(request)

    async def check(self, request: Request) -> Caller:
        known: dict[str, Caller] = request.scope.setdefault("state", {}).setdefault("callers", {})
        if self._scope not in known:
            known[self._scope] = await self._found(request)
        return known[self._scope]

    async def _found(self, request: Request) -> Caller:
        service = service_of(request)
        caller = service.known_local_caller
        if caller is None:
            ask = _caller if service.settings.login else _local_caller
            caller = await run_in_threadpool(ask, service, request)
        if not caller.may(self._scope):
            told = f"It needs the scope {self._scope}; this token has {', '.join(caller.scopes)}."
            raise Refusal("missing_scope", told)
        limit = service.submit_limit if self._scope == "submit" else service.read_limit
        # The guard puts them on whatever answer comes of it, an error included.
        request.state.limits = limit.spend(caller.user_id)
        return caller


class AskedFirst(APIRoute):
    """A route that knows who asks before it reads the body: FastAPI by itself parses that before any dependency."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        asked = [one.call for one in self.dependant.dependencies if isinstance(one.call, _Allowed)]

        async def handle_those_allowed(request: Request) -> Response:
            for allowed in asked:
                await allowed.check(request)
            return await handle(request)

        return handle_those_allowed


Submitter = Annotated[Caller, Depends(_Allowed("submit"))]
Reader = Annotated[Caller, Depends(_Allowed("read"))]
