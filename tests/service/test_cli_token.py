"""`judge token` and the options of `judge serve`, as an operator types them."""

import json
import subprocess
import sys

import pytest
import structlog
from sqlalchemy import select, text

from judge.api.settings import is_loopback
from judge.cli.main import run
from judge.dispatch.house import short_name, visible_gpus
from judge.dispatch.serving import ServeOptions, api_settings
from judge.errors import UsageError
from judge.store import accounts, queue, submissions
from judge.store.database import Database
from judge.store.desk import Room
from judge.store.models import Submission
from judge.store.schema import migrate
from tests.service.test_store import new


@pytest.fixture
def judge(tmp_path, monkeypatch, capsys):
    """Call `judge` with arguments in a folder of its own, within this process; a process costs a second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JUDGE_DATABASE", raising=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["/usr/bin/judge", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        told = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, told.out, told.err)

    yield call
    structlog.reset_defaults()


@pytest.fixture
def stored(tmp_path):
    """A database where the commands look for one."""
    database = Database(f"sqlite:///{tmp_path}/judge.db")
    migrate(database)
    database.close()


def test_a_token_is_made_shown_listed_and_revoked(judge, stored):
    made = judge(
        "token",
        "create",
        "ada",
        "--scope",
        "read",
        "--expires",
        "12h",
        "--label",
        "laptop",
        "--format",
        "json",
    )
    assert made.returncode == 0, made.stderr
    token = json.loads(made.stdout)
    assert token["token"].startswith("kj_")
    listed = judge("token", "list")
    assert token["id"] in listed.stdout
    assert "laptop" in listed.stdout
    assert token["token"] not in listed.stdout
    assert judge("token", "revoke", token["id"]).returncode == 0
    [shown] = json.loads(judge("token", "list", "--format", "json").stdout)
    assert (shown["state"], shown["scopes"], shown["user"]) == ("revoked", ["read"], "ada")


def test_old_submissions_are_counted_and_then_deleted(tmp_path, judge):
    database = Database(f"sqlite:///{tmp_path}/judge.db")
    migrate(database)
    with database.write() as session:
        user = accounts.user_named(session, "ada")
        for age_s in (0, 3 * 3600):
            made, _ = submissions.create(session, new(user), Room())
            queue.cancel(session, made.id)
            session.get_one(Submission, made.number).finished_at -= age_s
    for last, left in (["--dry-run"], 2), ([], 1):
        done = judge("prune", "--older-than", "2h", "--format", "json", *last)
        assert json.loads(done.stdout) == {"submissions": 1, "deleted": not last, "older_than_s": 7200.0}
        with database.read() as session:
            assert len(session.scalars(select(Submission.id)).all()) == left
    database.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("prune", "--older-than", "never"), "hours or days"),
        (("token", "create", "ada", "--expires", "soon"), "such as 12h or 90d"),
        (("token", "create", "ada", "--scope", "root"), "submit, read, admin"),
        (("token", "create", "../x"), "no name of a user"),
        (("token", "revoke", "none", "--database", "mysql://x"), "not in mysql"),
        (("serve", "--host", "192.0.2.1"), "cannot be listened on"),
        (("serve", "--database", "sqlite:////nowhere/x.db"), "folder that exists"),
        (("serve", "--login", "--no-login"), "exclude each other"),
    ],
)
def test_what_cannot_be_is_usage(judge, stored, arguments, told):
    ended = judge(*arguments)
    assert (ended.returncode, told in ended.stderr) == (2, True), ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_database_that_is_not_there_is_a_fault_of_the_machine(judge):
    ended = judge("serve", "--port", "0", "--database", "postgresql://ada:secret@127.0.0.1:1/none")
    assert ended.returncode == 3
    assert "secret" not in ended.stderr + ended.stdout


@pytest.mark.parametrize(
    ("host", "no_login", "login", "hosts"),
    [
        ("127.0.0.1", False, False, True),
        ("::1", False, False, True),
        ("localhost", False, False, True),
        ("0.0.0.0", False, True, False),
        ("192.168.1.5", False, True, False),
        ("judge.example", False, True, False),
        ("0.0.0.0", True, False, False),
    ],
)
def test_tokens_are_asked_for_where_others_reach_the_server(host, no_login, login, hosts):
    settings = api_settings(ServeOptions(host=host, no_login=no_login))
    assert (settings.login, bool(settings.hosts), settings.submit_rate is not None) == (login, hosts, login)
    assert is_loopback(host) is hosts


def test_login_can_be_asked_for_on_loopback_but_not_both():
    assert api_settings(ServeOptions(login=True)).login
    with pytest.raises(UsageError):
        api_settings(ServeOptions(login=True, no_login=True))


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("Tesla T4", "t4"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("", "gpu"),
    ],
)
def test_queues_are_called_by_short_names(name, short):
    assert short_name(name) == short


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["first", "second", "third"]),
        ("", []),
        ("2,0", ["third", "first"]),
        ("1, GPU-a", ["second", "first"]),
        ("GPU-", []),
        ("0,7,1", ["first"]),
        ("-1", []),
    ],
)
def test_a_service_takes_the_gpus_that_cuda_would_see(visible, names):
    known = [("GPU-aa", "first"), ("GPU-bb", "second"), ("GPU-bc", "third")]
    assert visible_gpus(known, visible) == names


@pytest.mark.parametrize(
    "arguments",
    [
        ("workers",),
        ("token", "list"),
        ("token", "create", "ada"),
        ("token", "revoke", "x"),
        ("prune", "--older-than", "2h", "--dry-run"),
    ],
)
def test_only_serve_makes_a_database(judge, tmp_path, arguments):
    ended = judge(*arguments)
    assert ended.returncode == 2
    assert "There is no database at judge.db. `judge serve` makes one, or give --database." in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_store_is_left_as_it_is(judge, tmp_path):
    for content in (b"", b"a list of things to buy\n"):
        (tmp_path / "judge.db").write_bytes(content)
        assert judge("token", "list").returncode == 2
        assert (tmp_path / "judge.db").read_bytes() == content
        assert len(list(tmp_path.iterdir())) == 1
    other = Database(f"sqlite:///{tmp_path}/other.db")
    with other.write() as session:
        session.execute(text("CREATE TABLE things (name TEXT)"))
    other.close()
    assert "There is no database at" in judge("workers", "--database", f"sqlite:///{tmp_path}/other.db").stderr
    with other.read() as session:
        assert session.scalars(text("SELECT name FROM sqlite_master")).all() == ["things"]
    other.close()
