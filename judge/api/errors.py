"""Every error the API answers with, in one table, and in one shape: problem+json (RFC 9457).

    {"type": "urn:kernel-judge:error:CODE", "title", "status", "detail", "code", "errors"?: [{"pointer", "detail"}],
     "incident"?}

The code is stable and has a heading in docs/api.md. A fault of the judge has an incident id, never details.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"
MAX_DETAIL = 500


@dataclass(frozen=True)
class ErrorKind:
    status: int
    title: str


ERRORS = {
    "bad_request": ErrorKind(400, "The request cannot be read."),
    "wrong_host": ErrorKind(400, "The server is not called by this name."),
    "no_token": ErrorKind(401, "A token is needed."),
    "bad_token": ErrorKind(401, "The token is not known, was revoked or is too old."),
    "missing_scope": ErrorKind(403, "The token does not allow this."),
    "cross_site": ErrorKind(403, "Another web site sent this request."),
    "not_found": ErrorKind(404, "There is nothing at this address."),
    "no_such_submission": ErrorKind(404, "There is no such submission, or it is not yours to see."),
    "no_such_problem": ErrorKind(404, "There is no such problem."),
    "method_not_allowed": ErrorKind(405, "This address does not take that method."),
    "too_slow": ErrorKind(408, "The request took too long to arrive."),
    "no_such_device": ErrorKind(409, "No device of this server judges that."),
    "no_report": ErrorKind(409, "There is no report yet."),
    "too_large": ErrorKind(413, "The request is too large."),
    "wrong_content_type": ErrorKind(415, "The body is not JSON."),
    "invalid": ErrorKind(422, "The request does not say what it must."),
    "key_reused": ErrorKind(422, "The Idempotency-Key stood for another request."),
    "rate_limited": ErrorKind(429, "Too many requests."),
    "too_many_waiting": ErrorKind(429, "Too many of your submissions wait."),
    "too_many_streams": ErrorKind(429, "Too many event streams are open."),
    "headers_too_large": ErrorKind(431, "The head of the request is too large."),
    "internal": ErrorKind(500, "The judge failed."),
    "queue_full": ErrorKind(503, "The queue is full."),
    "store_unavailable": ErrorKind(503, "The database is away."),
    "store_full": ErrorKind(507, "The disk of the server is full."),
}


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """An answer that is an error. errors: (JSON pointer or name of the parameter, what is wrong with it)."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        incident: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})
        self.incident = incident

    @property
    def status(self) -> int:
        return ERRORS[self.code].status

    def body(self) -> bytes:
        kind = ERRORS[self.code]
        content: dict[str, Any] = {
            "type": f"urn:kernel-judge:error:{self.code}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail[:MAX_DETAIL],
            "code": self.code,
        }
        if self.errors:
            content["errors"] = [
                {"pointer": where[:MAX_DETAIL], "detail": what[:MAX_DETAIL]} for where, what in self.errors
            ]
        if self.incident:
            content["incident"] = self.incident
        return json.dumps(content).encode()


def refusal_of_status(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Refusal:
    """The refusal for an error that a library answers with: routing, a body that is no JSON."""
    codes = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 422: "invalid"}
    if status >= 500 or status not in codes:
        return Refusal("internal" if status >= 500 else "bad_request", detail or HTTPStatus(status).phrase)
    return Refusal(codes[status], detail, headers=headers)
