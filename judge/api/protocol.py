"""uvicorn's HTTP protocol with the two things it lacks: an end for slow heads, and errors in our one shape."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from judge.api.errors import MEDIA_TYPE, Refusal
from judge.api.guard import MAX_HEAD_BYTES


class PatientProtocol(H11Protocol):
    """header_limit_s: how long the head of a request may take, from its first byte or from the connection's start.
    send_limit_s: how long a client may take nothing of what is sent while its buffer is full.
    """

    header_limit_s = 10.0
    send_limit_s = 30.0
    _timer: asyncio.TimerHandle | None = None
    _deaf: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_deaf()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        # Not close(): that would wait until the client has taken what is left.
        self._deaf = self.loop.call_later(self.send_limit_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_deaf()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._deaf = self.loop.call_later(self.send_limit_s, self.transport.abort)

    def handle_events(self) -> None:
        super().handle_events()
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE:
            # Part of a head is there, or none at all: then the keep-alive time decides, if it runs.
            if self._timer is None and self.timeout_keep_alive_task is None:
                self._expect_head()
        else:
            self._stop_timer()

    def _should_upgrade(self) -> bool:
        # Nothing here speaks WebSocket; such a request is answered as if it had not asked.
        return False

    def _expect_head(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.header_limit_s, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_deaf(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self._refuse(Refusal("too_slow", f"The head was not complete within {self.header_limit_s:g} s."))

    def send_400_response(self, msg: str) -> None:
        """Called for what is no HTTP; h11 has thrown the reason away but for a head that is too large."""
        if self.conn.trailing_data[0] and len(self.conn.trailing_data[0]) > MAX_HEAD_BYTES:
            self._refuse(Refusal("headers_too_large", f"The head of a request has at most {MAX_HEAD_BYTES} bytes."))
        else:
            self._refuse(Refusal("bad_request", "This is no HTTP request."))

    def _refuse(self, refusal: Refusal) -> None:
        body = refusal.body()
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            response = h11.Response(
                status_code=refusal.status, headers=headers, reason=STATUS_PHRASES.get(refusal.status, b"")
            )
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
