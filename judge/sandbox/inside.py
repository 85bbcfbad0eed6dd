"""What a process in a box does to itself before it reads anything of a stranger.

    close inherited descriptors -> ... warm up ... -> confine(): give up root -> look around -> seals

The process says how far it is cut off from what it finds in there, not from what it was told. Nothing
of a stranger is in it by then, so it can be believed.
"""

import ctypes
import os
import resource
import signal
import socket
from dataclasses import dataclass
from typing import Literal

from judge.sandbox.privileges import PrivilegeError, drop_root
from judge.sandbox.seccomp import SealError, seal_network, seal_paths, seal_processes

BOX_VARIABLE = "JUDGE_BOX"
ABSENCE_VARIABLE = "JUDGE_NO_BOX"
CANARY_VARIABLE = "JUDGE_CANARY"
MAX_PROCESSES = 512
_PR_SET_PDEATHSIG = 1
_COUNTS_BY_NAMESPACE_SINCE = (5, 14)

Level = Literal["isolated", "restricted", "none"]


@dataclass(frozen=True)
class Confinement:
    """How far this process is cut off, and what kept it from being further.

    sealed: the seals of its kind hold, whatever else is missing.
    """

    level: Level
    reasons: tuple[str, ...] = ()
    sealed: bool = False


def close_inherited(keep: int) -> None:
    """Close every descriptor but the standard ones and the channel."""
    os.closerange(3, keep)
    os.closerange(keep + 1, 4096)


def die_with_supervisor() -> None:
    """Ask the kernel for SIGKILL when the thread that started this process ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(*, files: bool) -> Confinement:
    """Give up root and seal the process.

    files: whether it goes on opening files, which only a GPU's driver must. What is not possible is in
    the reasons; the process may then still be used by one who trusts the submission.
    """
    shortfalls = []
    if files:
        if os.geteuid() == 0:
            shortfalls.append("the process is root")
    else:
        try:
            drop_root()
        except PrivilegeError as error:
            shortfalls.append(str(error))
        # A change of user takes the wish away.
        die_with_supervisor()
    outside = look_around()
    if not outside:
        limit_processes()
    sealed = True
    try:
        seal_network()
        if not files:
            seal_processes()
            seal_paths()
    except SealError as error:
        sealed = False
        shortfalls.append(str(error))
    if shortfalls or (files and outside):
        return Confinement("none", (*shortfalls, *outside), sealed)
    return Confinement("restricted" if outside else "isolated", tuple(outside), sealed)


def boxed() -> bool:
    """Whether the supervisor put a box around this process."""
    return BOX_VARIABLE in os.environ


def look_around() -> list[str]:
    """What of the machine this process can reach although a box would hide it; empty in a box."""
    found = []
    if not boxed():
        return [os.environ.get(ABSENCE_VARIABLE, "there is no box around the process")]
    if os.path.exists(os.environ.get(CANARY_VARIABLE, "/")):
        found.append("a file of the supervisor is in sight")
    if os.getpid() > 8:
        found.append("the process numbers are the machine's")
    try:
        if {name for _, name in socket.if_nameindex()} - {"lo"}:
            found.append("the machine's network is in sight")
    except OSError:
        found.append("the network cannot be looked at")
    if os.access("/", os.W_OK):
        found.append("the root folder can be written")
    return found


def limit_processes() -> None:
    """Bound processes and threads, where the kernel counts those of this box alone."""
    numbers = os.uname().release.split(".")
    if (int(numbers[0]), int(numbers[1].split("-")[0])) >= _COUNTS_BY_NAMESPACE_SINCE:
        _, ceiling = resource.getrlimit(resource.RLIMIT_NPROC)
        most = MAX_PROCESSES if ceiling == resource.RLIM_INFINITY else min(MAX_PROCESSES, ceiling)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
