"""What a probe tries from within a box: `python -m judge.sandbox.hostile CHANNEL LEVEL ATTEMPT`. Standard library only.

    LEVEL     bare (root given up, namespaces only) or sealed (as a process is that touches a submission)
    ATTEMPT   reach: look for everything that must not be there, and say what was found
              fork, malloc, private, shared, tmpfs: take without end, until something outside stops it

It is the enemy's part of the probes and changes nothing of the machine even where it succeeds: a
setting of the kernel is written back as it was read.
"""

import contextlib
import mmap
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator

from judge.sandbox.frames import receive_frame, send_frame
from judge.sandbox.inside import boxed, close_inherited, confine, die_with_supervisor, limit_processes
from judge.sandbox.limits import ProcessLimits, apply_limits
from judge.sandbox.privileges import PrivilegeError, drop_root

STEP_BYTES = 4 << 20
MOST_FORKS = 4000
CALL_LIMIT_S = 1.0
KERNEL_SETTING = "/proc/sys/vm/swappiness"
PUBLIC = ("/etc/passwd", "/etc/hostname", "/proc/{supervisor}/cmdline", "/proc/{supervisor}/environ")


def reach(question: dict[str, object]) -> list[str]:
    """Everything that was reached, one sentence each.

    question: canary (a file of the supervisor), supervisor (its pid), tcp and udp (ports of its own
    on the loopback).
    """
    found = []
    for form in (str(question["canary"]), *PUBLIC):
        path = form.format(supervisor=question["supervisor"])
        with contextlib.suppress(OSError), open(path, "rb") as file:
            file.read(1)
            found.append(f"read {'a file of the supervisor' if path == question['canary'] else path}")
    with contextlib.suppress(OSError), open(KERNEL_SETTING, "r+b", buffering=0) as file:
        file.write(file.read())
        found.append("wrote a setting of the kernel")
    for home in ("/home", "/root", "/var", "/usr/bin"):
        with contextlib.suppress(OSError):
            # Folders on the way to the interpreter exist; what belongs to others must not.
            if any(not name.startswith(".pyenv") for name in os.listdir(home)) and not _holds_interpreter(home):
                found.append(f"listed {home}")
    for place in ("/", "/usr", os.path.dirname(os.__file__), "/dev"):
        with contextlib.suppress(OSError):
            os.close(os.open(f"{place}/judge-probe", os.O_CREAT | os.O_WRONLY))
            os.unlink(f"{place}/judge-probe")
            found.append(f"wrote into {place}")
    for name, kind, port in (("TCP", socket.SOCK_STREAM, "tcp"), ("UDP", socket.SOCK_DGRAM, "udp")):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, kind) as end:
            end.settimeout(CALL_LIMIT_S)
            end.connect(("127.0.0.1", int(str(question[port]))))
            end.send(b"out of the box")
            # Within a network of its own, UDP is sent into nothing: what counts is what arrives outside.
            if name == "TCP":
                found.append("connected by TCP to the supervisor")
    with contextlib.suppress(OSError):
        os.kill(int(str(question["supervisor"])), 0)
        found.append("could signal the supervisor")
    if os.geteuid() == 0:
        found.append("was root")
    return found


def _holds_interpreter(folder: str) -> bool:
    places = (sys.base_prefix, sys.prefix, sys.executable, os.path.realpath(sys.executable), __file__)
    return any(path.startswith(f"{folder}/") for path in places)


def fork() -> Iterator[int]:
    """Processes made, until no more can be."""
    made = 0
    while made < MOST_FORKS:
        try:
            child = os.fork()
        except OSError:
            return
        if child == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
        yield made


def malloc() -> Iterator[int]:
    hoard = []
    while True:
        hoard.append(bytearray(b"\1") * STEP_BYTES)
        yield len(hoard) * STEP_BYTES


def private() -> Iterator[int]:
    return _mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def shared() -> Iterator[int]:
    return _mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)


def _mapped(flags: int) -> Iterator[int]:
    hoard = []
    while True:
        area = mmap.mmap(-1, STEP_BYTES, flags)
        area[:] = b"\1" * STEP_BYTES
        hoard.append(area)
        yield len(hoard) * STEP_BYTES


def tmpfs() -> Iterator[int]:
    """Fill the only writable folder with a file that is gone when this process is."""
    name = f"/tmp/judge-probe-{os.getpid()}"
    descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.unlink(name)
    written = 0
    while True:
        written += os.write(descriptor, b"\1" * STEP_BYTES)
        yield written


HOARDERS: dict[str, Callable[[], Iterator[int]]] = {
    "fork": fork,
    "malloc": malloc,
    "private": private,
    "shared": shared,
    "tmpfs": tmpfs,
}


def main(descriptor: int, level: str, attempt: str) -> None:
    die_with_supervisor()
    close_inherited(descriptor)
    channel = socket.socket(fileno=descriptor)
    question, _ = receive_frame(channel, 1 << 16)
    files = None if attempt == "tmpfs" else 0
    apply_limits(ProcessLimits(file_bytes=files, open_files=64))
    reasons: list[str] = []
    confinement = "none"
    if level == "sealed":
        reached = confine(files=False)
        confinement, reasons = reached.level, list(reached.reasons)
    else:
        try:
            drop_root(keep_proc=True)
        except PrivilegeError as error:
            reasons.append(str(error))
        if boxed():
            limit_processes()
    send_frame(channel, {"level": confinement, "reasons": reasons, "variables": sorted(os.environ)})
    if attempt == "reach":
        send_frame(channel, {"found": reach(question)})
        return
    taken = 0
    try:
        for taken in HOARDERS[attempt]():
            if attempt != "fork":
                send_frame(channel, {"taken": taken})
    except (OSError, MemoryError):
        pass
    send_frame(channel, {"taken": taken, "refused": True})
    # Whoever asked may want to look at what was taken before all of it ends.
    channel.recv(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
    os._exit(0)
