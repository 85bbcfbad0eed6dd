"""The table of exit codes, end to end: real files, real compiler, real workers, the CPU backend."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judge.cli.exits import Exit
from tests.behaviour.cli_program import PROBLEM, SCRIPT, environment, judge, make_home

KERNEL = """// problem: scaled-add
// @launch scale_add<<<{grid}, {block}>>>({arguments})
__global__ void scale_add(const float* x, const float* y, float* out, int N, float a) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  {body}
}}
"""
RIGHT = "if (i < N) out[i] = a * x[i] + y[i];"
SETTINGS = {"grid": "(N + 255) / 256", "block": "256", "arguments": "x, y, out, N, a", "body": RIGHT}


def kernel(**changes):
    return KERNEL.format(**(SETTINGS | changes)).encode()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_home(tmp_path_factory.mktemp("home"))


def run(home, source, *arguments, name="mine.cu"):
    (home / name).write_bytes(source)
    return judge(home, "test", name, "--backend", "cpu", *arguments)


def test_accepted_is_0_and_is_remembered(home):
    assert judge(home, "solution", PROBLEM).returncode == Exit.USAGE
    ended = run(home, kernel())
    assert ended.returncode == Exit.ACCEPTED, ended.stdout + ended.stderr
    assert ended.stdout.startswith("ACCEPTED  scaled-add  mine.cu\n")
    assert re.search(r"\[7/7\] cpu +accepted", ended.stderr)
    assert "\x1b" not in ended.stdout + ended.stderr
    listed = judge(home, "solution", PROBLEM, "--format", "json")
    assert listed.returncode == Exit.ACCEPTED
    for one in json.loads(listed.stdout):
        assert set(one) == {"name", "about", "measured", "source"}
        shown = judge(home, "solution", PROBLEM, one["name"])
        assert shown.stdout.rstrip("\n") == one["source"].rstrip("\n")
        assert json.loads(judge(home, "solution", PROBLEM, one["name"], "--format", "json").stdout) == one
    assert judge(home, "solution", PROBLEM).stdout.count("\n  ") >= len(json.loads(listed.stdout)) > 0
    assert "No solution" in judge(home, "solution", PROBLEM, "nonesuch").stderr


def test_a_reader_that_goes_away_changes_no_exit_code(home):
    (home / "unlaunchable.cu").write_bytes(kernel(block="4096"))
    (home / "right.cu").write_bytes(kernel())
    for name, code in (("unlaunchable.cu", Exit.COMPILE_ERROR), ("right.cu", Exit.ACCEPTED)):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            words = [sys.executable, str(SCRIPT), "test", name, "--backend", "cpu"]
            ended = subprocess.run(
                words, cwd=home, env=environment(home), stdout=writer, stderr=subprocess.PIPE, check=False
            )
        finally:
            os.close(writer)
        assert ended.returncode == code, ended.stderr
        assert b"Traceback" not in ended.stderr


def test_wrong_answer_is_1_and_its_replay_line_runs_the_case_again(home):
    ended = run(home, kernel(body=RIGHT.replace("a * ", "")), "--seed", "3")
    assert ended.returncode == Exit.NOT_ACCEPTED
    assert ended.stdout.startswith("WRONG ANSWER")
    assert "[no_factor]" in ended.stdout
    replay = re.search(r"Replay  python \S+ (test .+)", ended.stdout).group(1)
    again = judge(home, *replay.split())
    assert again.returncode == Exit.NOT_ACCEPTED
    first = re.search(r"First .+", ended.stdout).group()
    assert first in again.stdout


def test_out_of_bounds_is_told_with_line_thread_and_index(home):
    ended = run(home, kernel(body=RIGHT.removeprefix("if (i < N) ")), "--case", "three")
    assert ended.returncode == Exit.NOT_ACCEPTED
    assert ended.stdout.startswith("UNDEFINED BEHAVIOR")
    for part in ("out of bounds:", "5 | out[i] = a * x[i] + y[i];", "kernel scale_add", "thread (3, 0, 0)"):
        assert part in ended.stdout


def test_compile_error_is_4_with_the_place(home):
    ended = run(home, kernel(body="out[i] = fooo;"))
    assert ended.returncode == Exit.COMPILE_ERROR
    assert re.search(r"mine\.cu:5(:\d+)?: error: .*fooo", ended.stdout)
    assert "      5 |   out[i] = fooo;" in ended.stdout


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"arguments": "x, y, out, N"}, Exit.COMPILE_ERROR, "argument"),
        ({"arguments": "x, y, N, out, a"}, Exit.COMPILE_ERROR, "argument"),
        ({"arguments": "x, y, result, N, a"}, Exit.COMPILE_ERROR, "result"),
        ({"grid": "(N + 255 / 256"}, Exit.COMPILE_ERROR, "mine.cu:2:24: error:"),
        ({"grid": "blocks"}, Exit.COMPILE_ERROR, "blocks"),
        ({"grid": "0"}, Exit.COMPILE_ERROR, "grid"),
        ({"grid": "N - 2000"}, Exit.COMPILE_ERROR, "grid"),
        ({"block": "2048"}, Exit.COMPILE_ERROR, "1024"),
        ({"grid": "dim3(1, 70000)"}, Exit.COMPILE_ERROR, "65535"),
        ({"block": "256, 10000000"}, Exit.COMPILE_ERROR, "shared"),
    ],
)
def test_bad_launch_line_is_refused_with_the_figure_or_name(home, changes, code, words):
    ended = run(home, kernel(**changes), "--case", "thousand")
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert words in ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_launch_refused_at_run_time_is_4_with_place_and_caret(home):
    ended = run(home, kernel(block="2048"), "--case", "thousand")
    assert ended.returncode == Exit.COMPILE_ERROR
    lines = ended.stdout.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("  mine.cu:2:"))
    assert "2048 threads" in lines[place]
    assert lines[place + 2].index("^") == lines[place + 1].index("2048")


def test_a_part_of_the_cases_is_not_called_all_and_leads_to_all(home):
    ended = run(home, kernel(), "--case", "three")
    assert "Right, but only a part of the 7 cases was run: 1 on the CPU backend." in ended.stdout
    assert re.search(r"Next +Run all cases: python \S+ test mine.cu --problem scaled-add --backend cpu", ended.stdout)
    assert "solution" not in ended.stdout


def test_what_a_right_kernel_prints_is_shown(home):
    ended = run(home, kernel(body='if (i == 2) printf("i is %d\\n", i); ' + RIGHT), "--case", "three")
    assert ended.returncode == Exit.ACCEPTED
    assert "  Printed in three, cpu:\n    i is 2\n" in ended.stdout


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"// problem: scaled-add\n" + b"/" * (10 << 20), "KiB"),
        (b"// problem: scaled-add\nint \xff\xfe;\n", "UTF-8"),
        (b"// problem: scaled-add\nint a\x00b;\n", "NUL"),
    ],
)
def test_what_is_no_source_is_refused_with_the_reason(home, data, words):
    ended = run(home, data, "--problem", PROBLEM)
    assert ended.returncode == Exit.COMPILE_ERROR
    assert words in ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere.cu",), "There is no file nowhere.cu."),
        (("problems",), "is a folder"),
        (("mine.cu", "--problem", "scaled-ad"), "Did you mean scaled-add?"),
        (("mine.cu", "--case", "thosand"), "Did you mean thousand?"),
    ],
)
def test_usage_is_2(home, arguments, words):
    (home / "mine.cu").write_bytes(kernel())
    ended = judge(home, "test", *arguments)
    assert ended.returncode == Exit.USAGE
    assert words in ended.stderr
    assert ended.stdout == ""


def test_machine_or_problem_fault_is_3(home):
    broken = home / "problems" / "broken-one"
    broken.mkdir()
    (broken / "problem.py").write_text("PROBLEM = 3\n")
    ended = run(home, kernel(), "--problem", "broken-one")
    assert ended.returncode == Exit.JUDGE_OR_MACHINE
    assert "broken-one/problem.py" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_nothing_to_do_is_5(home):
    ended = run(home, kernel(), "--cases", "bench")
    assert ended.returncode == Exit.NOTHING_TO_DO
    assert "GPU" in ended.stderr


def test_interrupt_is_130_within_seconds_and_leaves_no_process(home):
    (home / "endless.cu").write_bytes(kernel(body="while (x[0] != 12345.f) __nanosleep(1);"))
    command = [sys.executable, str(SCRIPT), "test", "endless.cu", "--backend", "cpu"]
    with subprocess.Popen(
        command, cwd=home, env=environment(home), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert "compiled" in process.stderr.readline()
        time.sleep(1.0)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED
    assert time.monotonic() - sent < 5
    assert "Traceback" not in told
    assert "Interrupted." in told
    left = [p.name for p in Path("/proc").glob("[0-9]*") if _session(p) == process.pid]
    assert left == []


def _session(folder):
    """The session of a process that still runs; one that only waits to be reaped is gone."""
    try:
        state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        return int(session) if state not in "ZX" else None
    except (OSError, ValueError, IndexError):
        return None


def test_json_on_stdout_is_one_value_in_every_outcome(home):
    for source, verdict in ((kernel(), "accepted"), (kernel(body="x;;("), "compile_error")):
        ended = run(home, source, "--format", "json", "--case", "three")
        assert json.loads(ended.stdout)["verdict"] == verdict
    ended = judge(home, "test", "nowhere.cu", "--format", "json")
    assert json.loads(ended.stdout)["error"]["exit_code"] == Exit.USAGE


def test_standard_input_and_forced_color(home):
    ended = judge(home, "test", "-", "--case", "three", "--backend", "cpu", data=kernel(), FORCE_COLOR="1")
    assert ended.returncode == Exit.ACCEPTED
    assert ended.stdout.startswith("\x1b[1;32mACCEPTED\x1b[0m")


def test_starter_fails_with_first_mismatch_and_one_hint(home):
    assert judge(home, "start", PROBLEM).returncode == Exit.ACCEPTED
    ended = judge(home, "test", f"{PROBLEM}.cu", "--backend", "cpu")
    assert ended.returncode == Exit.NOT_ACCEPTED
    assert re.search(r"First  out\[0\]: got -?0, want", ended.stdout)
    assert ended.stdout.count("\n  Hint ") == 1
    os.remove(home / f"{PROBLEM}.cu")
