"""Boxes as they are on this machine: what a process in one is, what it can reach, and that the probes can fail."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from judge.catalogue import load_problem
from judge.compiler.boxed import Box
from judge.compiler.probing import probe_compiler
from judge.compiler.target import Target
from judge.events import NullSink
from judge.examples import Examples
from judge.pipeline import judge_submission
from judge.sandbox import probing, process
from judge.sandbox.bubblewrap import Absence, Bubblewrap, bubblewrap
from judge.sandbox.launcher import on_launcher
from judge.sandbox.probing import Probe, _Conversation
from judge.sandbox.tier import Tier, judge_probes, probe_isolation
from judge.sandbox.view import gpu_view, plain_view
from judge.selection import Options
from judge.verdict import Verdict
from judge.worker import supervisor
from judge.worker.supervisor import Worker

ROOT = Path(__file__).resolve().parents[2]
FOUND = bubblewrap()
MISSING = FOUND.reason if isinstance(FOUND, Absence) else ""
needs_bubblewrap = pytest.mark.skipif(bool(MISSING), reason=f"no box can be made here: {MISSING}")
REACHES = ["sealed box", "box without seals", "box with /proc"]
SOLUTION = ROOT / "problems/splitk-merge/submissions/accepted"


@pytest.fixture(scope="module")
def tier():
    return probe_isolation()


def command_of(worker):
    """The pid of the worker's own process: the child of the box's init, or the process itself."""
    init = worker._process._init()
    if not init:
        return worker._process.pid
    return int(Path(f"/proc/{init}/task/{init}/children").read_text().split()[0])


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


# The tier


@needs_bubblewrap
def test_every_probe_holds_here(tier):
    assert (tier.tier, tier.failures) == (Tier.ISOLATED, ())
    assert {probe.name for probe in tier.probes} >= {*REACHES, "files without end in /tmp"}
    assert sum("memory without end" in probe.name for probe in tier.probes) == 3
    assert sum("processes without end" in probe.name for probe in tier.probes) == 2


def test_the_compiler_gives_nothing_of_the_machine_away():
    probes = probe_compiler()
    assert len(probes) == 4
    assert [probe for probe in probes if not probe.held] == []


@needs_bubblewrap
def test_a_probe_without_a_box_around_it_fails(monkeypatch):
    monkeypatch.setattr(process, "bubblewrap", lambda **_: Absence("switched off", ""))
    (bare,) = probing._reach("bare", plain_view(), "no box")
    assert not bare.held
    for words in (
        "read a file of the supervisor",
        "read /etc/passwd",
        "listed /usr/bin",
        "connected by TCP",
        "sent UDP to the supervisor",
    ):
        assert words in bare.text
    assert not probing._tmpfs().held


@needs_bubblewrap
def test_a_probe_of_a_leaky_box_fails(monkeypatch):
    real = Bubblewrap.arguments

    def leaky(self, view, info=None):
        line = real(self, view, info)
        at = line.index("--unshare-net")
        return [*line[:at], *line[at + 1 : -5], "--ro-bind", "/etc", "/etc", *line[-5:]]

    monkeypatch.setattr(Bubblewrap, "arguments", leaky)
    (bare,) = probing._reach("bare", plain_view(), "leaky")
    assert "read /etc/passwd" in bare.text
    assert "connected by TCP" in bare.text
    (sealed,) = probing._reach("sealed", plain_view(), "leaky")
    assert sealed.held, sealed.text
    with Worker("cpu") as worker:
        worker.ready()
        assert (worker.isolation, worker.isolation_reasons) == ("restricted", ("the machine's network is in sight",))


def test_probes_decide_the_tier():
    good, bare, sealed = Probe("a", "bare", True), Probe("b", "bare", False, "leaks"), Probe("c", "sealed", False, "x")
    there = Bubblewrap("bwrap", "user")
    absent = Absence("bubblewrap is not installed", "install it")
    table = {
        (good,): (Tier.ISOLATED, Tier.RESTRICTED),
        (good, bare): (Tier.RESTRICTED, Tier.RESTRICTED),
        (good, bare, sealed): (Tier.NONE, Tier.NONE),
    }
    for probes, expected in table.items():
        assert (judge_probes(probes, there).tier, judge_probes(probes, absent).tier) == expected
    assert judge_probes((good,), absent).failures == ("bubblewrap is not installed",)
    assert judge_probes((good,), absent).fix == "install it"
    assert judge_probes((good, bare), there).failures == ("b: leaks",)


FORBIDDEN = """
import errno, sys
from judge.sandbox import seccomp
seccomp._install(seccomp._filter(frozenset(["unshare"]), errno.EPERM, refuse_namespaces=True))
from judge.sandbox.tier import probe_isolation
from judge.worker.supervisor import Worker
found = probe_isolation()
print(found.tier, *found.failures, sep="|")
print(found.fix)
with Worker("cpu") as worker:
    worker.ready()
    print(worker.isolation, *worker.isolation_reasons, sep="|")
"""


@needs_bubblewrap
def test_where_namespaces_are_forbidden_the_tier_is_lower_and_says_why():
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    tier, fix, worker = done.stdout.splitlines()
    assert re.fullmatch(r"restricted\|bwrap: .*namespace.*", tier)
    assert "kernel.unprivileged_userns_clone" in fix
    assert re.fullmatch(r"restricted\|bwrap: .*namespace.*", worker)


ROOT_FOR_EVER = """
import os
from judge.sandbox import seccomp
seccomp.seal_network.__globals__["_install"](seccomp._filter(frozenset(["setresuid", "setgroups"]), 1))
from judge.worker.supervisor import Worker
with Worker("cpu") as worker:
    worker.ready()
    print(worker.isolation, *worker.isolation_reasons, sep="|")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can fail to give up root")
def test_root_that_cannot_be_given_up_is_no_isolation_and_says_what_to_do():
    done = subprocess.run(
        [sys.executable, "-c", ROOT_FOR_EVER], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.startswith("none|this process is root and may not become another user (EPERM): ")
    assert "start the judge as an ordinary user" in done.stdout


# A process in a box


@needs_bubblewrap
def test_a_boxed_worker_is_of_another_user_without_rights_and_in_its_own_namespaces():
    with Worker("cpu") as worker:
        worker.ready()
        assert (worker.isolation, worker.isolation_reasons) == ("isolated", ())
        pid = command_of(worker)
        status = status_of(pid)
        assert "0" not in status["Uid"].split()
        assert "0" not in status["Gid"].split()
        assert status["Groups"].split() == [] or os.geteuid() != 0
        assert (status["CapEff"], status["CapPrm"], status["CapInh"]) == ("0" * 16,) * 3
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        for name in ("mnt", "net", "pid", "ipc", "uts"):
            assert os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"), name
        assert len(os.listdir(f"/proc/{pid}/fd")) <= 5


@needs_bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into another user's root folder")
def test_the_root_of_a_box_holds_the_interpreter_and_nothing_of_the_user():
    with Worker("cpu") as worker:
        worker.ready()
        inside = Path(f"/proc/{command_of(worker)}/root")
        assert {path.name for path in (inside / "etc").iterdir()} <= {"ld.so.cache", "alternatives"}
        assert {path.name for path in (inside / "dev").iterdir()} == {"null", "zero", "random", "urandom"}
        own = {ROOT.relative_to("/tmp").parts[0]} if ROOT.is_relative_to("/tmp") else set()
        assert {path.name for path in (inside / "tmp").iterdir()} == own
        assert not (inside / "proc").exists()
        assert not (inside / "usr/bin/python3.11").exists() or "/usr/bin" in sys.executable
        assert {path.name for path in (inside / str(ROOT)[1:]).iterdir()} - {".venv"} == {"judge"}


@needs_bubblewrap
def test_boxes_of_one_judge_are_strangers_to_each_other():
    with Worker("cpu") as one, Worker("cpu") as other:
        one.ready(), other.ready()
        first, second = command_of(one), command_of(other)
        assert os.readlink(f"/proc/{first}/ns/pid") != os.readlink(f"/proc/{second}/ns/pid")
        if os.geteuid() == 0:
            assert status_of(first)["Uid"] != status_of(second)["Uid"]


@needs_bubblewrap
def test_everything_a_box_started_ends_with_it():
    with _Conversation("bare", "fork", plain_view()) as box:
        box.ask({})
        assert box.answer()["taken"] > 50
        namespace = os.readlink(f"/proc/{box.process._init()}/ns/pid")
        assert count_in(namespace) > 50
    assert count_in(namespace) == 0


def count_in(namespace):
    count = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "ns/pid") == namespace:
                # The last one may wait for the machine's own init to take note of its end.
                count += state_of(entry.name) != "Z"
        except OSError:
            continue
    return count


STARTER = """
import os, time
from judge.worker.supervisor import Worker
worker = Worker("cpu")
worker.ready()
print(worker._process._init() or worker._process.pid, flush=True)
time.sleep(60)
"""


def test_a_box_ends_within_a_second_of_its_supervisors_death():
    with subprocess.Popen([sys.executable, "-c", STARTER], cwd=ROOT, stdout=subprocess.PIPE) as starter:
        pid = int(starter.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        starter.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 1.0
    while state_of(pid) != "Z":
        assert time.monotonic() < deadline, "the box outlived its supervisor"
        time.sleep(0.01)


def state_of(pid):
    """Z for a process that is gone, whether it was reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_box_outlives_the_thread_that_asked_for_it():
    workers = []
    thread = threading.Thread(target=lambda: workers.append(Worker("cpu")))
    thread.start()
    thread.join()
    (worker,) = workers
    with worker:
        assert worker.ready().kind == "cpu"
        time.sleep(0.1)
        assert worker.responds()


def test_the_launcher_gives_back_results_and_errors():
    assert on_launcher(threading.current_thread) is on_launcher(threading.current_thread)
    with pytest.raises(ZeroDivisionError):
        on_launcher(lambda: 1 // 0)
    assert on_launcher(lambda: "still there") == "still there"


def test_a_worker_can_be_cancelled_from_another_thread_while_it_starts():
    with Worker("cpu") as worker:
        threading.Timer(0.05, worker.cancel).start()
        began = time.monotonic()
        with pytest.raises(Exception, match="did not start"):
            worker.ready()
        assert time.monotonic() - began < 2.0


@needs_bubblewrap
def test_the_compilers_box_has_no_proc_and_no_network_either():
    with Box(Target("ptx", "compute_90", "debug")) as box:
        box.wait_until_sealed()
        init = box._process._init()
        for name in ("mnt", "net", "pid"):
            assert os.readlink(f"/proc/{init}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")
        mounts = Path(f"/proc/{init}/mounts").read_text().splitlines()
        assert {line.split()[2] for line in mounts} & {"proc", "sysfs", "cgroup", "cgroup2", "devpts"} == set()
        writable = [line.split()[1] for line in mounts if "rw" in line.split()[3].split(",")]
        assert set(writable) <= {"/tmp", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"}


@needs_bubblewrap
def test_a_box_that_ended_by_itself_is_closed_like_any_other():
    for wait_s in (0.0, 10.0):
        one = process.BoxedProcess([sys.executable, "-S", "-c", "print('gone')"], plain_view(), {}, ())
        code = one.exit_code(wait_s)
        assert code == (0 if wait_s else None)
        one.end()
        one.end()
        one.stdout.close()
        assert not one.home.exists()


@needs_bubblewrap
def test_only_a_child_of_the_box_counts_as_its_init(monkeypatch):
    """The number bwrap wrote may be another process's by the time somebody asks."""
    with subprocess.Popen(["/bin/sleep", "60"]) as stranger:
        monkeypatch.setattr(process, "_read_pid", lambda info: stranger.pid)
        one = process.BoxedProcess([sys.executable, "-S", "-c", "import time; time.sleep(60)"], plain_view(), {}, ())
        assert one._init() == 0
        one.end()
        one.stdout.close()
        assert stranger.poll() is None
        stranger.kill()


GPU_START = """
import os
from judge.sandbox.privileges import drop_root
drop_root(keep_proc=True)
import judge.backends.cuda.device
with open(f"/proc/{os.getpid()}/task/{os.getpid()}/comm", "w") as comm:
    comm.write("a driver")
print(os.getuid() != 0, open("/proc/self/comm").read().strip(), os.access("/proc/sys/vm/swappiness", os.W_OK))
open("/dev/zero", "rb").read(1)  # as it opens the GPU's
"""


@needs_bubblewrap
def test_a_gpu_box_gives_up_root_first_and_still_finds_its_modules_and_names_its_threads():
    """What NVIDIA's driver asks of a process, on a machine without one."""
    one = process.BoxedProcess([sys.executable, "-c", GPU_START], gpu_view(0), supervisor._environment(), ())
    assert one.exit_code(60) == 0
    assert one.stdout.read().decode() == "True a driver False\n"
    one.end()
    one.stdout.close()


WALK = """
import os, sys
from judge.sandbox.privileges import drop_root
drop_root()
print(*[path for path in sys.argv[1:] if not os.access(os.path.dirname(path), os.X_OK | os.R_OK)])
"""


@needs_bubblewrap
@pytest.mark.parametrize("view", [plain_view(), gpu_view(0)], ids=["plain", "gpu"])
def test_who_gave_up_root_still_walks_to_everything_a_box_shows(view):
    shown = [*view.read_only, *view.devices]
    one = process.BoxedProcess([sys.executable, "-c", WALK, *shown], view, supervisor._environment(), ())
    assert one.exit_code(60) == 0
    assert one.stdout.read().decode() == "\n"
    one.end()
    one.stdout.close()


@needs_bubblewrap
def test_a_checkout_in_the_folder_for_temporary_files_works_too(tmp_path):
    """Where a clone lies in /tmp, the box's own /tmp must not hide it."""
    clone = tempfile.mkdtemp(dir="/tmp")
    try:
        shutil.copytree(ROOT / "judge", Path(clone) / "judge", ignore=shutil.ignore_patterns("__pycache__"))
        script = "from judge.worker.supervisor import Worker\nimport judge\n"
        script += "with Worker('cpu') as worker: print(judge.__file__, worker.ready().kind, worker.isolation)"
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd="/",
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": clone},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert done.stdout == f"{clone}/judge/__init__.py cpu isolated\n"
    finally:
        shutil.rmtree(clone)


# What goes in


def test_no_expected_value_and_no_seed_enters_a_box(monkeypatch):
    sent = []
    real = Worker._send

    def listening(self, header, blobs, *, deadline):
        sent.append(repr(header).encode() + b"".join(bytes(blob) for blob in blobs))
        real(self, header, blobs, deadline=deadline)

    monkeypatch.setattr(Worker, "_send", listening)
    problem = load_problem("splitk-merge")
    case = next(case for case in problem.cases if case.cpu)
    seed = 0x5EC2E75EED
    source = next(iter(sorted(SOLUTION.glob("*.cu")))).read_bytes()
    report = judge_submission(
        problem, source, "mine.cu", Options(backend="cpu", cases=(case.name,), seed=seed), NullSink()
    )
    assert report.verdict is Verdict.ACCEPTED, report.message
    with Examples(problem, seed) as examples:
        inputs, expected = examples.inputs(case), examples.expected(case)
    inside = b"\0".join(sent)
    for name, values in inputs.items():
        assert np.ascontiguousarray(values).tobytes() in inside, name
    for values in (*expected.reference.values(), *expected.naive.values()):
        for dtype in (np.float64, np.float32):
            start = np.ascontiguousarray(values, dtype).tobytes()[:64]
            assert any(start)
            assert start not in inside
    assert str(seed).encode() not in inside


# Where boxes come from


def test_continuous_integration_fetches_what_is_missing(tmp_path):
    """The script itself, with stand-ins for the package manager and make, on a path without what the tests need."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tmp_path / ".ci").mkdir()
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".ci/run").write_bytes((ROOT / ".ci/run").read_bytes())
    for name in ("bin/make", "bin/git", "bin/apt-get", "scripts/find-python"):
        (tmp_path / name).write_text(f'#!/bin/bash\necho "{Path(name).name} $*" >> "{tmp_path}/called"\n')
        (tmp_path / name).chmod(0o755)
    (tools / "dirname").symlink_to("/usr/bin/dirname")
    subprocess.run(
        ["/bin/bash", tmp_path / ".ci/run"], env={"PATH": str(tools)}, check=True, capture_output=True, timeout=30
    )
    called = (tmp_path / "called").read_text().splitlines()
    (install,) = [line for line in called if line.startswith("apt-get install")]
    assert install.split()[-4:] == ["bubblewrap", "chromium", "nodejs", "npm"]
    assert called[-1] == "make test"
    for name in ("bwrap", "chromium", "npm"):
        (tools / name).symlink_to("/bin/true")
    (tmp_path / "called").unlink()
    subprocess.run(
        ["/bin/bash", tmp_path / ".ci/run"], env={"PATH": str(tools)}, check=True, capture_output=True, timeout=30
    )
    assert "apt-get" not in (tmp_path / "called").read_text()
