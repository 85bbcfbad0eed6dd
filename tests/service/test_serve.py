"""`judge serve` as a user runs it: from a POST to a verdict, and what is left when a part of it is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import httpx

from judge.records import Report
from judge.store import submissions
from judge.store.database import Database
from judge.verdict import Verdict
from tests.service.running import (
    ENDLESS,
    SCRIPT,
    WRONG,
    body,
    children,
    python_path,
    start_serve,
    submit,
    until,
    verdict,
)

LANE, API = "judge.dispatch.lane", "judge.api.main"


def events(client, submission, after=None):
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    text = client.get(f"/api/v1/submissions/{submission}/events", headers=headers).text
    told = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if "id" in fields:
            told.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return told


def state(client, submission):
    return client.get(f"/api/v1/submissions/{submission}").json()["state"]


def part(running, module):
    return until(lambda: children(running.process.pid, module))[0]


def test_a_right_and_a_wrong_kernel_get_their_verdicts_with_reports(served):
    right, wrong = submit(served.client), submit(served.client, WRONG, name="zeros.cu")
    assert verdict(served.client, right) == "accepted"
    assert verdict(served.client, wrong) == "wrong_answer"
    answer = served.client.get(f"/api/v1/submissions/{wrong}").json()
    report = Report.model_validate(answer["report"])
    assert (report.verdict, report.submission.name) == (Verdict.WRONG_ANSWER, "zeros.cu")
    assert report.cases[0].error.mismatches > 0
    assert answer["problem"]["version"] == report.problem.version
    stored = served.client.get(f"/api/v1/submissions/{wrong}/report.json")
    assert Report.model_validate_json(stored.text) == report
    assert "WRONG ANSWER" in served.client.get(f"/api/v1/submissions/{wrong}/report.md").text
    assert served.client.get(f"/api/v1/submissions/{wrong}/source").text == WRONG


def test_a_stream_tells_everything_in_order_and_goes_on_where_it_was_cut(served):
    submission = submit(served.client, seed=1)
    told = events(served.client, submission)
    assert [number for number, _, _ in told] == list(range(1, len(told) + 1))
    kinds = [kind for _, kind, _ in told]
    assert kinds[:3] == ["queued", "started", "compiling"]
    assert kinds.count("case") == 4
    assert (kinds[-1], told[-1][2]["verdict"]) == ("done", "accepted")
    assert events(served.client, submission, after=4) == told[4:]
    over = served.client.get(f"/api/v1/submissions/{submission}/events", headers={"Last-Event-ID": str(len(told))})
    assert over.status_code == 204


def test_a_running_submission_is_cancelled_within_two_seconds_and_the_lane_goes_on(served):
    submission = submit(served.client, ENDLESS, cases="all")
    until(lambda: state(served.client, submission) == "running")
    time.sleep(1.0)
    began = time.monotonic()
    assert served.client.post(f"/api/v1/submissions/{submission}/cancel").json()["state"] == "cancelled"
    assert time.monotonic() - began < 2
    assert verdict(served.client, submit(served.client)) == "accepted"
    assert state(served.client, submission) == "cancelled"


def test_a_rejudge_adds_an_attempt(served):
    submission = submit(served.client, WRONG)
    assert verdict(served.client, submission) == "wrong_answer"
    again = served.client.post(f"/api/v1/submissions/{submission}/rejudge")
    assert (again.status_code, again.json()["verdict"]) == (202, "wrong_answer")
    assert verdict(served.client, submission) == "wrong_answer"
    attempts = served.client.get(f"/api/v1/submissions/{submission}/attempts").json()
    assert [(one["number"], one["state"], one["verdict"]) for one in attempts] == [
        (1, "done", "wrong_answer"),
        (2, "done", "wrong_answer"),
    ]
    first, second = (served.client.get(one["report"]).json() for one in attempts)
    assert first["verdict"] == "wrong_answer"
    # With the same inputs, so that a difference is one of the judge or the device.
    assert first["seed"] == second["seed"] == attempts[0]["seed"] == attempts[1]["seed"]
    assert first["cases"][0]["error"] == second["cases"][0]["error"]
    served.client.post(f"/api/v1/submissions/{submission}/rejudge?seed=new")
    assert verdict(served.client, submission) == "wrong_answer"
    assert served.client.get(f"/api/v1/submissions/{submission}/report.json").json()["seed"] != first["seed"]


def test_a_lane_that_is_killed_costs_an_attempt_and_nothing_else(served):
    submission = submit(served.client, ENDLESS, cases="all")
    until(lambda: state(served.client, submission) == "running")
    lane = part(served, LANE)
    os.kill(lane, signal.SIGKILL)
    until(lambda: served.client.get(f"/api/v1/submissions/{submission}").json()["attempt"] == 2, 30)
    assert part(served, LANE) != lane
    served.client.post(f"/api/v1/submissions/{submission}/cancel")
    attempts = served.client.get(f"/api/v1/submissions/{submission}/attempts").json()
    assert [one["state"] for one in attempts] == ["lost", "cancelled"]
    assert verdict(served.client, submit(served.client)) == "accepted"


def test_the_api_that_is_killed_comes_back_on_the_same_port_and_knows_everything(served):
    submission = submit(served.client)
    os.kill(part(served, API), signal.SIGKILL)
    # The socket stays open in the house: a caller waits, and is not refused.
    with httpx.Client(base_url=str(served.client.base_url), timeout=60) as fresh:
        assert verdict(fresh, submission) == "accepted"
        assert events(fresh, submission)[-1][1] == "done"


def test_the_queue_and_the_devices_are_told(served):
    [device] = served.client.get("/api/v1/devices").json()
    assert (device["kind"], device["queues"], device["state"]) == ("cpu", ["cpu"], "ready")
    status = served.client.get("/api/v1/status").json()
    assert status["devices"][0]["id"] == device["id"]
    assert status["broken_problems"] == {}


def test_the_log_is_structured_and_holds_no_source(served):
    marked = submit(served.client, WRONG + "\n// a-mark-in-the-source\n")
    verdict(served.client, marked)
    lines = served.log.read_text().splitlines()
    judged = [one for one in map(json.loads, lines) if one["event"] == "judged" and one["submission"] == marked]
    [told] = judged
    assert {"attempt", "worker", "problem", "device", "verdict"} <= set(told)
    assert told["problem"].startswith("splitk-merge@")
    assert "a-mark-in-the-source" not in "".join(lines)


def test_all_of_it_killed_at_once_loses_nothing(tmp_path):
    running = start_serve(tmp_path)
    ids = [submit(running.client, seed=n) for n in range(2)] + [submit(running.client, ENDLESS, cases="all")]
    key = {"Idempotency-Key": "one"}
    first = running.client.post("/api/v1/submissions", json=body(), headers=key).json()["id"]
    until(lambda: any(state(running.client, one) != "queued" for one in ids), 60)
    running.stop(signal.SIGKILL)
    again = start_serve(tmp_path)
    try:
        # It would keep a core busy until its limits.
        again.client.post(f"/api/v1/submissions/{ids[2]}/cancel")
        again.client.post(f"/api/v1/submissions/{first}/cancel")
        assert [verdict(again.client, one) for one in ids[:2]] == ["accepted"] * 2
        assert again.client.post("/api/v1/submissions", json=body(), headers=key).json()["id"] == first
        assert again.client.get(f"/api/v1/submissions/{ids[2]}").status_code == 200
        assert refused_second(tmp_path) == 2
        # One that was not begun long ago: on a busy machine the others are over by themselves.
        last = submit(again.client, ENDLESS, cases="all")
        until(lambda: state(again.client, last) == "running", 60)
        code, took = end_with_streams_open(again, last)
        # 2 s on a machine that has nothing else to do (tests/bench measures it); a busy one takes its time.
        assert (code, took < 15) == (0, True)
    finally:
        again.stop(signal.SIGKILL)
    # A drain is no fault: what ran was given back, and waits to run again.
    database = Database(f"sqlite:///{tmp_path}/judge.db")
    with database.read() as session:
        found, _ = submissions.find(session, last)
        assert (found.state, found.faults) == ("queued", 0)
        assert [one.state for one in submissions.attempts_of(session, last)] == ["returned"]
    database.close()


def end_with_streams_open(running, submission):
    """SIGTERM while streams and a long poll are open; gives exit code and seconds."""
    ended = []

    def watch(path):
        try:
            with httpx.stream("GET", f"http://127.0.0.1:{running.port}{path}", timeout=60) as stream:
                for _ in stream.iter_bytes():
                    pass
            ended.append(path)
        except httpx.TransportError:
            ended.append(path)

    paths = [f"/api/v1/submissions/{submission}/events"] * 3 + [f"/api/v1/submissions/{submission}?wait=60"]
    threads = [threading.Thread(target=watch, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    result = running.stop()
    for thread in threads:
        thread.join(5)
    assert len(ended) == len(paths)
    return result


def refused_second(folder):
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), "serve", "--port", "0"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": python_path()},
        check=False,
    )
    assert "Another judge already serves" in ended.stderr
    return ended.returncode


def test_a_submission_that_takes_its_lane_with_it_is_parked(served):
    submission = submit(served.client, ENDLESS, cases="all")
    for attempt in (1, 2, 3):
        until(
            lambda attempt=attempt: served.client.get(f"/api/v1/submissions/{submission}").json()["attempt"] == attempt,
            60,
        )
        os.kill(part(served, LANE), signal.SIGKILL)
    assert verdict(served.client, submission) == "judge_error"
    found = served.client.get(f"/api/v1/submissions/{submission}").json()
    assert found["report"]["incident"]
    assert "not the kernel's fault" in found["message"]
    assert verdict(served.client, submit(served.client)) == "accepted"
