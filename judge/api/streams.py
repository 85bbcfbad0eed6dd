"""Server-sent events of one submission: what is in the database first, then what comes, then the end.

The id of an event is its number in the submission, so whoever lost the connection goes on after the last one seen,
at any server of the same database.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from judge.api.service import Service
from judge.api.waiting import OVER
from judge.store.database import StoreUnavailable
from judge.store.models import Event
from judge.store.submissions import changes, events_after

COMMENT_S = 15.0
RETRY_MS = 1000
PAGE = 200


class EventStream(StreamingResponse):
    """Ends by itself after the event that ends the submission, and when the server shuts down."""

    def __init__(self, service: Service, user_id: str, submission_id: str, start: int) -> None:
        super().__init__(
            self._lines(service, user_id, submission_id, start),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def _lines(self, service: Service, user_id: str, submission_id: str, start: int) -> AsyncIterator[str]:
        last = start
        loop = asyncio.get_running_loop()
        end = loop.time() + service.settings.stream_limit_s
        with service.streams.held(user_id), service.hub.watching(submission_id) as changed:
            yield f"retry: {RETRY_MS}\n\n"
            while not service.hub.closing and loop.time() < end:
                changed.clear()
                try:
                    found, over = await run_in_threadpool(_read, service, submission_id, last)
                except StoreUnavailable:
                    yield ": the database is away\n\n"
                    await asyncio.sleep(1.0)
                    continue
                for event in found:
                    last = event.number
                    yield as_line(event)
                if len(found) == PAGE:
                    continue
                if over:
                    return
                try:
                    await asyncio.wait_for(changed.wait(), min(COMMENT_S, max(end - loop.time(), 0.0)))
                except TimeoutError:
                    yield ": still here\n\n"


def _read(service: Service, submission_id: str, last: int) -> tuple[Sequence[Event], bool]:
    """Events after the last, and whether none will follow these."""
    with service.database.read() as session:
        state, newest = changes(session, [submission_id])[submission_id]
        found = events_after(session, submission_id, last, PAGE)
        reached = found[-1].number if found else last
        return found, state in OVER and reached >= newest


def as_line(event: Event) -> str:
    # json.dumps leaves no line end in it, so nothing in the data can begin a field of its own.
    data = json.dumps({"attempt": event.attempt, "at": event.created_at, **event.data})
    return f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n"
