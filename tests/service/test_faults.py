"""What the service does when something around it fails: clients, the disk, the database, a problem."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from judge.store import accounts, submissions
from judge.store.database import Database, StoreFull, StoreUnavailable
from judge.store.desk import Room
from judge.store.models import Event
from judge.store.schema import migrate
from tests.service.conftest import KINDS
from tests.service.running import body, start_api, start_serve, submit, until, verdict
from tests.service.test_api import API, refused
from tests.service.test_store import new


@pytest.fixture(scope="module")
def impatient(tmp_path_factory, empty_file):
    folder = tmp_path_factory.mktemp("impatient")
    shutil.copy(empty_file, folder / "judge.db")
    url = f"sqlite:///{folder}/judge.db"
    running = start_api(url, folder, header_limit_s=1.0, body_limit_s=1.0, send_limit_s=1.0, keep_alive_s=1.0)
    running.url = url
    yield running
    running.stop()


def connections(running):
    """Sockets of the process; files do not count, which a pool of connections to SQLite opens as it likes."""
    found = 0
    for one in Path(f"/proc/{running.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += os.readlink(one).startswith("socket:")
    return found


def test_slow_heads_and_idle_connections_are_cut_and_others_are_served(impatient):
    before = connections(impatient)
    with ExitStack() as stack:
        idle = [
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", impatient.port)))) for _ in range(300)
        ]
        slow = idle[0]
        slow.sendall(b"GET /livez HTTP/1.1\r\nHost: local")
        assert impatient.client.get("/readyz").status_code == 200
        slow.settimeout(10)
        told = slow.recv(4096)
        assert told.startswith(b"HTTP/1.1 408")
        assert b'"too_slow"' in told + slow.recv(4096)
        until(lambda: connections(impatient) <= before + 5, 10)


def test_a_slow_body_is_cut(impatient):
    head = b"POST /api/v1/submissions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    assert b'"too_slow"' in impatient.raw(head)


def test_a_client_that_never_reads_is_dropped(impatient):
    submission = submit(impatient.client)
    database = Database(impatient.url)
    with database.write() as session:
        found, _ = submissions.find(session, submission)
        for number in range(2, 4002):
            data = {"message": "x" * 4000}
            session.add(
                Event(submission_id=submission, number=number, attempt=0, kind="note", data=data, created_at=0.0)
            )
        found.events = 4001
    database.close()
    before = connections(impatient)
    with closing(socket.socket()) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", impatient.port))
        deaf.sendall(f"GET {API}/submissions/{submission}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: connections(impatient) > before, 10)
        until(lambda: connections(impatient) <= before, 30)
    assert "a route failed" not in impatient.log.read_text()
    assert impatient.client.get("/livez").status_code == 200


def test_abandoned_streams_and_polls_leave_nothing_behind(impatient):
    submission = submit(impatient.client)
    impatient.client.get("/livez")
    before = connections(impatient)
    for path in ("/events", "?wait=60"):
        for _ in range(10):
            with closing(socket.create_connection(("127.0.0.1", impatient.port))) as leaving:
                leaving.sendall(
                    f"GET {API}/submissions/{submission}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                )
    until(lambda: connections(impatient) <= before + 2, 30)
    assert impatient.client.get(f"{API}/submissions/{submission}").json()["state"] == "queued"


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of 8 MiB, where one can be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here: it takes root with CAP_SYS_ADMIN")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_refuses_new_work_and_recovers_by_itself(small_disk, tmp_path):
    url = f"sqlite:///{small_disk}/judge.db"
    database = Database(url)
    migrate(database)
    with database.write() as session:
        user = accounts.user_named(session, "ada")
        known = submissions.create(session, new(user), Room())[0].id
    running = start_api(url, tmp_path)
    try:
        kept = submit(running.client)
        filler = small_disk / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        answers = [running.client.post(f"{API}/submissions", json=body("x" * 200_000 + str(n))) for n in range(3)]
        for answer in answers:
            assert refused(answer, "store_full")
            assert answer.headers["retry-after"]
        assert running.client.get(f"{API}/submissions/{known}").status_code == 200
        assert running.client.get(f"{API}/submissions/{kept}").status_code == 200
        ready = running.client.get("/readyz")
        assert (ready.status_code, ready.json()["ready"]) == (503, False)
        assert "MiB are free" in ready.json()["parts"]["disk"]
        filler.unlink()
        assert submit(running.client, "y" * 200_000)
    finally:
        running.stop()
        database.close()


@pytest.mark.parametrize("what", ["gone", "another"])
def test_a_database_file_that_is_gone_is_told_and_takes_nothing_new(tmp_path, empty_file, what):
    path, kept = tmp_path / "judge.db", tmp_path / "kept.db"
    shutil.copy(empty_file, path)
    running = start_api(f"sqlite:///{path}", tmp_path)
    try:
        submit(running.client)
        path.rename(kept)
        if what == "another":
            shutil.copy(empty_file, path)
        told = refused(running.client.post(f"{API}/submissions", json=body()), "store_unavailable")
        ready = running.client.get("/readyz")
        assert ready.status_code == 503
        for text in (told["detail"], ready.json()["parts"]["database"]):
            assert "judge.db" in text
            assert what in text.lower()
        if what == "gone":
            again = start_api(f"sqlite:///{path}", tmp_path)
            assert refused(again.client.post(f"{API}/submissions", json=body()), "store_unavailable")
            again.stop()
            assert not path.exists()
        kept.rename(path)
        assert submit(running.client)
        assert running.client.get("/readyz").json()["parts"]["database"] == "ok"
    finally:
        running.stop()


def test_an_io_error_is_a_full_disk_only_where_there_is_no_room(tmp_path, monkeypatch):
    database = Database(f"sqlite:///{tmp_path}/judge.db")

    def fail(reason):
        with pytest.raises(StoreUnavailable) as caught, database.read():
            raise OperationalError("SELECT 1", {}, sqlite3.OperationalError(reason))
        return type(caught.value)

    assert fail("disk I/O error") is StoreUnavailable
    assert fail("database or disk is full") is StoreFull
    full = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    assert fail("disk I/O error") is StoreFull


@pytest.mark.skipif("postgresql" not in KINDS, reason="there is no PostgreSQL server on this machine")
def test_a_database_that_is_gone_is_waited_for(tmp_path):
    from tests.service.conftest import free_port
    from tests.service.postgresql import PostgreSQL

    server = PostgreSQL(free_port())
    running = None
    try:
        running = start_serve(tmp_path, "--database", server.new_database())
        until(lambda: running.client.get("/readyz").json()["parts"]["devices"] == "ok", 60)
        submission = submit(running.client, cases="all")
        path = f"{API}/submissions/{submission}"
        until(lambda: running.client.get(path).json()["state"] == "running", 30, pause_s=0.005)
        server.stop(signal.SIGQUIT)
        answer = running.client.post(f"{API}/submissions", json=body())
        refused(answer, "store_unavailable")
        assert answer.headers["retry-after"]
        assert refused(running.client.get(path), "store_unavailable")
        ready = running.client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["parts"]["database"] != "ok"
        assert running.client.get("/livez").status_code == 200
        time.sleep(2)
        server.start()
        assert verdict(running.client, submission) == "accepted"
        attempts = running.client.get(f"{path}/attempts").json()
        # The result that could not be stored was kept by its worker; at most the claim itself was made again.
        assert [one["state"] for one in attempts] in (["done"], ["returned", "done"])
        assert verdict(running.client, submit(running.client)) == "accepted"
    finally:
        if running is not None:
            running.stop()
        server.remove()


def test_a_problem_that_is_broken_is_left_out_and_the_others_are_served(tmp_path, empty_file):
    root = Path(__file__).resolve().parents[2]
    shutil.copytree(root / "problems", tmp_path / "problems", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "reference", tmp_path / "reference", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in (("bad-syntax", "def ("), ("raises", "1 / 0"), ("no-problem", "x = 1")):
        (tmp_path / "problems" / name).mkdir()
        (tmp_path / "problems" / name / "problem.py").write_text(text)
    shutil.copy(empty_file, tmp_path / "judge.db")
    os.environ["JUDGE_PROBLEMS"] = str(tmp_path / "problems")
    try:
        running = start_api(f"sqlite:///{tmp_path}/judge.db", tmp_path)
    finally:
        del os.environ["JUDGE_PROBLEMS"]
    try:
        status = running.client.get(f"{API}/status").json()
        assert set(status["broken_problems"]) == {"bad-syntax", "raises", "no-problem"}
        assert "ZeroDivisionError" in status["broken_problems"]["raises"]
        ready = running.client.get("/readyz")
        assert ready.status_code == 200
        assert "raises" in ready.json()["parts"]["problems"]
        assert submit(running.client)
    finally:
        running.stop()


def test_many_watchers_are_all_told(impatient):
    ids = [submit(impatient.client) for _ in range(3)]
    streams = []
    with ExitStack() as stack:
        for number in range(60):
            client = stack.enter_context(httpx.Client(timeout=30))
            url = f"http://127.0.0.1:{impatient.port}{API}/submissions/{ids[number % 3]}/events"
            streams.append(stack.enter_context(client.stream("GET", url)))
        for one in ids:
            impatient.client.post(f"{API}/submissions/{one}/cancel")
        told = [stream.read().decode() for stream in streams]
    assert all("event: cancelled" in text for text in told)
