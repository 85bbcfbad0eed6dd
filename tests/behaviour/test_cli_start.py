"""The program as a user starts it: from any folder, with any Python, with nothing heavy on the way to --help."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from judge.catalogue import find_problems

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "practice" / "judge.py"
HEAVY = {"numpy", "pydantic", "cupy", "llvmlite", "tree_sitter", "rich", "judge.pipeline", "judge.records"}


def run(*command, cwd=ROOT, **environment):
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "JUDGE_PROBLEMS"} | environment,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["test", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys; sys.argv = ['judge', *sys.argv[1:]]\n"
        "from judge.cli.main import run\n"
        "try: run()\n"
        "finally: print('MODULES', *sys.modules, file=sys.stderr)"
    )
    ended = run(sys.executable, "-c", code, *arguments)
    assert ended.returncode == 0
    loaded = set(ended.stderr.rpartition("MODULES")[2].split())
    assert "judge.cli.main" in loaded
    # Typer itself fetches pydantic once it has options to convert; the list of commands needs none.
    allowed = set() if arguments == ["--help"] else {"pydantic"}
    assert loaded & HEAVY <= allowed


def test_script_works_from_any_folder_and_says_how_it_is_called_there(tmp_path):
    ended = run(sys.executable, SCRIPT, "list", cwd=tmp_path)
    assert ended.returncode == 0
    assert "flash-forward" in ended.stdout
    assert f"python {os.path.relpath(SCRIPT, tmp_path)} start PROBLEM" in ended.stdout


def test_console_script_is_the_same_program():
    script = run(sys.executable, SCRIPT, "list", "--format", "json")
    module = run(sys.executable, "-c", "from judge.cli.main import run; run()", "list", "--format", "json")
    assert json.loads(script.stdout) == json.loads(module.stdout)


@pytest.fixture
def bare_checkout(tmp_path):
    """A checkout whose environment was not made yet."""
    (tmp_path / "practice").mkdir()
    shutil.copy(SCRIPT, tmp_path / "practice" / "judge.py")
    return tmp_path


def test_missing_environment_names_the_one_command(bare_checkout):
    ended = run(sys.executable, "-S", "-I", bare_checkout / "practice" / "judge.py", "list", cwd="/")
    assert ended.returncode == 3
    assert f"make -C {bare_checkout} setup" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_another_python_hands_over_to_the_environment(bare_checkout):
    stand_in = bare_checkout / ".venv" / "bin" / "python"
    stand_in.parent.mkdir(parents=True)
    stand_in.write_text('#!/bin/sh\necho "handed over: $*"\n')
    stand_in.chmod(0o755)
    ended = run(sys.executable, bare_checkout / "practice" / "judge.py", "test", "a b.cu")
    assert ended.stdout == f"handed over: {bare_checkout / 'practice' / 'judge.py'} test a b.cu\n"


def test_broken_environment_does_not_hand_over_for_ever(bare_checkout):
    stand_in = bare_checkout / ".venv" / "bin" / "python"
    stand_in.parent.mkdir(parents=True)
    stand_in.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    stand_in.chmod(0o755)
    ended = run(sys.executable, bare_checkout / "practice" / "judge.py", "list")
    assert ended.returncode == 3
    assert "setup" in ended.stderr


def test_output_into_a_closed_pipe_is_no_traceback():
    ended = run("bash", "-c", f"set -o pipefail; {sys.executable} {SCRIPT} schema | head -c 1")
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


def test_completion_knows_the_problems(tmp_path):
    ended = run(
        sys.executable,
        "-c",
        "import sys; sys.argv=['judge']; from judge.cli.main import run; run()",
        _JUDGE_COMPLETE="complete_bash",
        COMP_WORDS="judge show fl",
        COMP_CWORD="2",
    )
    assert "flash-forward" in ended.stdout.split()
    assert ended.stdout.split() == [problem for problem in find_problems() if problem.startswith("fl")]
