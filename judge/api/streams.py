"""Server-sent events of one submission: what is in the database first, then what comes, then the end.

The id of an event is its number in the submission, so whoever lost the connection goes on after the last one seen,
at any server of the same database.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence

from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from judge.api.service import Service
from judge.api.waiting import OVER
from judge.store.database import StoreUnavailable
from judge.store.models import Event
from judge.store.submissions import changes, events_after

COMMENT_S = 15.0
CHECK_S = 1.0
RETRY_MS = 1000
PAGE = 200
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """Ends by itself after the event that ends the submission, and when the server shuts down.

    allowed: whether the watcher may still see it. It is asked before events are sent, at most once in CHECK_S, and
    the stream ends when it is not so.
    """

    def __init__(
        self, service: Service, user_id: str, submission_id: str, start: int, allowed: Callable[[Session], bool]
    ) -> None:
        super().__init__(
            self._lines(service, user_id, submission_id, start, allowed),
            media_type="text/event-stream",
            headers=STREAM_HEADERS,
        )

    async def _lines(
        self, service: Service, user_id: str, submission_id: str, start: int, allowed: Callable[[Session], bool]
    ) -> AsyncIterator[str]:
        last = start
        loop = asyncio.get_running_loop()
        checked_at = loop.time()
        end = loop.time() + service.settings.stream_limit_s
        with service.streams.held(user_id), service.hub.watching(submission_id) as changed:
            yield f"retry: {RETRY_MS}\n\n"
            while not service.hub.closing and loop.time() < end:
                changed.clear()
                check = loop.time() - checked_at >= CHECK_S
                checked_at = loop.time() if check else checked_at
                try:
                    read = await run_in_threadpool(_read, service, submission_id, last, allowed if check else None)
                except StoreUnavailable:
                    checked_at -= CHECK_S
                    yield ": the database is away\n\n"
                    await asyncio.sleep(1.0)
                    continue
                if read is None:
                    yield ": you may not watch it any longer\n\n"
                    return
                found, over = read
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


def _read(
    service: Service, submission_id: str, last: int, allowed: Callable[[Session], bool] | None
) -> tuple[Sequence[Event], bool] | None:
    """Events after the last, and whether none will follow these. None when the watcher is asked for and not allowed."""
    with service.database.read() as session:
        if allowed is not None and not allowed(session):
            return None
        state, newest = changes(session, [submission_id])[submission_id]
        found = events_after(session, submission_id, last, PAGE)
        reached = found[-1].number if found else last
        return found, state in OVER and reached >= newest


def as_line(event: Event) -> str:
    # json.dumps leaves no line end in it, so nothing in the data can begin a field of its own.
    data = json.dumps({"attempt": event.attempt, "at": event.created_at, **event.data})
    return f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n"
