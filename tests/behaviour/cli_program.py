"""Starting the command line in processes of its own, over a problems folder made from the template."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "practice" / "judge.py"
PROBLEM = "scaled-add"


def environment(home: Path, **changes: str) -> dict[str, str]:
    """A user with empty state and the problems below home; compiled kernels are shared between tests."""
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    return kept | {"JUDGE_PROBLEMS": str(home / "problems"), "XDG_STATE_HOME": str(home / "state")} | changes


def judge(
    home: Path, *arguments: object, data: bytes | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run `judge` with home as the current folder; output as text."""
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=home,
        env=environment(home, **changes),
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return subprocess.CompletedProcess(ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def make_home(home: Path) -> Path:
    """A folder with problems/scaled-add, made by `judge new` from the real template."""
    shutil.copytree(ROOT / "problems" / "_template", home / "problems" / "_template")
    made = judge(home, "new", PROBLEM)
    assert made.returncode == 0, made.stderr
    return home
