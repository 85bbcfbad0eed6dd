"""The commands of docs/api.md, run as they are printed against a real server."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.service.running import RIGHT

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="the page uses curl and jq")
def test_the_commands_of_the_page_work_in_their_order(tmp_path, served):
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    script = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S))
    assert script.count("curl") == 7
    (tmp_path / "kernel.cu").write_text(RIGHT)
    script = script.replace("127.0.0.1:8000", f"127.0.0.1:{served.port}")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["accepted", "All cases right: 28 on the CPU backend."]
    assert "event: done" in lines
    # What is done is not cancelled; then it is judged once more.
    asked, states = ["done", "queued"], [["done"], ["done", "running"], ["done", "done"]]
    assert any(lines[-2 - len(attempts) :] == asked + attempts for attempts in states)
    assert (tmp_path / "junit.xml").read_text().startswith("<?xml")
