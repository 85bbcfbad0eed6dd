"""The API's contract against a real server that judges nothing: the test plays the worker where one is needed."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote
from xml.etree import ElementTree

import httpx
import jsonschema
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from judge.api.catalogue import bench_cases
from judge.api.errors import ERRORS
from judge.catalogue import find_problems, load_problem
from judge.store import accounts, devices, models, queue, submissions
from judge.store.database import Database
from judge.store.desk import Room
from tests.service.conftest import free_port
from tests.service.running import RIGHT, WRONG, body, start_api, submit, until
from tests.service.test_store import report

API = "/api/v1"


@pytest.fixture(scope="module")
def place(tmp_path_factory, empty_file):
    """Folder and URL of a database for the servers of this module."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "judge.db").write_bytes(empty_file.read_bytes())
    return folder, f"sqlite:///{folder}/judge.db"


@pytest.fixture(scope="module")
def metrics_port():
    return free_port()


@pytest.fixture(scope="module")
def open_api(place, metrics_port):
    running = start_api(place[1], place[0], metrics_port=metrics_port)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def strict_api(place, open_api):
    """With login, for a server that is called by any name; few requests are allowed."""
    running = start_api(
        place[1], place[0], login=True, hosts=(), submit_rate=5, max_waiting_of_user=8, max_streams_of_user=1
    )
    yield running
    running.stop()


@pytest.fixture
def store(place):
    database = Database(place[1])
    yield database
    database.close()


def token(store, name, *scopes, lifetime_s=None):
    with store.write() as session:
        return accounts.create_token(session, name, scopes or ("submit", "read"), lifetime_s)[0]


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


def play_worker(store, submission, told=None, lines=()):
    """Claim a submission and store a report, as a lane does."""
    with store.write() as session:
        lease = queue.claim(session, submission, "test/0").lease
    with store.write() as session:
        told = told or report()
        queue.finish(session, lease, told, told.model_dump_json(), lines)


def refused(answer, code):
    """Check the one shape of errors; gives the body."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    told = answer.json()
    assert set(told) <= {"type", "title", "status", "detail", "code", "errors", "incident"}
    assert (told["code"], told["status"]) == (code, answer.status_code), told
    assert told["status"] == ERRORS[code].status
    assert told["type"] == f"urn:kernel-judge:error:{code}"
    assert 0 < len(told["detail"]) <= 500
    return told


def test_a_submission_is_stored_before_it_is_answered(open_api, store):
    answer = open_api.client.post(f"{API}/submissions", json=body(name="mine.cu", visibility="unlisted"))
    told = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"{API}/submissions/{told['id']}"
    assert answer.headers["retry-after"] == "1"
    assert (told["state"], told["attempt"], told["verdict"], told["report"]) == ("queued", 0, None, None)
    assert told["position"] >= 1
    assert told["waiting_for"] == "a device that serves cpu"
    with store.read() as session:
        found, name = queue_submission(session, told["id"])
    assert (found.name, name, found.state) == ("mine.cu", "local", "queued")
    assert open_api.client.get(told["links"]["source"]).text == RIGHT


def queue_submission(session, submission):
    from judge.store.submissions import find

    return find(session, submission)


BAD_BODIES = {
    "empty": (b"", "invalid"),
    "no JSON": (b"{", "bad_request"),
    "half a word": (b"nul", "bad_request"),
    "not UTF-8": (b'{"problem": "\xff"}', "bad_request"),
    "a list": (b"[]", "invalid"),
    "a number": (b"1e999", "invalid"),
    "NaN": (b'{"problem": "splitk-merge", "source": "x", "seed": NaN}', "invalid"),
    "infinite seed": (b'{"problem": "splitk-merge", "source": "x", "seed": 1e999}', "invalid"),
    "huge seed": (b'{"problem": "splitk-merge", "source": "x", "seed": 99999999999999999999}', "invalid"),
    "deep": (b"[" * 100_000, "bad_request"),
    "deep object": (b'{"a":' * 100_000, "bad_request"),
    "many fields": (json.dumps({f"f{i}": i for i in range(50_000)}).encode(), "invalid"),
    "a digit too many": (b'{"seed": ' + b"9" * 5000 + b"}", "bad_request"),
    "no fields": (b"{}", "invalid"),
    "null source": (b'{"problem": "splitk-merge", "source": null}', "invalid"),
    "source is a list": (b'{"problem": "splitk-merge", "source": ["x"]}', "invalid"),
    "seed is text": (b'{"problem": "splitk-merge", "source": "x", "seed": "1"}', "invalid"),
    "seed is true": (b'{"problem": "splitk-merge", "source": "x", "seed": true}', "invalid"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_says_nothing_right_is_refused(open_api, name):
    sent, code = BAD_BODIES[name]
    answer = open_api.client.post(f"{API}/submissions", content=sent, headers={"Content-Type": "application/json"})
    refused(answer, code)


@pytest.mark.parametrize("count", [65, 85_000])
def test_many_members_are_refused_with_one_error(open_api, count):
    answer = open_api.client.post(f"{API}/submissions", json={str(number): 0 for number in range(count)})
    [only] = refused(answer, "invalid")["errors"]
    assert only["detail"] == f"{count} members, at most 64"


def test_a_member_with_a_long_name_is_not_sent_back_whole(open_api):
    answer = open_api.client.post(f"{API}/submissions", json=body(**{"x" * 500_000: 1}))
    refused(answer, "invalid")
    assert len(answer.content) < 4000


BAD_FIELDS = {
    "NUL in source": ({"source": "ab\0c"}, "invalid", "/source"),
    "NUL in name": ({"name": "a\0.cu"}, "invalid", "/name"),
    "half a surrogate": ({"source": "\ud800"}, "invalid", "/source"),
    "line end in name": ({"name": "a\nX-Evil: 1"}, "invalid", "/name"),
    "long name": ({"name": "a" * 256}, "invalid", "/name"),
    "empty name": ({"name": ""}, "invalid", "/name"),
    "unknown field": ({"compile_options": ["-O0"]}, "invalid", "/compile_options"),
    "callback": ({"callback_url": "http://127.0.0.1/"}, "invalid", "/callback_url"),
    "limits": ({"time_limit_s": 1e9}, "invalid", "/time_limit_s"),
    "network": ({"network": True}, "invalid", "/network"),
    "backend": ({"backend": "gpu"}, "invalid", "/backend"),
    "cases": ({"cases": "ALL"}, "invalid", "/cases"),
    "visibility": ({"visibility": "all"}, "invalid", "/visibility"),
    "negative seed": ({"seed": -1}, "invalid", "/seed"),
    "SQL device": ({"backend": "cuda", "device": "h200'; DROP TABLE submissions; --"}, "invalid", "/device"),
    "device on the CPU": ({"device": "h200"}, "no_such_device", "/device"),
    "bench on the CPU": ({"cases": "bench"}, "no_such_device", "/cases"),
    "no GPU": ({"backend": "cuda"}, "no_such_device", "/backend"),
    "no such GPU": ({"backend": "auto", "device": "h200"}, "no_such_device", "/device"),
    "bench without a GPU": ({"backend": "auto", "cases": "bench"}, "no_such_device", "/backend"),
    "source too large": ({"source": "x" * (256 * 1024 + 1)}, "too_large", "/source"),
    "source too large in bytes": ({"source": "é" * (128 * 1024 + 1)}, "too_large", "/source"),
}


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_a_field_that_is_wrong_is_named(open_api, name):
    changes, code, pointer = BAD_FIELDS[name]
    sent = json.dumps(body(**changes)).encode()
    answer = open_api.client.post(f"{API}/submissions", content=sent, headers={"Content-Type": "application/json"})
    assert pointer in [one["pointer"] for one in refused(answer, code)["errors"]]


def test_a_nul_is_told_with_its_byte(open_api):
    told = refused(open_api.client.post(f"{API}/submissions", json=body("é\0")), "invalid")
    assert "byte 2" in told["errors"][0]["detail"]


PROBLEM_IDS = [
    "../x", "..", "/etc/passwd", "%2e%2e%2f", "splitk-merge/../..", "splitk-merge\0", "x" * 10_000, "․․/x", "CON",
    "_template", "splitk_merge", "SPLITK-MERGE", "'; DROP TABLE users; --", "<script>alert(1)</script>", "\x1b[31m",
    " ",
]  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEM_IDS, ids=lambda p: repr(p[:24]))
def test_a_problem_that_is_none_is_refused_and_never_looked_for(open_api, problem):
    answer = open_api.client.post(f"{API}/submissions", json=body(problem=problem))
    assert refused(answer, "invalid" if len(problem) > 64 or "\0" in problem else "no_such_problem")
    assert len(answer.content) < 2000
    path = quote(problem, safe="") if "/" not in problem else quote(problem)
    answer = open_api.client.get(f"{API}/problems/{path}")
    if answer.status_code != 200:
        assert answer.json()["code"] in {"no_such_problem", "not_found", "headers_too_large"}
    else:
        assert problem.strip("./% ") == ""


def test_text_of_any_kind_is_kept_as_it_is(open_api):
    texts = [
        "'; DROP TABLE submissions; --",
        "<img src=x onerror=alert(1)>",
        "=cmd|' /C calc'!A0",
        "\x1b[2J",
        "\u202e\r\n",
    ]
    for text in texts:
        submission = submit(open_api.client, text, name="=cmd' OR 1=1 --.cu")
        assert open_api.client.get(f"{API}/submissions/{submission}/source").content == text.encode()
        shown = open_api.client.get(f"{API}/submissions/{submission}/source")
        assert shown.headers["content-type"].startswith("text/plain")
        assert shown.headers["x-content-type-options"] == "nosniff"


IDS = ["0" * 32, "../" + "0" * 29, "x", "0" * 31, "A" * 32, "%00", "0" * 10_00, "0' OR '1'='1"]


@pytest.mark.parametrize("submission", IDS, ids=lambda i: repr(i[:20]))
@pytest.mark.parametrize("rest", ["", "/events", "/source", "/attempts", "/report.json"])
def test_an_id_that_is_none_is_refused(open_api, submission, rest):
    answer = open_api.client.get(f"{API}/submissions/{submission}{rest}")
    assert answer.json()["code"] in {"no_such_submission", "not_found"}
    refused(answer, answer.json()["code"])


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/nothing", "not_found"),
        ("GET", "/api/v1/", "not_found"),
        ("GET", "/api/v1//submissions", "not_found"),
        ("GET", "/api/v1/submissions/", "not_found"),
        ("GET", "/api/v1/../livez", "not_found"),
        ("DELETE", "/api/v1/submissions", "method_not_allowed"),
        ("PATCH", "/livez", "method_not_allowed"),
        ("TRACE", "/livez", "method_not_allowed"),
        ("OPTIONS", "/api/v1/queue", "method_not_allowed"),
    ],
)
def test_what_is_not_there_is_told_in_the_same_shape(open_api, method, path, code):
    raw = open_api.raw(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    head, _, told = raw.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert json.loads(told)["code"] == code
    if code == "method_not_allowed":
        assert b"\r\nallow: " in head.lower()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "invalid"), ("limit=101", "invalid"), ("limit=x", "invalid"), ("state=open", "invalid"),
        ("verdict=good", "invalid"), ("cursor=x", "invalid"), ("cursor=bjotMQ", "invalid"),
        ("cursor=bjoxMjM=", "invalid"), ("cursor=%00", "invalid"), ("cursor=" + "a" * 65, "invalid"),
        ("cursor=bjo5OTk5OTk5OTk5OTk5OTk5OTk5OTk", "invalid"), ("cursor=é", "invalid"),
        ("public=maybe", "invalid"),
        ("limit=1&limit=x", "invalid"),
    ],
)  # fmt: skip
def test_a_query_that_is_wrong_is_refused(open_api, query, code):
    refused(open_api.client.get(f"{API}/submissions?{query}"), code)


def raw_post(length=None, extra="", sent=b"", path=f"{API}/submissions", host="localhost"):
    announced = "" if length is None else f"Content-Length: {length}\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{announced}{extra}\r\n"
    return head.encode("latin-1") + sent


CHUNKED = "Transfer-Encoding: chunked\r\n"
CHUNK = b"80001\r\n" + b"x" * 0x80001 + b"\r\n"
RAW = {
    "length over the limit": (raw_post(2 << 20), 413, "too_large"),
    "absurd length": (raw_post(10**30), 400, "bad_request"),
    "chunks over the limit": (raw_post(extra=CHUNKED, sent=2 * CHUNK), 413, "too_large"),
    "length and chunks": (raw_post(5, CHUNKED, b"0\r\n\r\n"), 400, "bad_request"),
    "two lengths": (raw_post(5, "Content-Length: 6\r\n", b"hello!"), 400, "bad_request"),
    "negative length": (raw_post(-1), 400, "bad_request"),
    "length in words": (raw_post("five"), 400, "bad_request"),
    "head over the limit": (raw_post(0, f"X-Long: {'a' * 20_000}\r\n"), 431, "headers_too_large"),
    "endless head": (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 4000, 431, "headers_too_large"),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n", 400, "bad_request"),
    "header injected": (raw_post(0, "X-A: b\rX-B: c\r\n"), 400, "bad_request"),
    "NUL in a header": (raw_post(0, "X-A: \0\r\n"), 400, "bad_request"),
    "wrong host": (raw_post(0, host="evil.example"), 400, "wrong_host"),
    "no host": (b"GET /livez HTTP/1.0\r\n\r\n", 400, "wrong_host"),
    "another site": (raw_post(2, "Origin: http://evil.example\r\n", b"{}"), 403, "cross_site"),
    "another site's form": (raw_post(2, "Sec-Fetch-Site: cross-site\r\n", b"{}"), 403, "cross_site"),
    "half an origin": (raw_post(2, "Origin: http://[\r\n", b"{}"), 403, "cross_site"),
    "null origin": (raw_post(2, "Origin: null\r\n", b"{}"), 403, "cross_site"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAW)
def test_a_request_that_is_odd_on_the_wire_is_answered_in_the_same_shape(open_api, name):
    sent, status, code = RAW[name]
    head, _, told = open_api.raw(sent).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), head
    assert b"content-type: application/problem+json" in head
    assert json.loads(told)["code"] == code
    assert open_api.client.get("/livez").status_code == 200


def test_a_form_of_another_site_cannot_submit_without_json(open_api):
    answer = open_api.client.post(
        f"{API}/submissions", content=json.dumps(body()), headers={"Content-Type": "text/plain"}
    )
    refused(answer, "wrong_content_type")


def test_a_request_id_is_echoed_only_if_it_is_harmless(open_api):
    assert open_api.client.get("/livez", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    odd = open_api.client.get("/livez", headers={"X-Request-ID": "<b>" * 40}).headers["x-request-id"]
    assert "<" not in odd


def test_every_answer_is_told_to_be_harmless(open_api):
    for path in ("/livez", "/nothing", f"{API}/problems"):
        headers = open_api.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_fifty_at_once_with_one_key_make_one_submission(open_api):
    headers = {"Idempotency-Key": "fifty"}

    def post(_):
        return httpx.post(
            f"http://127.0.0.1:{open_api.port}{API}/submissions", json=body(), headers=headers, timeout=60
        )

    with ThreadPoolExecutor(25) as pool:
        answers = list(pool.map(post, range(50)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    told = refused(open_api.client.post(f"{API}/submissions", json=body(WRONG), headers=headers), "key_reused")
    assert told["status"] == 422


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_a_key_that_is_none_is_refused(open_api, key):
    sent = {"Idempotency-Key": key.encode()}
    answer = open_api.client.post(f"{API}/submissions", json=body(), headers=sent)
    refused(answer, "invalid")


def test_pages_hold_everything_once_while_new_ones_arrive(open_api):
    ids = [submit(open_api.client, f"page {n}") for n in range(5)]
    seen, cursor = [], None
    while len(seen) < 7:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        answer = open_api.client.get(f"{API}/submissions", params=query)
        page = answer.json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next"]
        assert cursor is None or cursor in answer.headers["link"]
        submit(open_api.client, "arrived meanwhile")
        if cursor is None:
            break
    assert seen[:5] == ids[::-1]
    assert len(seen) == len(set(seen))
    assert page["items"][0]["report"] is None


def test_filters_choose(open_api, store):
    submission = submit(open_api.client)
    play_worker(store, submission)
    found = open_api.client.get(
        f"{API}/submissions", params={"state": "done", "verdict": "accepted", "limit": 100}
    ).json()
    assert submission in [one["id"] for one in found["items"]]
    assert {one["state"] for one in found["items"]} == {"done"}
    assert open_api.client.get(f"{API}/submissions", params={"problem": "no-such"}).json()["items"] == []
    assert open_api.client.get(f"{API}/submissions", params={"public": True}).json()["items"] == []


def test_a_finished_submission_is_not_sent_twice(open_api, store):
    submission = submit(open_api.client)
    first = open_api.client.get(f"{API}/submissions/{submission}")
    play_worker(store, submission)
    second = open_api.client.get(f"{API}/submissions/{submission}")
    assert first.headers["etag"] != second.headers["etag"]
    assert second.json()["report"]["verdict"] == "accepted"
    for path in ("", "/report.json", "/report.md", "/report.junit.xml", "/report.sarif"):
        tag = open_api.client.get(f"{API}/submissions/{submission}{path}").headers["etag"]
        again = open_api.client.get(f"{API}/submissions/{submission}{path}", headers={"If-None-Match": tag})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)


def test_a_tag_changes_with_who_may_see_it_and_with_what_it_waits_for(open_api, store):
    submission = submit(open_api.client)
    path = f"{API}/submissions/{submission}"

    def answer_to(tag):
        return open_api.client.get(path, headers={"If-None-Match": tag})

    waiting = open_api.client.get(path).headers["etag"]
    assert answer_to(waiting).status_code == 304
    with store.write() as session:
        devices.announce(session, devices.Lane("box/cpu9", ("cpu",), "cpu", "a CPU", "", "isolated"))
    served = answer_to(waiting)
    assert (served.status_code, served.json()["waiting_for"]) == (200, None)
    with store.write() as session:
        devices.seen(session, "box/cpu9", "gone")
    unserved = answer_to(served.headers["etag"])
    assert unserved.json()["waiting_for"]
    with store.write() as session:
        submissions.set_visibility(session, queue_submission(session, submission)[0], "public")
    shared = answer_to(unserved.headers["etag"])
    assert (shared.status_code, shared.json()["visibility"]) == (200, "public")
    play_worker(store, submission)
    over = answer_to(shared.headers["etag"])
    assert over.json()["report"]["verdict"]
    assert answer_to(over.headers["etag"]).status_code == 304


def test_reports_are_had_in_four_formats(open_api, store):
    submission = submit(open_api.client)
    refused(open_api.client.get(f"{API}/submissions/{submission}/report.json"), "no_report")
    refused(open_api.client.get(f"{API}/submissions/{submission}/report.pdf"), "not_found")
    play_worker(store, submission)
    path = f"{API}/submissions/{submission}/report"
    assert open_api.client.get(f"{path}.json").json()["schema_version"] == 1
    suite = ElementTree.fromstring(open_api.client.get(f"{path}.junit.xml").text)[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    assert open_api.client.get(f"{path}.sarif").json()["version"] == "2.1.0"
    assert open_api.client.get(f"{path}.md").text.startswith("## ACCEPTED")
    assert "tried once" in refused(open_api.client.get(f"{path}.json", params={"attempt": 7}), "not_found")["detail"]
    refused(open_api.client.get(f"{path}.json", params={"attempt": 0}), "invalid")


def test_a_long_poll_ends_when_the_submission_does(open_api, store):
    submission = submit(open_api.client)
    timer = threading.Timer(0.5, play_worker, (store, submission))
    timer.start()
    began = time.monotonic()
    answer = open_api.client.get(f"{API}/submissions/{submission}", params={"wait": 30}).json()
    assert answer["state"] == "done"
    assert 0.4 < time.monotonic() - began < 10
    waiting = submit(open_api.client)
    assert open_api.client.get(f"{API}/submissions/{waiting}", params={"wait": 1}).json()["state"] == "queued"
    refused(open_api.client.get(f"{API}/submissions/{waiting}", params={"wait": 61}), "invalid")


def test_a_stream_tells_what_happens_while_it_is_open(open_api, store):
    submission = submit(open_api.client)
    path = f"http://127.0.0.1:{open_api.port}{API}/submissions/{submission}/events"
    hostile = {"message": "\n\nid: 99\nevent: done\ndata: {}\r\n\u2028"}
    told = []
    with httpx.stream("GET", path, timeout=30) as stream:
        timer = threading.Timer(0.3, play_worker, (store, submission, None, [("note", hostile, 1.0)]))
        timer.start()
        told = [line for line in stream.iter_lines() if line]
    ids = [line for line in told if line.startswith("id: ")]
    assert ids == ["id: 1", "id: 2", "id: 3", "id: 4"]
    kinds = [line.removeprefix("event: ") for line in told if line.startswith("event: ")]
    assert kinds == ["queued", "started", "note", "done"]
    [note] = [json.loads(line[6:]) for line in told if line.startswith("data: ") and "id: 99" in line]
    assert note["message"] == hostile["message"]


@pytest.mark.parametrize("given", ["-1", "x", "9" * 30, "1.5", "٣"])
def test_an_odd_last_event_id_changes_nothing_for_the_server(open_api, store, given):
    submission = submit(open_api.client)
    play_worker(store, submission)
    answer = open_api.client.get(f"{API}/submissions/{submission}/events", headers={"Last-Event-ID": given.encode()})
    assert answer.status_code in {200, 204} or refused(answer, "invalid")


@pytest.mark.parametrize("base", [API, ""])
@pytest.mark.parametrize("given", ["2147483648", "9223372036854775808", "9" * 20])
def test_a_last_event_id_that_no_event_can_have_is_ignored(open_api, base, given):
    submission = submit(open_api.client)
    path = f"{base}/submissions/{submission}/events"
    with open_api.client.stream("GET", path, headers={"Last-Event-ID": given}) as stream:
        assert stream.status_code == 200
        assert next(line for line in stream.iter_lines() if line.startswith("id:")) == "id: 1"
    open_api.client.post(f"{API}/submissions/{submission}/cancel")


@pytest.mark.parametrize("host", ["[", "[::1", "[x]:1", "a/b", "a b", "u@localhost", "\xbc"])
def test_a_host_that_is_none_is_refused_where_any_name_will_do(strict_api, host):
    head, _, told = strict_api.raw(raw_post(2, sent=b"{}", path="/login", host=host)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), head
    assert json.loads(told)["code"] == "bad_request"


def test_cancel_and_rejudge_answer_with_the_submission(open_api, store):
    submission = submit(open_api.client)
    for _ in range(2):
        assert open_api.client.post(f"{API}/submissions/{submission}/cancel").json()["state"] == "cancelled"
    again = open_api.client.post(f"{API}/submissions/{submission}/rejudge")
    assert (again.status_code, again.json()["state"]) == (202, "queued")
    assert again.headers["location"].endswith(submission)
    play_worker(store, submission)
    attempts = open_api.client.get(f"{API}/submissions/{submission}/attempts").json()
    told = [(one["number"], one["state"], one["judge_version"], one["devices"], one["seed"]) for one in attempts]
    assert told == [(1, "done", "1", ["NVIDIA H200"], 1)]
    refused(open_api.client.post(f"{API}/submissions/{submission}/rejudge?seed=old"), "invalid")


def test_head_is_answered_as_get_is_but_for_the_body(open_api, store):
    submission = submit(open_api.client)
    play_worker(store, submission)
    base = f"{API}/submissions/{submission}"
    paths = ("/livez", f"{API}/problems", base, f"{base}/report.json", f"{base}/source", f"{API}/submissions/none")
    for path in paths:
        full, head = open_api.client.get(path), open_api.client.head(path)
        assert (head.status_code, head.content) == (full.status_code, b""), path
        for name in ("content-type", "content-length", "etag", "cache-control"):
            assert head.headers.get(name) == full.headers.get(name), (path, name)
    tag = open_api.client.head(base).headers["etag"]
    assert open_api.client.head(base, headers={"If-None-Match": tag}).status_code == 304
    refused_ = open_api.client.head(f"{base}/cancel")
    assert (refused_.status_code, refused_.headers["allow"]) == (405, "POST")
    assert open_api.client.put(base).headers["allow"] == "GET, HEAD"


def test_head_of_a_stream_ends_at_once_and_the_connection_goes_on(open_api):
    path = f"{API}/submissions/{submit(open_api.client)}/events"
    line = f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n"
    raw = open_api.raw(f"{line}\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    head, _, rest = raw.partition(b"\r\n\r\n")
    assert b"text/event-stream" in head
    assert rest.startswith(b"HTTP/1.1 200 ")


def test_problems_are_told_with_their_statement(open_api):
    listed = open_api.client.get(f"{API}/problems").json()
    assert [one["id"] for one in listed] == find_problems()
    one = open_api.client.get(f"{API}/problems/splitk-merge").json()
    assert "o_part" in one["statement"]
    assert "__global__" in one["starter"]
    assert {case["group"] for case in one["cases"]} >= {"sample", "hidden"}


def test_a_leaderboard_ranks_those_together_whose_intervals_overlap(open_api, store):
    from judge.records import Timing

    *_, case = bench_cases(load_problem("splitk-merge"))
    version = open_api.client.get(f"{API}/problems/splitk-merge").json()["version"]
    for name, median in (("ann", 10.0), ("bob", 10.1), ("eve", 20.0), ("ann", 15.0)):
        with store.write() as session:
            user = accounts.user_named(session, name)
            from judge.store import submissions
            from tests.service.test_store import new

            made, _ = submissions.create(session, new(user, visibility="public"), Room())
            identity = made.id
        timing = Timing(median_us=median, p10_us=9, p90_us=11, samples=9, rel_ci95=0.01, cold=True)
        told = report(timing=timing)
        cases = (told.cases[0].model_copy(update={"name": case}),)
        problem = told.problem.model_copy(update={"version": version})
        told = told.model_copy(update={"problem": problem, "cases": cases})
        play_worker(store, identity, told)
    query = {"device": "NVIDIA H200", "case": case}
    rows = open_api.client.get(f"{API}/leaderboards/splitk-merge", params=query).json()
    assert [(row["rank"], row["user"], row["median_us"]) for row in rows] == [
        (1, "ann", 10),
        (1, "bob", 10.1),
        (3, "eve", 20),
    ]
    assert rows[0]["problem_version"] == version
    badge = open_api.client.get(f"{API}/badge/splitk-merge/ann.svg")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert "accepted" in ElementTree.fromstring(badge.text).get("aria-label")
    assert open_api.client.get(f"{API}/leaderboards/splitk-merge", params={"case": case}).json() == rows
    assert open_api.client.get(f"{API}/leaderboards/splitk-merge").json() == [], "nobody ran its first bench case"
    with store.write() as session:
        session.execute(update(models.Measurement).where(models.Measurement.median_us > 15).values(device="other"))
    several = open_api.client.get(f"{API}/leaderboards/splitk-merge", params={"case": case})
    refused(several, "invalid")
    assert "NVIDIA H200, other" in several.json()["detail"]
    refused(open_api.client.get(f"{API}/leaderboards/none", params=query), "no_such_problem")
    unknown = open_api.client.get(f"{API}/leaderboards/splitk-merge", params={"case": "sample"})
    assert case in refused(unknown, "not_found")["detail"]


def test_health_tells_what_is_down(open_api):
    assert open_api.client.get("/livez").json() == {"alive": True}
    ready = open_api.client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["parts"]["database"] == "ok"
    assert "no device" in ready.json()["parts"]["devices"]


def test_metrics_have_a_port_of_their_own_and_no_names_of_users_or_problems(open_api, store, metrics_port):
    play_worker(store, submit(open_api.client))
    text = httpx.get(f"http://127.0.0.1:{metrics_port}/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert {"judge_queue_waiting", "judge_verdicts", "judge_wait_seconds", "judge_devices", "judge_store_up"} <= set(
        families
    )
    assert {label for family in families.values() for sample in family.samples for label in sample.labels} <= {
        "queue", "verdict", "how", "kind", "state", "le",
    }  # fmt: skip
    waits = [s for s in families["judge_wait_seconds"].samples if s.name.endswith("_bucket")]
    assert [s.value for s in waits] == sorted(s.value for s in waits)
    refused(open_api.client.get("/metrics"), "not_found")


def test_the_reference_page_loads_nothing(open_api):
    page = open_api.client.get(f"{API}/docs")
    assert "<script" not in page.text
    assert "http" not in page.text.replace("HTTPValidationError", "").split("<body>")[0].split("<style>")[0]
    for attribute in ("src=", "@import", "url("):
        assert attribute not in page.text
    assert "POST /api/v1/submissions" in page.text


def test_without_a_good_token_nothing_is_told(strict_api, store):
    known = token(store, "tess", lifetime_s=-5)
    for headers in ({}, {"Authorization": ""}):
        answer = strict_api.client.get(f"{API}/problems", headers=headers)
        refused(answer, "no_token")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    bad = [known, known[:-1], "kj_" + "x" * 43, "kj_" + "é" * 43, "' OR 1=1 --", "x" * 7000, "\x7f"]
    for text in bad:
        refused(
            strict_api.client.get(f"{API}/problems", headers={"Authorization": f"Bearer {text}".encode()}), "bad_token"
        )
    refused(strict_api.client.get(f"{API}/problems", headers={"Authorization": f"Basic {known}"}), "bad_token")
    assert strict_api.client.get("/livez").status_code == 200


def test_a_token_does_what_its_scopes_say_and_ends_when_it_is_revoked(strict_api, store):
    reads = bearer(token(store, "rita", "read"))
    submits = bearer(token(store, "rita", "submit"))
    assert strict_api.client.get(f"{API}/queue", headers=reads).status_code == 200
    refused(strict_api.client.post(f"{API}/submissions", json=body(), headers=reads), "missing_scope")
    refused(strict_api.client.get(f"{API}/queue", headers=submits), "missing_scope")
    with store.write() as session:
        [one] = [t for t, name in accounts.list_tokens(session) if name == "rita" and t.scopes == ["read"]]
        assert one.used_at is not None
        accounts.revoke_token(session, one.id)
    refused(strict_api.client.get(f"{API}/queue", headers=reads), "bad_token")


def test_what_is_anothers_is_not_there_for_you(strict_api, store):
    owner, other, admin = (bearer(token(store, n, *s)) for n, s in (("own", ()), ("oth", ()), ("adm", ("admin",))))
    secret, shared = (
        strict_api.client.post(f"{API}/submissions", json=body(visibility=v), headers=owner).json()["id"]
        for v in ("private", "unlisted")
    )
    for rest in ("", "/events", "/source", "/attempts", "/report.md"):
        refused(strict_api.client.get(f"{API}/submissions/{secret}{rest}", headers=other), "no_such_submission")
    for what in ("cancel", "rejudge"):
        for one in (secret, shared):
            answer = strict_api.client.post(f"{API}/submissions/{one}/{what}", headers=other)
            assert answer.json()["code"] in {"no_such_submission", "rate_limited"}
    assert strict_api.client.get(f"{API}/submissions/{shared}", headers=other).status_code == 200
    assert strict_api.client.get(f"{API}/submissions/{secret}", headers=admin).status_code == 200
    assert strict_api.client.get(f"{API}/submissions", headers=other).json()["items"] == []


def test_one_who_floods_is_stopped_and_others_are_not(strict_api, store):
    flooder, other = bearer(token(store, "flo")), bearer(token(store, "ned"))
    answers = [strict_api.client.post(f"{API}/submissions", json=body(), headers=flooder) for _ in range(7)]
    assert answers[0].headers["ratelimit-policy"] == '"submit";q=5;w=60'
    assert answers[0].headers["ratelimit"].startswith('"submit";r=4;')
    refused(answers[-1], "rate_limited")
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert strict_api.client.post(f"{API}/submissions", json=body(), headers=other).status_code == 202


@pytest.mark.parametrize("sent", [b"{bad", b"{}", b"[" * 5000])
def test_a_body_is_not_looked_at_before_the_token(strict_api, store, sent):
    post = {"content": sent, "headers": {"Content-Type": "application/json"}}
    refused(strict_api.client.post(f"{API}/submissions", **post), "no_token")
    post["headers"] |= bearer(token(store, f"rob{time.monotonic_ns()}", "read"))
    refused(strict_api.client.post(f"{API}/submissions", **post), "missing_scope")


def test_a_body_that_cannot_be_read_counts_as_one_request(strict_api, store):
    headers = bearer(token(store, "bob")) | {"Content-Type": "application/json"}
    answers = [strict_api.client.post(f"{API}/submissions", content=b"{bad", headers=headers) for _ in range(6)]
    assert [answer.json()["code"] for answer in answers] == ["bad_request"] * 5 + ["rate_limited"]


def test_every_route_with_a_body_asks_who_it_is_first():
    from judge.api import catalogue
    from judge.api.auth import AskedFirst
    from judge.api.submissions import router

    routes = [*router.routes, *catalogue.router.routes]
    with_body = [route for route in routes if route.body_field is not None]
    assert with_body
    assert all(isinstance(route, AskedFirst) for route in with_body)


def end_token(store, submission):
    with store.write() as session:
        [one] = [t for t, name in accounts.list_tokens(session) if name == "eve" and t.revoked_at is None]
        accounts.revoke_token(session, one.id)


def make_private(store, submission):
    with store.write() as session:
        submissions.set_visibility(session, queue_submission(session, submission)[0], "private")


@pytest.fixture
def shared(strict_api, store):
    """Id of an unlisted submission, and the headers of one who may see it."""
    owner, watcher = bearer(token(store, f"own{time.monotonic_ns()}")), bearer(token(store, "eve"))
    made = strict_api.client.post(f"{API}/submissions", json=body(visibility="unlisted"), headers=owner)
    yield made.json()["id"], watcher
    with store.write() as session:
        for one, name in accounts.list_tokens(session):
            if name == "eve":
                accounts.revoke_token(session, one.id)


@pytest.mark.parametrize("taken", [end_token, make_private])
def test_a_stream_ends_when_its_watcher_may_not_watch_any_longer(strict_api, store, shared, taken):
    submission, watcher = shared
    with strict_api.client.stream("GET", f"{API}/submissions/{submission}/events", headers=watcher) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event: ")) == "event: queued"
        taken(store, submission)
        time.sleep(1.1)
        play_worker(store, submission, None, [("note", {"message": "secret"}, 1.0)])
        assert [line for line in lines if line.startswith("event: ")] == []


def test_a_long_poll_tells_nothing_once_its_token_has_ended(strict_api, store, shared):
    submission, watcher = shared
    threading.Timer(0.5, end_token, (store, submission)).start()
    threading.Timer(1.0, play_worker, (store, submission)).start()
    answer = strict_api.client.get(f"{API}/submissions/{submission}?wait=30", headers=watcher)
    refused(answer, "bad_token")


def test_streams_are_counted_and_given_back(strict_api, store):
    headers = bearer(token(store, "sue"))
    submission = strict_api.client.post(f"{API}/submissions", json=body(), headers=headers).json()["id"]
    path = f"{API}/submissions/{submission}/events"
    with httpx.Client(base_url=strict_api.client.base_url, headers=headers) as another:
        with another.stream("GET", path) as stream:
            # Kept: an iterator that is thrown away closes its stream.
            chunks = stream.iter_bytes()
            next(chunks)
            refused(strict_api.client.get(path, headers=headers), "too_many_streams")

        def opens():
            with another.stream("GET", path) as stream:
                return stream.status_code == 200

        assert until(opens, 10)


def test_openapi_says_what_every_error_looks_like(open_api):
    description = open_api.client.get(f"{API}/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if int(status) >= 400 and path != "/readyz":
                    assert "application/problem+json" in answer["content"], (method, path, status)
    example = description["components"]["schemas"]["NewSubmission"]["example"]
    schema = {**description["components"]["schemas"]["NewSubmission"], "components": description["components"]}
    jsonschema.validate(example, schema)
    assert open_api.client.post(f"{API}/submissions", json=example).status_code == 202


def test_a_gpu_that_is_announced_can_be_asked_for(open_api, store):
    lane = devices.Lane("box/cuda0", ("cuda", "cuda:h200"), "cuda", "NVIDIA H200", "sm_90", "isolated")
    with store.write() as session:
        devices.announce(session, lane)
    try:
        told = open_api.client.post(f"{API}/submissions", json=body(backend="auto", device="h200")).json()
        assert (told["queue"], told["waiting_for"]) == ("cuda:h200", None)
        assert open_api.client.post(f"{API}/submissions", json=body(backend="auto")).json()["queue"] == "cuda"
        with store.write() as session:
            devices.seen(session, "box/cuda0", "quarantined", "the device fell off the bus")
        refused(open_api.client.post(f"{API}/submissions", json=body(backend="cuda")), "no_such_device")
        assert open_api.client.post(f"{API}/submissions", json=body(backend="auto")).json()["queue"] == "cpu"
        [shown] = [one for one in open_api.client.get(f"{API}/devices").json() if one["id"] == "box/cuda0"]
        assert (shown["state"], shown["reason"]) == ("quarantined", "the device fell off the bus")
    finally:
        with store.write() as session:
            devices.seen(session, "box/cuda0", "gone")
