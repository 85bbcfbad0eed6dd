"""The README's commands, run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
COMMANDS = [line.partition("#")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
JUDGE = [command for command in COMMANDS if command.startswith("python practice/judge.py")]
EXPECTED = {"test flash-forward.cu": 1, "solution flash-forward": 2}
"""Commands that rightly do not end with 0 for somebody who has only the starter."""


def test_the_readme_begins_with_two_commands_that_exist():
    assert COMMANDS[:2] == ["make judge", "make test"]
    planned = subprocess.run(["make", "-n", "judge", "test"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert planned.returncode == 0, planned.stderr
    assert "pytest" in planned.stdout
    assert "practice/judge.py test problems/" in planned.stdout


def test_the_model_solution_that_make_judge_takes_is_there():
    model = re.search(r"^MODEL := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert (ROOT / model.group(1)).is_file()


def test_commands_of_the_readme_work_in_order(tmp_path):
    assert len(JUDGE) >= 8
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state"), "NO_COLOR": "1"}
    for command in JUDGE:
        arguments = shlex.split(command)[2:]
        ended = subprocess.run(
            [sys.executable, str(ROOT / "practice" / "judge.py"), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ended.returncode == EXPECTED.get(" ".join(arguments), 0), f"{command}\n{ended.stdout}{ended.stderr}"
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("target", ["setup", "judge", "test", "lint", "check", "verify", "lock", "clean"])
def test_make_knows_its_targets(target):
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^{target} +\w", listed, re.M)
