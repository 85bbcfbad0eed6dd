"""Long polling: answer when a submission is over, when the time is, or when nobody listens any more."""

import asyncio

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from judge.api.service import Service
from judge.store.submissions import changes

OVER = frozenset({"done", "cancelled"})
LISTENS_S = 1.0


async def wait_until_over(request: Request, service: Service, submission_id: str, limit_s: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    with service.hub.watching(submission_id) as changed:
        while not service.hub.closing:
            told = changed.is_set()
            changed.clear()
            # Who was woken is told what changed; who was not looks, and so does everybody at first.
            state = service.hub.state(submission_id) if told else None
            if state is None:
                state = await run_in_threadpool(_state, service, submission_id)
            left = deadline - loop.time()
            if state in OVER or left <= 0 or await request.is_disconnected():
                return
            try:
                await asyncio.wait_for(changed.wait(), min(left, LISTENS_S))
            except TimeoutError:
                continue


def _state(service: Service, submission_id: str) -> str:
    with service.database.read() as session:
        return changes(session, [submission_id])[submission_id][0]
