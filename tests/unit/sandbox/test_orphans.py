"""What a supervisor that was killed left behind is ended and removed; nothing of those that live is touched."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from judge.sandbox.inside import CANARY_VARIABLE
from judge.sandbox.process import _sweep_folders
from tests.service.running import until


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def gone(pid):
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.fixture
def box(tmp_path, monkeypatch):
    """Folders of boxes of a process that is dead and of this one, and a program that is called bwrap."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / "bwrap").symlink_to(shutil.which("sleep"))
    folders = {"dead": tmp_path / f"judge-box-{ended.pid}-a", "alive": tmp_path / f"judge-box-{os.getpid()}-a"}
    for folder in folders.values():
        folder.mkdir()
    return tmp_path / "bwrap", folders


def orphan(program, folder):
    """A process whose parent has ended."""
    told = subprocess.run(
        ["sh", "-c", f"{program} 60 >/dev/null 2>&1 & echo $!"],
        env={**os.environ, CANARY_VARIABLE: str(folder)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    pid = int(told.stdout)
    until(lambda: Path(f"/proc/{pid}/comm").read_text() == f"{Path(program).name}\n")
    return pid


def test_a_box_without_its_outer_half_is_ended_and_no_other(box):
    program, folders = box
    left, theirs, other = (
        orphan(program, folders["dead"]),
        orphan(program, folders["alive"]),
        orphan(shutil.which("sleep"), folders["dead"]),
    )
    held = subprocess.Popen([program, "60"], env={**os.environ, CANARY_VARIABLE: str(folders["dead"])})
    try:
        if parent(left) != 1:
            pytest.skip("something between this test and the machine's init adopts orphans")
        _sweep_folders.__wrapped__()
        until(lambda: gone(left))
        assert not gone(theirs)
        assert not gone(other)
        assert held.poll() is None
        assert (folders["dead"].exists(), folders["alive"].exists()) == (False, True)
    finally:
        held.kill()
        held.wait()
        for pid in (left, theirs, other):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
