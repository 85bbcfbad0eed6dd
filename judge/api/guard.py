"""The first thing every request meets: size and pace of its body, names and origins, and headers of every answer.

It is plain ASGI, around everything else: what it refuses costs no parsing, and nothing inside can forget it.
"""

import asyncio
import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

import structlog

from judge.api.errors import MEDIA_TYPE, Refusal
from judge.api.settings import ApiSettings

MAX_BODY_BYTES = 1 << 20
MAX_HEAD_BYTES = 8 * 1024
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_PROCESS = secrets.token_hex(4)
_count = itertools.count(1)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(:[0-9]{0,5})?")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'")

_log = structlog.get_logger()


class _ClientGone(Exception):  # noqa: N818 - how a connection ended
    pass


class Guard:
    def __init__(self, app: App, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else f"{_PROCESS}{next(_count):08x}"
        state = scope.setdefault("state", {})
        only_head = scope["method"] == "HEAD"
        state |= {"request_id": request_id, "only_head": only_head}
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name.lower() for name, _ in message["headers"]}
                added = [pair for pair in (*_HEADERS, _POLICY) if pair[0] not in present]
                if b"cache-control" not in present:
                    added.append((b"cache-control", b"no-store"))
                limits = scope["state"].get("limits", {})
                added += [
                    (n.lower().encode(), v.encode()) for n, v in limits.items() if n.lower().encode() not in present
                ]
                message["headers"] = [*message["headers"], *added, (b"x-request-id", request_id.encode())]
            elif only_head:
                message = {**message, "body": b""}
            await send(message)

        try:
            self._check(scope, headers)
            body = await self._body(headers, receive)
            # HEAD is answered as GET is, headers of the body included, for every address at once.
            asked = {**scope, "method": "GET"} if only_head else scope
            await self._app(asked, _replay(body, receive), send_on)
        except Refusal as refusal:
            await _answer(refusal, send_on)
        except _ClientGone:
            status = status or 499
        finally:
            _log.info(
                "request",
                request=request_id,
                method=scope["method"],
                path=scope["path"],
                status=status,
                ms=round(1000 * (time.monotonic() - began), 1),
                client=(scope.get("client") or ("",))[0],
            )

    def _check(self, scope: Message, headers: dict[str, str]) -> None:
        """Raises Refusal for a name the server does not have and for what a foreign web page sent."""
        size = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["query_string"])
        if size + len(scope["raw_path"]) > MAX_HEAD_BYTES:
            told = f"The head of a request has at most {MAX_HEAD_BYTES} bytes."
            raise Refusal("headers_too_large", told, headers=_CLOSE)
        if "content-length" in headers and "transfer-encoding" in headers:
            # Whoever stands before this server may have read the other one of them.
            raise Refusal("bad_request", "A body has a length or comes in chunks, not both.", headers=_CLOSE)
        host = headers.get("host", "")
        if self._settings.hosts and _name_of(host) not in self._settings.hosts:
            raise Refusal(
                "wrong_host", f"Call the server by one of: {', '.join(self._settings.hosts)}.", headers=_CLOSE
            )
        if not _readable(host):
            raise Refusal("bad_request", "The Host header is no name with or without a port.", headers=_CLOSE)
        if scope["method"] in SAFE_METHODS:
            return
        origin = headers.get("origin")
        foreign = origin is not None and _place(origin) != host
        if foreign or headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            raise Refusal("cross_site", "Send it from this server's own pages, or from no page.", headers=_CLOSE)

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        """All of the body. Raises Refusal as soon as it is too large or too slow."""
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > MAX_BODY_BYTES:
            raise _too_large()
        if not announced and "transfer-encoding" not in headers:
            return b""
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_limit_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientGone
                    body += message.get("body", b"")
                    if len(body) > MAX_BODY_BYTES:
                        raise _too_large()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            limit = f"{self._settings.body_limit_s:g} s"
            raise Refusal("too_slow", f"The body was not complete within {limit}.", headers=_CLOSE) from None


_CLOSE = {"Connection": "close"}


def _too_large() -> Refusal:
    return Refusal("too_large", f"A body has at most {MAX_BODY_BYTES} bytes.", headers=_CLOSE)


def _place(origin: str) -> str | None:
    """Name and port of an Origin header; None where it cannot be read, which is nobody's place."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _readable(host: str) -> bool:
    """Whether addresses with this Host header can be taken apart, as all that answers does with them."""
    return bool(_HOST.fullmatch(host)) and _place(f"//{host}") == host


def _name_of(host: str) -> str:
    """The name in a Host header, without its port."""
    return host.lower().rpartition(":")[0] if re.search(r":\d{1,5}$", host) else host.lower()


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replayed() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replayed


async def _answer(refusal: Refusal, send: Send) -> None:
    body = refusal.body()
    headers = {"Content-Type": MEDIA_TYPE, "Content-Length": str(len(body)), **refusal.headers}
    await send(
        {
            "type": "http.response.start",
            "status": refusal.status,
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})
