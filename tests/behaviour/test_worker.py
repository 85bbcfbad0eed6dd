"""Real worker processes: they answer, they are killed at their limits, and their death has the right verdict."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from judge.backends.base import DeviceFault, ModuleImage
from judge.compiler.cache import DiskCache
from judge.errors import MachineError
from judge.problem import Role
from judge.sandbox import process
from judge.sandbox.bubblewrap import Absence, Bubblewrap, bubblewrap
from judge.sandbox.view import plain_view
from judge.verdict import Verdict
from judge.worker import incidents, supervisor
from judge.worker.messages import BufferSpec, CaseRequest, LaunchSpec
from judge.worker.session import Session
from judge.worker.supervisor import Limits, Worker, WorkerFault

STAND_IN = Path(__file__).parent / "worker_stand_in.py"
ROOT = STAND_IN.parent.parent.parent
LIMITS = Limits(grace_s=0.2, placing_s=5.0)
IMAGE = ModuleImage(b"module", "// source", {})


@pytest.fixture(autouse=True)
def _state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture(params=["boxed", "plain"])
def boxes(request, monkeypatch):
    """Every test once in a box of bubblewrap and once without."""
    if request.param == "plain":
        monkeypatch.setattr(process, "bubblewrap", lambda **_: Absence("switched off", ""))
    elif not isinstance(bubblewrap(), Bubblewrap):
        pytest.skip(f"boxes cannot be made here: {bubblewrap().reason}")
    return request.param


@pytest.fixture
def start(monkeypatch, boxes):
    """Start a worker whose process is the stand-in of that name."""
    started = []
    monkeypatch.setattr(supervisor, "_view", lambda kind, ordinal: plain_view([ROOT / "tests"]))

    def begin(name="serving", limits=LIMITS):
        monkeypatch.setattr(supervisor, "_command", lambda kind, ordinal: [sys.executable, str(STAND_IN), name])
        worker = Worker("cpu", limits=limits, cache=DiskCache(None))
        started.append(worker)
        return worker

    yield begin
    for worker in started:
        worker.close()


def case(kernel, n=4, time_limit_s=0.3):
    return CaseRequest(
        name=f"case-{kernel}",
        workspace_kernel="",
        launch_kernel="plan",
        launches=(LaunchSpec(kernel, kernel, 3),),
        parameters=(),
        buffers=(
            BufferSpec("x", "f32", "float", (n,), Role.INPUT, 4),
            BufferSpec("out", "f32", "float", (n,), Role.OUTPUT, 4),
        ),
        inputs={"x": np.arange(n, dtype=np.float32)},
        time_limit_s=time_limit_s,
    )


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_worker_runs_cases_one_after_another(start):
    worker = start()
    assert worker.ready().name == "fake"
    worker.load(IMAGE)
    for n in (1, 3_000_000, 7):
        result = worker.run_case(case("double", n, time_limit_s=5))
        assert result.verdict is None
        assert np.array_equal(np.frombuffer(result.outputs["out"], np.float32), 2 * np.arange(n, dtype=np.float32))
    assert worker.alive


def test_a_kernel_that_never_ends_is_killed_at_its_limit_with_everything_it_started(start):
    worker = start()
    worker.load(IMAGE)
    began = time.monotonic()
    result = worker.run_case(case("spin"))
    assert 0.5 <= time.monotonic() - began < 1.5
    assert result.verdict is Verdict.TIME_LIMIT
    assert "0.3 s" in result.message
    assert not worker.alive
    assert is_gone(worker._process.pid)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("die", "was ended by SIGSEGV"),
        ("leave", "ended by itself (exit code 7)"),
        ("garble", "gave no valid answer"),
        ("forge", "gave no valid answer"),
        ("stall", "gave no valid answer"),
        ("trip", "ended by itself (exit code 1)"),
    ],
)
def test_a_worker_without_a_valid_answer_is_the_judges_fault_with_an_incident(start, kernel, words):
    worker = start()
    worker.load(IMAGE)
    result = worker.run_case(case(kernel, time_limit_s=5))
    assert result.verdict is Verdict.JUDGE_ERROR
    assert words in result.message
    assert (incidents.incident_folder() / f"{result.incident}.txt").is_file()


def test_an_incident_keeps_the_workers_last_words_inert(start):
    worker = start()
    worker.load(IMAGE)
    result = worker.run_case(case("leave", time_limit_s=5))
    kept = (incidents.incident_folder() / f"{result.incident}.txt").read_text()
    assert "last words \\x1b[31m of a worker" in kept


def test_a_traceback_of_our_own_code_is_in_the_incident_and_not_in_the_message(start):
    worker = start()
    worker.load(IMAGE)
    result = worker.run_case(case("trip", time_limit_s=5))
    assert "ZeroDivisionError" not in result.message
    assert "ZeroDivisionError" in (incidents.incident_folder() / f"{result.incident}.txt").read_text()


def test_memory_without_end_is_a_memory_limit(start):
    worker = start(limits=Limits(grace_s=20, memory_bytes=400 << 20))
    worker.load(IMAGE)
    result = worker.run_case(case("swell", time_limit_s=20))
    assert result.verdict is Verdict.MEMORY_LIMIT
    assert "400 MiB" in result.message


def test_a_flood_of_output_neither_blocks_nor_counts(start):
    worker = start()
    worker.load(IMAGE)
    assert worker.run_case(case("flood", time_limit_s=5)).verdict is None
    assert len(worker.log()) < 70_000


def test_a_child_of_a_dead_worker_dies_too(start):
    worker = start()
    worker.load(IMAGE)
    result = worker.run_case(case("fork_and_leave", time_limit_s=1))
    assert result.verdict is not None
    group = worker._process.pid
    time.sleep(0.1)
    alive = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _group_of(entry) == group and _state_of(entry) != "Z"
    ]
    assert alive == []


def _stat(entry):
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["Z", "0", "0"]


def _group_of(entry):
    return int(_stat(entry)[2])


def _state_of(entry):
    return _stat(entry)[0]


def test_a_fatal_fault_ends_the_worker_and_keeps_its_verdict(start):
    worker = start()
    worker.load(IMAGE)
    result = worker.run_case(case("fatal"))
    assert (result.verdict, result.fatal) == (Verdict.RUNTIME_ERROR, True)
    assert not worker.alive


def test_a_session_goes_on_with_a_fresh_worker_after_a_death(start):
    with Session("cpu", start()) as session:
        session.load(IMAGE)
        verdicts = [
            session.run_case(case(kernel, time_limit_s=2)).verdict for kernel in ("double", "die", "double", "fatal")
        ]
        last = session.run_case(case("double", time_limit_s=2)).verdict
    assert verdicts == [None, Verdict.JUDGE_ERROR, None, Verdict.RUNTIME_ERROR]
    assert last is None


def test_the_worker_of_the_first_module_idles_until_the_session_closes(start):
    first, second = start(), start()
    with Session("cpu", first, lambda _: second) as session:
        session.load(IMAGE)
        session.restart(IMAGE)
        assert session.run_case(case("double", time_limit_s=2)).verdict is None
        assert first.alive
    assert not first.alive
    assert not second.alive


def test_a_worker_that_cannot_start_is_the_machines_fault(start):
    with pytest.raises(MachineError, match="the cpu worker did not start: no such device here"):
        start("never-ready").ready()


def test_a_refused_module_is_a_fault_of_the_module_and_the_worker_lives(start):
    worker = start("refusing")
    with pytest.raises(DeviceFault, match="not emulated: wgmma") as caught:
        worker.load(IMAGE)
    assert caught.value.verdict == "compile_error"
    assert worker.alive


def test_a_worker_killed_while_loading_is_a_judge_error(start):
    worker = start()
    worker.ready()
    os.kill(worker._process._init() or worker._process.pid, 9)
    # With its init, everything in a box is dead.
    assert worker._process.exit_code(10) is not None
    with pytest.raises(WorkerFault) as caught:
        worker.load(IMAGE)
    assert caught.value.verdict == "judge_error"
    assert caught.value.incident


def test_nothing_is_left_of_a_closed_worker(start):
    before = set(os.listdir("/proc/self/fd"))
    worker = start()
    worker.ready()
    home = worker._process.home
    worker.close()
    worker.close()
    assert not home.exists()
    time.sleep(0.2)
    assert len(set(os.listdir("/proc/self/fd")) - before) <= 1


def test_a_worker_sees_none_of_the_users_environment(start, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    worker = start()
    worker.ready()
    environment = Path(f"/proc/{worker._process.pid}/environ").read_bytes()
    assert b"s3cret" not in environment
    home = "/tmp" if worker._process.boxed else str(worker._process.home)
    assert f"HOME={home}".encode() in environment.split(b"\0")


SEALED = """
import os, socket, sys
from judge.worker.main import seal
channel, other = socket.socketpair()
print(seal("cpu").level)
opening, looking = (lambda: open("/etc/passwd")), (lambda: os.stat("/"))
executing = lambda: os.execv("/bin/true", ["true"])
for attempt in (opening, looking, executing, socket.socket):
    try:
        attempt()
        print("possible")
    except OSError as error:
        print(error.errno)
channel.sendall(b"still talking")
print(other.recv(100).decode())
"""


def test_a_sealed_worker_reaches_no_file_program_or_network_and_still_talks():
    done = subprocess.run(
        [sys.executable, "-c", SEALED], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert done.stdout.split("\n") == ["restricted", "2", "2", "2", "1", "still talking", ""]


PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing()
{
    ret;
}
"""


class Watched(DiskCache):
    """A cache that tells how often something was found and stored."""

    def __init__(self, folder):
        super().__init__(folder)
        self.found = self.stored = 0

    def read(self, key):
        data = super().read(key)
        self.found += data is not None
        return data

    def write(self, key, data):
        self.stored += 1
        super().write(key, data)


def test_machine_code_of_one_worker_serves_the_next_ones(boxes, tmp_path):
    cache = Watched(tmp_path / "cache")
    image = ModuleImage(PTX, "", {})
    for found, stored in ((0, 2), (2, 2)):
        with Worker("cpu", cache=cache) as worker:
            worker.load(image)
        assert (cache.found, cache.stored) == (found, stored)  # of the device itself, and of the module
    for path in (tmp_path / "cache").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    with Worker("cpu", cache=cache) as worker:
        worker.load(image)
    assert (cache.found, cache.stored) == (2, 4)  # damaged entries are none
