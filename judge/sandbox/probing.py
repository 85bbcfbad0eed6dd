"""Probes: real boxes, in which everything is tried that must not be possible.

Each layer is tried alone where it can be: `bare` is a box without seals (its namespaces must hold by
themselves), `sealed` is what a submission gets. Which probes failed decides the tier (tier.py).
"""

import contextlib
import os
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from judge.errors import MachineError
from judge.sandbox.bubblewrap import Bubblewrap, bubblewrap
from judge.sandbox.frames import FrameError, OutOfTime, PeerGone, receive_frame, send_frame
from judge.sandbox.hostile import KERNEL_SETTING, STEP_BYTES
from judge.sandbox.inside import MAX_PROCESSES
from judge.sandbox.process import BoxedProcess
from judge.sandbox.view import PACKAGE_ROOT, TMP_BYTES, View, plain_view

PROBE_LIMIT_S = 20.0
MEMORY_LIMIT_BYTES = 192 << 20
WATCH_INTERVAL_S = 0.005
_OURS = ("JUDGE_BOX", "JUDGE_NO_BOX", "JUDGE_BOX_UID", "JUDGE_CANARY")
VARIABLES = frozenset(
    ("HOME", "TMPDIR", "PATH", "PYTHONPATH", "PWD", "OLDPWD", "LANG", "LC_CTYPE", "SHLVL", "_", *_OURS)
)
"""All that a box may know of the environment."""

Level = Literal["bare", "sealed"]


@dataclass(frozen=True)
class Probe:
    """One thing tried. layer: whose work it is to stop it. text: what happened, where it was not stopped."""

    name: str
    layer: Level
    held: bool
    text: str = ""


def probe_reach() -> list[Probe]:
    """Files, environment, network, kernel settings and the supervisor itself, from boxes of each layer."""
    found = _reach("sealed", plain_view(), "sealed box")
    if isinstance(bubblewrap(), Bubblewrap):
        found += _reach("bare", plain_view(), "box without seals")
    if os.path.exists(KERNEL_SETTING) and isinstance(bubblewrap(proc=True), Bubblewrap):
        # As a GPU's box has it: with a /proc, where root could write settings of the kernel.
        view = plain_view()
        found += _reach("bare", View(view.read_only, view.links, proc=True), "box with /proc")
    return found


def probe_takings() -> list[Probe]:
    """Processes and memory without end, memory in four ways."""
    found = [_processes("sealed", 0)]
    if isinstance(bubblewrap(), Bubblewrap):
        found.append(_processes("bare", MAX_PROCESSES))
        found += [_memory(way) for way in ("malloc", "private", "shared")]
        found.append(_tmpfs())
    return found


def _reach(level: Level, view: View, where: str) -> list[Probe]:
    with _listening(socket.SOCK_STREAM) as tcp, _listening(socket.SOCK_DGRAM) as udp:
        with _Conversation(level, "reach", view) as box:
            canary = box.process.home / "canary"
            canary.write_text(secrets.token_hex(16), encoding="ascii")
            # Readable for everybody: what keeps the box's user from it must be the box.
            box.process.home.chmod(0o755)
            canary.chmod(0o644)
            question = {
                "canary": str(canary),
                "supervisor": os.getpid(),
                "tcp": tcp.getsockname()[1],
                "udp": udp.getsockname()[1],
            }
            try:
                hello = box.ask(question)
                reached = [str(one) for one in box.answer()["found"]]
            except (OutOfTime, PeerGone, FrameError, KeyError, TypeError) as error:
                return [Probe(where, level, False, f"the probe gave no answer ({box.last_words() or error!r})")]
        arrived = _arrived(udp)
    if arrived:
        reached.append("sent UDP to the supervisor")
    strange = set(hello["variables"]) - VARIABLES
    if strange:
        reached.append(f"saw the variables {', '.join(sorted(strange))}")
    if level == "sealed" and hello["level"] == "none":
        reached += [str(reason) for reason in hello["reasons"]]
    return [Probe(where, level, not reached, "; ".join(reached))]


def _processes(level: Level, most: int) -> Probe:
    name = f"processes without end, {level}"
    with _Conversation(level, "fork", plain_view()) as box:
        try:
            box.ask({})
            made = int(box.answer()["taken"])
        except (OutOfTime, PeerGone, FrameError, KeyError, TypeError) as error:
            return Probe(name, level, False, f"the probe gave no answer ({box.last_words() or error!r})")
    return Probe(name, level, made <= most, "" if made <= most else f"{made} processes, at most {most} are allowed")


def _memory(way: str) -> Probe:
    """Take memory in one way; the watch outside must end it close to the limit."""
    name = f"memory without end ({way})"
    taken = 0
    with _Conversation("bare", way, plain_view()) as box:
        try:
            box.ask({})
            while box.process.resident_bytes() <= MEMORY_LIMIT_BYTES:
                taken = int(box.answer(WATCH_INTERVAL_S)["taken"])
                if taken > 4 * MEMORY_LIMIT_BYTES:
                    return Probe(name, "bare", False, f"{taken >> 20} MiB taken and not seen")
        except OutOfTime:
            return Probe(name, "bare", False, "the probe stood still")
        except (PeerGone, FrameError, KeyError, TypeError):
            held = box.process.ran_out_of_memory()
            return Probe(name, "bare", held, "" if held else f"the probe ended ({box.last_words()})")
    overrun = taken - MEMORY_LIMIT_BYTES
    held = overrun < MEMORY_LIMIT_BYTES // 4
    return Probe(name, "bare", held, "" if held else f"{overrun >> 20} MiB over the limit before it was seen")


def _tmpfs() -> Probe:
    name = "files without end in /tmp"
    taken = 0
    with _Conversation("bare", "tmpfs", plain_view()) as box:
        try:
            box.ask({})
            while True:
                answer = box.answer()
                taken = int(answer["taken"])
                if answer.get("refused") or taken > 4 * TMP_BYTES:
                    break
        except (OutOfTime, PeerGone, FrameError, KeyError, TypeError) as error:
            return Probe(name, "bare", False, f"the probe gave no answer ({box.last_words() or error!r})")
    held = taken <= TMP_BYTES + STEP_BYTES
    return Probe(
        name, "bare", held, "" if held else f"{taken >> 20} MiB written, at most {TMP_BYTES >> 20} are allowed"
    )


class _Conversation:
    """A hostile process in a box, and the channel to it."""

    def __init__(self, level: Level, attempt: str, view: View) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = BoxedProcess(
                [sys.executable, "-P", "-s", "-m", "judge.sandbox.hostile", str(theirs.fileno()), level, attempt],
                view,
                {"PYTHONPATH": str(PACKAGE_ROOT), "PATH": os.environ.get("PATH", "")},
                (theirs.fileno(),),
                4 * MEMORY_LIMIT_BYTES,
            )
        ours.setblocking(False)
        self._channel = ours

    def __enter__(self) -> "_Conversation":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.process.end()
        finally:
            self._channel.close()
            self.process.stdout.close()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        self.process.settle()
        send_frame(self._channel, question, (), time.monotonic() + PROBE_LIMIT_S)
        return self.answer()

    def answer(self, at_least_s: float = 0.0) -> dict[str, Any]:
        header, _ = receive_frame(self._channel, 1 << 16, time.monotonic() + max(at_least_s, PROBE_LIMIT_S))
        return header

    def last_words(self) -> str:
        self.process.exit_code(1.0)
        os.set_blocking(self.process.stdout.fileno(), False)
        with contextlib.suppress(OSError):
            said = (self.process.stdout.read(1 << 16) or b"").decode("utf-8", "replace").strip()
            return said.rpartition("\n")[2]
        return ""


@contextlib.contextmanager
def _listening(kind: socket.SocketKind) -> Iterator[socket.socket]:
    try:
        with socket.socket(socket.AF_INET, kind) as end:
            end.bind(("127.0.0.1", 0))
            if kind == socket.SOCK_STREAM:
                end.listen(1)
            end.setblocking(False)
            yield end
    except OSError as error:
        raise MachineError(f"the loopback network does not work here: {error.strerror}") from error


def _arrived(end: socket.socket) -> bool:
    try:
        end.recv(100)
    except OSError:
        return False
    return True
