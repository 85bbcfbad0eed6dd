"""The pages over a store of their own, asked in this process: nothing judges, results are planted as a lane would."""

import re
import time
from contextlib import contextmanager

from starlette.testclient import TestClient

from judge.api.app import create_app
from judge.api.models import SubmissionAnswer
from judge.api.service import Service
from judge.api.settings import ApiSettings
from judge.dispatch.sink import StoreSink
from judge.reports.json import render_json
from judge.store import queue
from judge.store.accounts import create_token
from judge.store.database import Database
from judge.web import pages

HTML = {"Accept": "text/html"}


class Site:
    """client: a browser without JavaScript."""

    def __init__(self, service, client):
        self.service = service
        self.client = client

    def get(self, path, **more):
        return self.client.get(path, headers=HTML | more.pop("headers", {}), **more)

    def form(self, page):
        """The hidden fields of the forms of a page."""
        text = self.get(page).text
        fields = {"form_key": re.search(r'name="form_key" value="([0-9a-f]+)"', text)[1]}
        once = re.search(r'name="once" value="(\w+)"', text)
        return fields | ({"once": once[1]} if once else {})

    def post(self, path, page="/login", **fields):
        """Send a form of a page; where the answer leads is not followed."""
        data = self.form(page) | fields
        return self.client.post(path, data=data, headers=HTML, follow_redirects=False)

    def submit(self, source="__global__ void k() {}\n", problem="splitk-merge", **fields):
        """Id of a new submission."""
        page = f"/problems/{problem}"
        answer = self.post(f"{page}/submissions", page, source=source, backend="cpu", cases="all", **fields)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].rpartition("/")[2]

    def plant(self, submission, report, worker="test/0"):
        """Claim it and store a report."""
        database = self.service.database
        with database.write() as session:
            lease = queue.claim(session, submission, worker).lease
        sink = StoreSink()
        for place, case in enumerate(report.cases, start=1):
            sink.case_finished(case, place, len(report.cases))
        with database.write() as session:
            queue.finish(session, lease, report, render_json(report), sink.take())
        return submission

    def token(self, name="tess", scopes=("submit", "read"), lifetime_s=1000.0):
        with self.service.database.write() as session:
            return create_token(session, name, scopes, lifetime_s)[0]


@contextmanager
def opened(url, problems, **settings):
    """A site on an empty database."""
    service = Service(ApiSettings(database=url, hosts=("testserver",), **settings), Database(url))
    service.problems = problems
    with TestClient(create_app(service, pages())) as client:
        yield Site(service, client)
    service.database.close()


def answer(problem="splitk-merge", **changes):
    """What the API says of a submission that is over."""
    base = f"/api/v1/submissions/{'0' * 32}"
    told = {
        "id": "0" * 32,
        "state": "done",
        "problem": {"id": problem, "version": "0" * 12},
        "name": "mine.cu",
        "backend": "cpu",
        "device": None,
        "cases": "all",
        "visibility": "private",
        "user": "local",
        "queue": "cpu",
        "attempt": 1,
        "events": 3,
        "created_at": 0.0,
        "links": {"self": base, "events": base, "source": base, "attempts": base, "report": base},
    }
    return SubmissionAnswer.model_validate(told | changes)


def wait_until(condition, limit_s=60.0):
    deadline = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)
    return value
