"""What a supervisor that was killed left behind is ended and removed; nothing of those that live is touched."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from judge.sandbox import owners
from judge.sandbox.inside import CANARY_VARIABLE
from judge.sandbox.owners import is_left, own_prefix
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
    own = own_prefix()
    folders = {"dead": tmp_path / f"{own.partition('.')[0]}.{ended.pid}-a", "alive": tmp_path / f"{own}a"}
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


def test_what_another_pid_namespace_owns_is_left_though_no_process_here_has_the_number():
    own = own_prefix()
    ended = subprocess.Popen(["true"])
    ended.wait()
    namespace, _, _ = own.removeprefix("judge-box-").partition(".")
    assert is_left(f"judge-box-{namespace}.{ended.pid}-a")
    assert not is_left(f"judge-box-{int(namespace) + 1}.{ended.pid}-a")
    assert not is_left(f"{own}a")
    assert not is_left(f"judge-box-{ended.pid}-a")


def test_without_proc_things_have_names_and_none_is_known_to_be_left(monkeypatch):
    monkeypatch.setattr(owners, "_namespace", lambda: 0)
    assert own_prefix() == f"judge-box-0.{os.getpid()}-"
    assert not is_left("judge-box-0.999999999-a")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no program that makes a PID namespace")
def test_a_judge_in_another_pid_namespace_leaves_our_folders(box):
    _, folders = box
    sweep = (
        "import sys, tempfile; tempfile.tempdir = sys.argv[1]; import judge.sandbox.process as process;"
        "process._sweep_folders(); print('swept')"
    )
    own = folders["alive"]
    command = ["unshare", "--fork", "--pid", "--mount-proc", sys.executable, "-c", sweep, str(own.parent)]
    swept = subprocess.run(command, capture_output=True, text=True, check=False)
    if swept.returncode != 0 and "unshare" in swept.stderr:
        pytest.skip(f"no PID namespace can be made here: {swept.stderr.strip()}")
    assert swept.stdout == "swept\n", swept.stderr
    assert own.exists()
