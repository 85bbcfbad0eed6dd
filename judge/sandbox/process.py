"""A process in a box, seen from outside: started, watched, ended with everything it started.

    launcher thread -> [sh: join the control group] -> bwrap -> init of the box -> the command
                    -> [sh: join the control group] -> the command              where there is no bwrap

The init is the first process of the box's own process namespace: when it dies, the kernel ends all the
rest, so nothing that a command starts can outlive it.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from judge.errors import MachineError
from judge.sandbox.bubblewrap import Bubblewrap, bubblewrap
from judge.sandbox.bytecode import keep_bytecode
from judge.sandbox.cgroup import Group, new_group
from judge.sandbox.inside import ABSENCE_VARIABLE, BOX_VARIABLE, CANARY_VARIABLE
from judge.sandbox.launcher import on_launcher
from judge.sandbox.owners import PREFIX, is_left, own_prefix
from judge.sandbox.privileges import UID_VARIABLE, fresh_uid
from judge.sandbox.view import View

REAP_LIMIT_S = 10.0
_INFO_LIMIT_S = 5.0
_FAREWELL_S = 1.0
_BOX_HOME = "/tmp"
_JOIN = 'for f in $JUDGE_JOIN; do echo $$ >"$f" || exit 125; done; unset JUDGE_JOIN; exec "$@"'
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BoxedProcess:
    """One process, started at once and used once.

    pid: of the outermost process. pidfd: becomes readable at its end. stdout: what it prints, errors included.
    boxed: whether it has namespaces of its own.
    """

    def __init__(
        self,
        command: Sequence[str],
        view: View,
        environment: Mapping[str, str],
        pass_fds: Sequence[int],
        memory_bytes: int | None = None,
        unboxed: str = "",
    ) -> None:
        """memory_bytes: where a control group can be made, the kernel kills at this size. unboxed: why it
        shall have no namespaces of its own, where it shall not.

        Raises MachineError when nothing can be started.
        """
        found = bubblewrap(proc=view.proc)
        self._bubblewrap = found if isinstance(found, Bubblewrap) and not unboxed else None
        self._absence = unboxed or ("" if isinstance(found, Bubblewrap) else found.reason)
        self.boxed = self._bubblewrap is not None
        self._group: Group | None = None
        self._info, self._init_pid, self._init_pidfd = -1, 0, -1
        self._ended = False
        self._ending = threading.Lock()
        _sweep_folders()
        keep_bytecode()
        try:
            self.home = Path(tempfile.mkdtemp(prefix=own_prefix()))
        except OSError as error:
            raise MachineError(f"no folder can be made in {tempfile.gettempdir()}: {error.strerror}") from error
        info = -1
        try:
            # Another user's process could not join a group of this one.
            if self._bubblewrap is None or self._bubblewrap.starts_as is None:
                self._group = new_group()
            if memory_bytes is not None:
                self.limit_memory(memory_bytes)
            if self.boxed:
                self._info, info = os.pipe()
            self._process = on_launcher(lambda: self._start(command, view, environment, pass_fds, info))
        except OSError as error:
            self._forget()
            raise MachineError(f"no process can be started: {error.strerror or error}") from error
        finally:
            if info >= 0:
                os.close(info)
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)

    def _start(
        self, command: Sequence[str], view: View, environment: Mapping[str, str], pass_fds: Sequence[int], info: int
    ) -> subprocess.Popen[bytes]:
        bwrap = self._bubblewrap
        line = [*bwrap.arguments(view, info), *command] if bwrap else list(command)
        home = _BOX_HOME if bwrap else str(self.home)
        variables = {**environment, **view.environment, "HOME": home, "TMPDIR": home}
        # Proof of the box for the process in it: this folder exists, and must not be seen.
        variables[CANARY_VARIABLE] = str(self.home)
        if bwrap:
            variables[BOX_VARIABLE] = "bubblewrap"
        else:
            variables[ABSENCE_VARIABLE] = self._absence
        if os.geteuid() == 0:
            variables[UID_VARIABLE] = str(fresh_uid())
        if self._group is not None:
            line = ["/bin/sh", "-c", _JOIN, "sh", *line]
            variables["JUDGE_JOIN"] = " ".join(map(str, self._group.entry_files))
        other_user = bwrap.starts_as if bwrap else None
        return subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[*pass_fds, *([info] if info >= 0 else [])],
            start_new_session=True,
            cwd="/" if bwrap else self.home,
            env=variables,
            user=other_user,
            group=other_user,
            extra_groups=[] if other_user is not None else None,
        )

    @property
    def stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _init(self) -> int:
        """The pid of the box's init, 0 where there is none or it did not come up."""
        if self._info >= 0:
            pid = _read_pid(self._info)
            os.close(self._info)
            self._info = -1
            with contextlib.suppress(OSError):
                pidfd = os.pidfd_open(pid) if pid else -1
                # Asked late, the number may be another's by now; then the process group is what is left to kill.
                if pidfd >= 0 and _parent(pid) == self.pid:
                    self._init_pid, self._init_pidfd = pid, pidfd
                elif pidfd >= 0:
                    os.close(pidfd)
        return self._init_pid

    def settle(self) -> None:
        """Wait until the box stands, a few milliseconds; call it before waiting for what the command says.

        Whoever knows the init while it lives can wait for the end of all that was in the box.
        """
        self._init()

    def limit_memory(self, size_bytes: int) -> None:
        """Let the kernel kill it a little above this size, where it has a control group.

        The page cache of its files counts in there, so the watch outside has the first word.
        """
        if self._group is not None:
            self._group.limit_memory(size_bytes + size_bytes // 20)

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed something in the box for its memory."""
        return self._group is not None and self._group.ran_out_of_memory()

    def resident_bytes(self) -> int:
        """Memory of everything in the box, as the kernel counts it now."""
        return _tree_bytes(self._init() or self.pid)

    def exit_code(self, wait_s: float = 0.0) -> int | None:
        """How the command ended, negative for a signal; None while it runs. Leaves it unreaped."""
        _wait(self.pidfd, wait_s)
        state = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if state is None:
            return None
        code = state.si_status if state.si_code == os.CLD_EXITED else -state.si_status
        # bwrap speaks of its command's signals as shells do.
        return 128 - code if self.boxed and code > 128 else code

    def kill(self) -> None:
        """Kill it from any thread, without waiting; end() must still be called by its owner."""
        with self._ending:
            if not self._ended:
                # The init of the box is in this group too.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill it with everything it started, and wait for the end of all; safe to call twice.

        Raises MachineError when it does not die, which only a process stuck in the kernel does.
        """
        with self._ending:
            if self._ended:
                return
            self._ended = True
        try:
            if self._init():
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._init_pidfd, signal.SIGKILL)
                _wait(self._init_pidfd, REAP_LIMIT_S)
                # bwrap reaps it; were bwrap killed first, that would be left to the machine's own init.
                _wait(self.pidfd, _FAREWELL_S)
            # The leader is not reaped before this, so the group's number cannot belong to another by now.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            self._process.wait(REAP_LIMIT_S)
            self._reap_orphan()
        except subprocess.TimeoutExpired as error:
            raise MachineError(f"process {self.pid} does not die; the device may need a restart") from error
        finally:
            for descriptor in (self.pidfd, self._init_pidfd):
                if descriptor >= 0:
                    os.close(descriptor)
            self._forget()

    def _reap_orphan(self) -> None:
        """Reap the box's init where bwrap left it to this process, as the first one of a container."""
        if self._init_pid and _wait(self._init_pidfd, 0.0):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._init_pid, os.WNOHANG)

    def _forget(self) -> None:
        if self._info >= 0:
            os.close(self._info)
            self._info = -1
        if self._group is not None:
            self._group.remove()
        shutil.rmtree(self.home, ignore_errors=True)


@cache
def _sweep_folders() -> None:
    """Remove what supervisors that were killed left: folders, and boxes that wait for an outer half that is gone."""
    left = [folder for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if is_left(folder.name)]
    if left:
        _end_orphans({f"{CANARY_VARIABLE}={folder}".encode() for folder in left})
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)


def _end_orphans(marks: set[bytes]) -> None:
    """Kill every bwrap that nobody is the parent of any more and whose environment has one of the marks.

    bwrap dies with its parent, but for its inner half in the moment before that is arranged.
    """
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            pidfd = os.pidfd_open(int(name))
            try:
                # Read after it was opened, so it is this process that is told of and killed.
                process = Path("/proc", name)
                if process.joinpath("comm").read_bytes() != b"bwrap\n" or _parent(int(name)) != 1:
                    continue
                if marks.intersection(process.joinpath("environ").read_bytes().split(b"\0")):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            finally:
                os.close(pidfd)


def _wait(pidfd: int, wait_s: float) -> bool:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(1000 * wait_s))


def _read_pid(info: int) -> int:
    """What bwrap says of its child; 0 when it ended before it had one."""
    said = b""
    deadline = time.monotonic() + _INFO_LIMIT_S
    while not said.rstrip().endswith(b"}"):
        if not _wait(info, max(0.0, deadline - time.monotonic())):
            return 0
        part = os.read(info, 4096)
        if not part:
            return 0
        said += part
    try:
        return int(json.loads(said)["child-pid"])
    except (ValueError, KeyError, TypeError):
        return 0


def _tree_bytes(root: int) -> int:
    """Resident memory of a process and all its descendants."""
    total = 0
    waiting = [root]
    seen = 0
    while waiting and seen < 10_000:
        pid = waiting.pop()
        seen += 1
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                fields = file.read().split()
            total += int(fields[1]) * _PAGE_BYTES
            waiting += _children(pid)
        except (OSError, IndexError, ValueError):
            continue
    return total


def _children(pid: int) -> list[int]:
    """A child belongs to the thread that made it; kernels built without that list are searched."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(child) for child in file.read().split()]
    except FileNotFoundError:
        if os.path.exists("/proc/thread-self/children"):
            return found
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if _parent(int(name)) == pid:
                    found.append(int(name))
    return found


def _parent(pid: int) -> int:
    """Raises OSError where there is no such process."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
