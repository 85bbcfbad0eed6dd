"""Standard streams that are closed, full or of a narrow encoding: the verdict stays, no incident is made of them."""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from judge.cli.exits import Exit
from tests.behaviour.cli_program import SCRIPT, environment, make_home
from tests.behaviour.test_cli_judging import kernel


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = make_home(tmp_path_factory.mktemp("home"))
    (home / "mine.cu").write_bytes(kernel())
    return home


def shell(home, words, **changes):
    """Run the program through a shell, which redirects its streams."""
    return subprocess.run(
        ["bash", "-c", f"{shlex.quote(sys.executable)} {shlex.quote(str(SCRIPT))} {words}"],
        cwd=home,
        env=environment(home, **changes),
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2>&- <&-"])
def test_progress_that_nobody_sees_does_not_change_the_verdict(home, redirection):
    ended = shell(home, f"test mine.cu --backend cpu --case three --format json {redirection}")
    assert json.loads(ended.stdout)["verdict"] == "accepted"
    assert ended.returncode == Exit.ACCEPTED


def test_an_error_that_nobody_sees_keeps_its_exit_code(home):
    for redirection in ("2>&-", "2>/dev/full"):
        assert shell(home, f"test nowhere.cu {redirection}").returncode == Exit.USAGE


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("list >/dev/full", "No space left on device"),
        ("list --format json >/dev/full", "No space left on device"),
        ("--help >/dev/full", "No space left on device"),
        ("list >&-", "it is closed"),
        ("list >&- <&-", "it is closed"),
    ],
)
def test_a_result_that_cannot_be_written_is_one_line_and_3(home, words, reason):
    ended = shell(home, words)
    assert ended.returncode == Exit.JUDGE_OR_MACHINE
    assert ended.stderr.decode() == f"Error: The result cannot be written to standard output: {reason}.\n"
    assert ended.stdout == b""


def test_a_closed_standard_input_is_a_usage_error(home):
    ended = shell(home, "test - <&-")
    assert ended.returncode == Exit.USAGE
    assert ended.stderr.decode().startswith("Error: Standard input is closed")
    assert ended.stderr.count(b"\n") == 1


def test_a_file_name_that_is_not_utf8_reaches_the_verdict_in_text_and_json(home):
    (home / os.fsdecode(b"n\xffme.cu")).write_bytes(kernel())
    command = r"test $'n\xffme.cu' --backend cpu --case three"
    ended = shell(home, f"{command} --format json")
    assert json.loads(ended.stdout)["submission"]["name"] == r"n\xffme.cu"
    assert ended.returncode == Exit.ACCEPTED
    assert shell(home, command).stdout.startswith(rb"ACCEPTED  scaled-add  n\xffme.cu")
    counted = shell(home, r"stats $'n\xffme.cu' --case three --format json")
    assert json.loads(counted.stdout)["submission"] == r"n\xffme.cu"


def test_an_output_that_takes_only_ascii_gets_escapes(home):
    (home / "mäße.cu").write_bytes(kernel())
    ended = shell(home, "test mäße.cu --backend cpu --case three", PYTHONIOENCODING="ascii")
    assert ended.stdout.startswith(rb"ACCEPTED  scaled-add  m\xe4\xdfe.cu")
    (home / "problems" / "scaled-add" / "statement.md").write_text("# Größe\n", encoding="utf-8")
    for encoding in ("ascii", "ascii:strict", "latin-1"):
        ended = shell(home, "show scaled-add", PYTHONIOENCODING=encoding)
        assert ended.returncode == Exit.ACCEPTED, ended.stderr
        assert "Größe".encode(encoding.partition(":")[0], errors="backslashreplace") in ended.stdout


def test_interrupt_of_a_running_case_is_one_json_value(home):
    (home / "endless.cu").write_bytes(kernel(body="while (x[0] != 12345.f) out[i] = a;"))
    command = [sys.executable, str(SCRIPT), "test", "endless.cu", "--backend", "cpu", "--format", "json"]
    with subprocess.Popen(
        command, cwd=home, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert b"compiled" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED
    assert json.loads(out)["error"] == {"kind": "interrupted", "message": "Interrupted.", "exit_code": 130}


STARTS = {
    "script": (str(SCRIPT),),
    "console script": ("-c", "from judge.cli.entry import run; run()"),
}


@pytest.mark.parametrize("start", STARTS)
def test_interrupt_while_modules_are_imported_is_told_as_later(tmp_path, start):
    # In the place of the first large module that the command line imports.
    (tmp_path / "typer.py").write_text("import sys, time\nsys.stderr.write('importing\\n')\ntime.sleep(60)\n")
    path = os.pathsep.join((str(tmp_path), str(SCRIPT.parents[1])))
    with subprocess.Popen(
        [sys.executable, *STARTS[start], "list"],
        cwd=tmp_path,
        env=environment(tmp_path, PYTHONPATH=path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr.readline() == b"importing\n"
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=30)
    assert (process.returncode, out, told) == (Exit.INTERRUPTED, b"", b"\nInterrupted.\n")


@pytest.mark.parametrize("stop", ["KeyboardInterrupt", "ZeroDivisionError"])
def test_what_fails_after_the_result_adds_no_second_json_value(home, stop):
    code = (
        "import sys, judge.cli.commands.test as command\n"
        "from judge.cli.main import run\n"
        f"def fail(*_, **__): raise {stop}\n"
        "command._remember = fail\n"
        "sys.argv = ['judge', *sys.argv[1:]]\n"
        "run()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "test", "mine.cu", "--backend", "cpu", "--case", "three", "--format", "json"],
        cwd=home,
        env=environment(home, PYTHONPATH=str(SCRIPT.parents[1])),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert json.loads(ended.stdout)["verdict"] == "accepted"
    assert ended.returncode == (Exit.INTERRUPTED if stop == "KeyboardInterrupt" else Exit.JUDGE_OR_MACHINE)
