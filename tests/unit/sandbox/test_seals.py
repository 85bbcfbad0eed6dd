"""The seals, each tried in a process of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import judge
from judge.sandbox.limits import ProcessLimits
from judge.sandbox.syscalls import AARCH64, NETWORK_CALLS, OWN_PROCESS_CALLS, PATH_CALLS, PROCESS_CALLS, X86_64

ROOT = Path(judge.__file__).parent.parent

PRELUDE = """
import ctypes, errno, os, socket, threading, time, resource, signal
from judge.sandbox.seccomp import seal_paths, seal_network, seal_processes
from judge.sandbox.limits import ProcessLimits, apply_limits
libc = ctypes.CDLL(None, use_errno=True)
def code(call):
    try:
        call()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "worked"
"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-P", "-c", PRELUDE + script],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
    )
    return done.returncode, done.stdout.split("\n")[:-1], done.stderr


PATH_TRIES = """
for call in (
    lambda: os.open("/etc/passwd", os.O_RDONLY),
    lambda: os.open("/no/such/file", os.O_RDONLY),
    lambda: os.stat("/etc/passwd"),
    lambda: os.readlink("/proc/self/exe"),
    lambda: os.mkdir("/tmp/sealed"),
    lambda: os.listdir("/"),
    lambda: os.unlink("/tmp/no"),
    lambda: os.execv("/bin/true", ["true"]),
    lambda: os.chdir("/"),
    lambda: os.mkfifo("/tmp/sealed-fifo"),
    lambda: os.memfd_create("x"),
):
    print(code(call))
print(os.path.exists("/etc/passwd"))
"""


def test_sealed_paths_do_not_exist():
    status, lines, errors = run("seal_paths()\n" + PATH_TRIES)
    assert (status, errors) == (0, "")
    assert lines == ["ENOENT"] * 11 + ["False"]


def test_open_descriptors_keep_working():
    status, lines, _ = run(
        "f = open('/etc/passwd'); r, w = os.pipe(); seal_network(); seal_paths()\n"
        "print(len(f.read(4))); os.write(w, b'hello'); print(os.read(r, 5)); print(ctypes.create_string_buffer(99)[0])"
    )
    assert (status, lines) == (0, ["4", "b'hello'", "b'\\x00'"])


def test_sealed_network():
    status, lines, errors = run(
        """
pair = socket.socketpair()
seal_network()
for call in (
    lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    lambda: socket.socketpair(),
    lambda: os.setuid(0),
):
    print(code(call))
for flag in (0x10000000, 0x40000000, 0x00020000):  # user, network and mount namespaces
    print(libc.unshare(flag), errno.errorcode[ctypes.get_errno()])
print(libc.ptrace(0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])
pair[0].send(b"on"); print(pair[1].recv(2))
"""
    )
    assert (status, errors) == (0, "")
    assert lines == ["EPERM"] * 5 + ["-1 EPERM"] * 4 + ["b'on'"]


def test_seal_binds_threads_that_already_run():
    status, lines, _ = run(
        """
go, found = threading.Event(), []
def other():
    go.wait()
    found.append(code(lambda: os.open("/etc/passwd", os.O_RDONLY)))
    found.append(code(lambda: socket.socket()))
thread = threading.Thread(target=other); thread.start()
seal_network(); seal_paths(); go.set(); thread.join()
print(*found)
late = []
thread = threading.Thread(target=lambda: late.append(code(lambda: os.stat("/")))); thread.start(); thread.join()
print(*late)
"""
    )
    assert (status, lines) == (0, ["ENOENT EPERM", "ENOENT"])


def test_seal_binds_children_and_stays():
    status, lines, _ = run(
        """
seal_paths(); seal_network(); seal_paths()
if os.fork() == 0:
    os.write(1, code(lambda: os.open("/etc/passwd", os.O_RDONLY)).encode() + b"\\n"); os._exit(0)
os.wait()
"""
    )
    assert (status, lines) == (0, ["ENOENT"])


def test_namespaces_through_clone_are_refused():
    status, lines, _ = run(
        """
seal_network()
number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
print(libc.syscall(number, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])
print(libc.syscall(435, 0, 0), errno.errorcode[ctypes.get_errno()])
"""
    )
    assert (status, lines) == (0, ["-1 EPERM", "-1 ENOSYS"])


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the x32 ABI belongs to x86-64")
def test_x32_calls_kill():
    status, _, _ = run("seal_paths()\nlibc.syscall(0x40000000 + 39)\nprint('alive')")
    assert status == -31  # SIGSYS


def test_limits_hold():
    status, lines, _ = run(
        """
apply_limits(ProcessLimits(address_bytes=1 << 30, data_bytes=256 << 20, cpu_s=5, file_bytes=0, open_files=20))
try:
    bytearray(300 << 20); print("took it")
except MemoryError:
    print("no memory")
print(code(lambda: [os.dup(0) for _ in range(40)]))
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_CPU))
apply_limits(ProcessLimits(cpu_s=50, open_files=None))
print(resource.getrlimit(resource.RLIMIT_CPU)[1])
"""
    )
    assert (status, lines) == (0, ["no memory", "EMFILE", "(0, 0) (5, 6)", "6"])


def test_processor_time_ends_the_process():
    status, lines, _ = run("apply_limits(ProcessLimits(cpu_s=1))\nprint('start', flush=True)\nwhile True: pass")
    assert (status, lines) == (-24, ["start"])  # SIGXCPU


def test_every_refused_call_has_a_number():
    assert set(X86_64) >= PATH_CALLS | NETWORK_CALLS | PROCESS_CALLS | OWN_PROCESS_CALLS
    # aarch64 never had these; it has the call each of them became.
    old = {
        "open",
        "creat",
        "stat",
        "lstat",
        "access",
        "readlink",
        "mkdir",
        "mknod",
        "unlink",
        "rmdir",
        "rename",
        "link",
        "symlink",
        "chmod",
        "chown",
        "lchown",
        "utime",
        "utimes",
        "futimesat",
        "uselib",
        "iopl",
        "ioperm",
    }
    assert (PATH_CALLS | NETWORK_CALLS) - set(AARCH64) == old
    assert (PROCESS_CALLS | OWN_PROCESS_CALLS) - set(AARCH64) == {"fork", "vfork"}


def test_numbers_are_unique():
    for table in (X86_64, AARCH64):
        assert len(set(table.values())) == len(table)


def test_sealed_processes_make_threads_only_and_reach_themselves_only():
    status, lines, errors = run(
        """
seal_processes()
print(code(os.fork))
print(code(lambda: os.kill(os.getppid(), 0)))
print(code(lambda: os.kill(0, 0)))
print(code(lambda: os.kill(-1, 0)))
print(code(lambda: os.pidfd_open(os.getppid())))
print(code(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE)))
print(code(lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)))
print(code(lambda: os.kill(os.getpid(), 0)))
print(resource.getrlimit(resource.RLIMIT_CORE) is not None)
thread = threading.Thread(target=print, args=("a thread",)); thread.start(); thread.join()
"""
    )
    assert (status, errors) == (0, "")
    assert lines == ["EPERM"] * 7 + ["worked", "True", "a thread"]


def test_a_sealed_process_can_still_end_itself_by_a_signal():
    status, _, _ = run("seal_processes(); os.abort()")
    assert status == -signal.SIGABRT


def test_defaults_bind_files_and_descriptors():
    assert ProcessLimits().file_bytes == 0
    assert ProcessLimits().open_files == 64
