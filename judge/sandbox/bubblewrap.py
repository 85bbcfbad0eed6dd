"""The command line of bubblewrap for a box, and whether it works on this machine.

A process in a box has namespaces of its own (mounts, processes, network, IPC, host name, cgroup, and
users where it was not started by root), a root of only what its view names, and dies with the thread
that started it.

The way in depends on who starts it. An ordinary user gets a user namespace. Root must not: uid 0 in it
stays uid 0 outside, whatever number is shown, and may write the kernel's settings. So root builds the
namespaces itself, and the process gives up its uid before it reads anything of a stranger
(privileges.py). Root without the right to do that becomes another user first.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from judge.sandbox.privileges import NOBODY
from judge.sandbox.view import View, plain_view

TRIAL_LIMIT_S = 10.0
_UNKNOWN = "Unknown option"

Way = Literal["user", "root", "nobody"]


@dataclass(frozen=True)
class Bubblewrap:
    """A bubblewrap that works here. way: "user" (user namespace), "root" (drops inside), "nobody" (drops before).

    modern: knows sizes of /tmp and how to forbid further user namespaces (since 0.8).
    """

    program: str
    way: Way
    modern: bool = True

    @property
    def starts_as(self) -> int | None:
        """The uid to become before the start."""
        return NOBODY if self.way == "nobody" else None

    @property
    def drops_inside(self) -> bool:
        return self.way == "root"

    def arguments(self, view: View, info_descriptor: int | None = None) -> list[str]:
        """Everything before the command itself. info_descriptor: where the pid of the box's init is written."""
        line = [self.program, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
        line += ["--unshare-cgroup-try", "--die-with-parent", "--hostname", "box"]
        if self.way == "root":
            line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            line += ["--unshare-user", *(["--disable-userns"] if self.modern else [])]
        if info_descriptor is not None:
            line += ["--info-fd", str(info_descriptor)]
        # First, because the checkout or the interpreter may lie in /tmp themselves.
        line += ["--perms", "1777", *(["--size", str(view.tmp_bytes)] if self.modern else []), "--tmpfs", "/tmp"]
        # bwrap makes the folders on the way for root alone, and another user is to walk through them.
        shown = (*view.read_only, *view.devices)
        for folder in sorted({parent for path in shown for parent in map(str, Path(path).parents)}):
            line += ["--perms", "0755", "--dir", folder] if folder not in {"/", "/tmp"} else []
        for path in view.read_only:
            line += ["--ro-bind", path, path]
        for target, place in view.links:
            line += ["--symlink", target, place]
        for device in view.devices:
            line += ["--dev-bind", device, device]
        if view.proc:
            line += ["--proc", "/proc"]
        # Last, because every place to mount on has to be made first.
        line += ["--remount-ro", "/", "--chdir", "/tmp", "--"]
        return line


@dataclass(frozen=True)
class Absence:
    """Why there is no bubblewrap to use, and what mends it."""

    reason: str
    fix: str


@cache
def bubblewrap(*, proc: bool = False) -> Bubblewrap | Absence:
    """What works here, tried once a process with the view of a compiler; takes some 30 ms.

    proc: for boxes with a /proc, which a container may forbid alone.
    """
    program = shutil.which("bwrap")
    if program is None:
        return Absence("bubblewrap is not installed", "apt-get install bubblewrap (or your system's package)")
    ways: tuple[Way, ...] = ("root", "nobody") if os.geteuid() == 0 else ("user",)
    reasons: list[str] = []
    for way in ways:
        for modern in (True, False):
            candidate = Bubblewrap(program, way, modern)
            reason = _try(candidate, proc=proc)
            if reason is None:
                return candidate
            if _UNKNOWN not in reason or not modern:
                reasons.append(reason)
                break
    # What stands in the way of the best one is what to mend.
    return Absence(reasons[0], _advice(reasons[0]))


def _try(candidate: Bubblewrap, *, proc: bool) -> str | None:
    """Start the interpreter in a box: what it needs lies where the view looks for it. None when that works."""
    view = plain_view()
    try:
        ended = _run(candidate, View(view.read_only, view.links, proc=proc))
    except (OSError, subprocess.SubprocessError) as error:
        return f"bwrap cannot be started: {type(error).__name__}"
    if ended.returncode == 0:
        return None
    lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    # The rest of what it says is advice for other programs.
    return lines[-1].partition(", likely")[0] if lines else f"bwrap ended with code {ended.returncode}"


def _run(candidate: Bubblewrap, view: View) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*candidate.arguments(view), sys.executable, "-I", "-S", "-c", "import ctypes, socket"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TRIAL_LIMIT_S,
        check=False,
        cwd="/",
        env={},
        user=candidate.starts_as,
        group=candidate.starts_as,
        extra_groups=[] if candidate.starts_as is not None else None,
    )


def _advice(reason: str) -> str:
    denied = ("new namespace", "uid map", "Operation not permitted", "Creating new namespace")
    if any(word in reason for word in denied):
        return (
            "Namespaces are forbidden here. On the host: sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu "
            "kernel.apparmor_restrict_unprivileged_userns=0; in a container: --security-opt seccomp=unconfined"
        )
    if os.geteuid() == 0:
        return "Start the judge as an ordinary user that can read its files"
    return "Run `bwrap --ro-bind / / true` and mend what it says"
