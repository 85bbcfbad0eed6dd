"""The trusted side of the compile box: starts it, feeds it, and says what its death means."""

import dataclasses
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.compiler.headers import HeaderSet
from judge.compiler.target import Target
from judge.errors import MachineError
from judge.sandbox.frames import FrameError, OutOfTime, PeerGone, receive_frame, send_frame
from judge.sandbox.process import BoxedProcess
from judge.sandbox.view import PACKAGE_ROOT, plain_view
from judge.worker.logs import LogDrain

START_LIMIT_S = 60.0
ANSWER_CAP_BYTES = 256 << 20
_BOX = Path(__file__).parent / "box.py"
_PASSED_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME")


@dataclass(frozen=True)
class Answer:
    """What the box said. failure: NVRTC's error name, empty on success.

    limit: why there is no answer - "time", "memory" or "crash"; None when there is one.
    """

    failure: str = ""
    image: bytes = b""
    log: str = ""
    lowered: dict[str, str] = dataclasses.field(default_factory=dict)
    limit: str | None = None


class Box:
    """One box, started at once; a context manager that leaves no process behind.

    A stranger's source gets one of its own. It could compile several, within the limits of one.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._sealed = False
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = BoxedProcess(
                [sys.executable, "-P", "-s", str(_BOX), str(theirs.fileno()), target.kind],
                plain_view(),
                box_environment(),
                (theirs.fileno(),),
                target.limits.data_bytes,
            )
        ours.setblocking(False)
        self._channel = ours
        self._printed = LogDrain(self._process.stdout)

    def __enter__(self) -> "Box":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End its process, used or not."""
        try:
            self._process.end()
        finally:
            self._channel.close()

    @property
    def alive(self) -> bool:
        return self._process.exit_code() is None

    def compile(
        self,
        source: str,
        source_name: str,
        name_expressions: Sequence[str],
        headers: HeaderSet,
        target: Target | None = None,
    ) -> Answer:
        """Compile a source. target: where it is not the one the box was started for; kind and limits must be the same.

        Raises MachineError when the box does not come up or answers what no box of ours would.
        """
        target = target or self._target
        if (target.kind, target.limits) != (self._target.kind, self._target.limits):
            raise ValueError(f"a box for {self._target} cannot compile for {target}")
        self.wait_until_sealed()
        deadline = time.monotonic() + target.wall_limit_s
        request = {
            "options": target.options,
            "source_name": source_name,
            "name_expressions": list(name_expressions),
            "headers": list(headers.files),
        }
        try:
            send_frame(self._channel, request, [source.encode(), *headers.files.values()], deadline)
            answer, blobs = receive_frame(self._channel, ANSWER_CAP_BYTES, deadline)
            image, log = blobs
            lowered = {str(name): str(symbol) for name, symbol in answer["lowered"].items()}
            failure = str(answer["failure"])
        except OutOfTime:
            return Answer(limit="time")
        except PeerGone:
            return self._died()
        except (FrameError, ValueError, KeyError, AttributeError) as error:
            raise MachineError(f"the compiler's process gave no valid answer: {error}") from error
        limit = "memory" if "OUT_OF_MEMORY" in failure else None
        return Answer(failure, image, log.decode("utf-8", "replace"), lowered, limit)

    def wait_until_sealed(self) -> None:
        """Wait until it can take a source; compile() does it too. Raises MachineError when it does not come up."""
        if self._sealed:
            return
        self._process.settle()
        deadline = time.monotonic() + START_LIMIT_S
        try:
            send_frame(self._channel, {"limits": dataclasses.asdict(self._target.limits)}, (), deadline)
            receive_frame(self._channel, 1 << 16, deadline)
            self._sealed = True
        except (OutOfTime, PeerGone, FrameError) as error:
            last = self._printed.text().strip().rpartition("\n")[2]
            raise MachineError(f"the compiler did not start: {last or type(error).__name__}") from error

    def _died(self) -> Answer:
        """The sealed box ended without an answer: the source took more than it may."""
        code = self._process.exit_code(5.0)
        if code is None:
            return Answer(limit="crash")
        printed = self._printed.text()
        if self._process.ran_out_of_memory():
            return Answer(limit="memory", log=printed)
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return Answer(limit="time", log=printed)
        memory = code == -signal.SIGABRT or "out of memory" in printed.lower() or "MemoryError" in printed
        return Answer(limit="memory" if memory else "crash", log=printed)


def box_environment() -> dict[str, str]:
    """Nothing of the user's environment but what finds the libraries; the source could not read it anyway."""
    inherited = os.environ.get("PYTHONPATH", "")
    return {
        **{name: os.environ[name] for name in _PASSED_ENVIRONMENT if name in os.environ},
        "PYTHONPATH": os.pathsep.join([str(PACKAGE_ROOT), *filter(None, inherited.split(os.pathsep))]),
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # A malloc arena reserves 64 MiB of address space, and a machine has eight arenas a core.
        "MALLOC_ARENA_MAX": "2",
    }
