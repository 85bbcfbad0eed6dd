"""The trusted side of a worker: starts the process, talks to it, and decides what its death means.

A worker is used for one submission and never again. It holds no expected value, no seed and no
file of the judge. The clock, the memory watch and the verdict on a dead worker are on this side:
whatever the process says or prints, only a valid frame within its time is an answer.

Where bubblewrap works the process has namespaces of its own, see sandbox/.
"""

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Literal

from judge.backends.base import DeviceFault, DeviceProperties, ModuleImage
from judge.compiler.cache import DiskCache
from judge.errors import MachineError
from judge.sandbox.process import BoxedProcess
from judge.sandbox.view import PACKAGE_ROOT, View, gpu_view, plain_view
from judge.starting import command
from judge.verdict import Verdict
from judge.worker.incidents import record_incident
from judge.worker.logs import LogDrain
from judge.worker.machine_code import MAX_CODE_BYTES, MachineCodeStore
from judge.worker.messages import (
    STAGES,
    CaseRequest,
    CaseResult,
    Isolation,
    case_frame,
    load_frame,
    made_code,
    parse_fault,
    parse_hello,
    parse_result,
)
from judge.worker.timing_messages import evidence_cap
from judge.worker.wire import ChannelClosed, Frame, FrameReader, WireError, encode

Kind = Literal["cpu", "cuda"]

WATCH_INTERVAL_S = 0.02
BYTES_PER_SECOND = 50e6
"""Slowest transfer still taken for work: how long a stage may take grows with the bytes it moves."""

SETTING_UP_S = 5.0
"""For buffers and kernels of the judge's own that time a case."""

PASSED_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_PATH", "NVIDIA_VISIBLE_DEVICES")


@dataclass(frozen=True)
class Limits:
    """What a worker may take, next to the limits of each case.

    grace_s: added to a case's time limit before the process is killed. A CPU device compiles within
    its launches, and ends one itself at the limit to name the line; it needs time for both.
    memory_bytes: resident memory of the process, on top of four times the inputs of its case.
    """

    start_s: float = 60.0
    load_s: float = 60.0
    placing_s: float = 20.0
    grace_s: float = 20.0
    memory_bytes: int = 4 << 30


# Loading is also making the code: what takes longer would take the machine from others.
LIMITS: dict[Kind, Limits] = {"cpu": Limits(load_s=30.0), "cuda": Limits(grace_s=1.0, memory_bytes=8 << 30)}


_UNBOXED: dict[Kind, str] = {}
"""Why workers of a kind run without a box, once that is known."""


class _Lost(Exception):  # noqa: N818 - how a conversation ended
    """The worker gave no valid answer. reason: "time", "memory", "death" or "garbage"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WorkerFault(DeviceFault):
    """A worker gave no answer to a load. incident: set when that was the judge's own fault."""

    def __init__(self, lost: CaseResult) -> None:
        super().__init__(lost.verdict or Verdict.JUDGE_ERROR, lost.message, fatal=True)
        self.incident = lost.incident


class Worker:
    """One worker process, started at once; `ready()` waits until its device is warm.

    cache: where machine code is kept that the next worker need not make again; the user's own by default.
    """

    def __init__(
        self, kind: Kind, *, ordinal: int = 0, limits: Limits | None = None, cache: DiskCache | None = None
    ) -> None:
        self.kind = kind
        self._code = MachineCodeStore(cache)
        self.limits = limits or LIMITS[kind]
        self._ordinal = ordinal
        self._properties: DeviceProperties | None = None
        self.isolation: Isolation = "none"
        self.isolation_reasons: tuple[str, ...] = ()
        self._cancelled = False
        self._start()

    def _start(self) -> None:
        view = _view(self.kind, self._ordinal)
        command = _command(self.kind, view.ordinal)
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as open_files:
            passed = [theirs.fileno()]
            command += ["--channel", str(passed[0])]
            if self.kind == "cpu" and (prepared := self._code.runtime()):
                passed.append(open_files.enter_context(_in_memory(prepared)).fileno())
                command += ["--prepared", str(passed[1])]
            self._process = BoxedProcess(
                command,
                view,
                _environment(),
                tuple(passed),
                self.limits.memory_bytes,
                unboxed=_UNBOXED.get(self.kind, ""),
            )
        ours.setblocking(False)
        self._channel = ours
        self._reader = FrameReader(ours, MAX_CODE_BYTES)
        self._log = LogDrain(self._process.stdout)
        self._started = time.monotonic()
        self._kernel_runs = False
        self._looked = self._started
        self.alive = True

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ready(self) -> DeviceProperties:
        """Wait for the device to be warm.

        Raises MachineError when the machine does not have the device or the process does not start.
        """
        if self._properties is None:
            self._process.settle()
            try:
                frame = self._receive(self._started + self.limits.start_s)
                self._properties, confinement = parse_hello(frame)
                self._code.keep_runtime(made_code(frame))
                self.isolation, self.isolation_reasons = confinement.level, confinement.reasons
            except (_Lost, WireError) as error:
                self.close()
                last = self._log.text().strip().rpartition("\n")[2]
                if self._gpu_hidden_by_box(last) and not self._cancelled:
                    self._start()
                    return self.ready()
                raise MachineError(f"the {self.kind} worker did not start: {last or error}") from error
        return self._properties

    def _gpu_hidden_by_box(self, told: str) -> bool:
        """Whether a driver that may work outside found no GPU in the box; then no box is tried again.

        Some container runtimes hand a GPU only to the processes of their own namespaces. Nothing of a
        submission has reached the worker by now, so none can choose this.
        """
        if self.kind != "cuda" or not self._process.boxed or "no usable GPU" not in told:
            return False
        _UNBOXED["cuda"] = "the driver finds no GPU from inside a box on this machine"
        return True

    def load(self, image: ModuleImage) -> None:
        """Load a compiled module.

        Raises DeviceFault: "compile_error" when the device does not have what the image uses,
        "time_limit" or "memory_limit" when loading takes too much, "judge_error" when the worker died.
        """
        self.ready()
        self._kernel_runs = True
        try:
            prepared = self._code.of_module(image.image) if self.kind == "cpu" else b""
            self._send(*load_frame(image, prepared), deadline=time.monotonic() + self.limits.load_s)
            self._reader.blob_cap = MAX_CODE_BYTES
            frame = self._receive(time.monotonic() + self.limits.load_s)
            if frame.header["type"] == "loaded":
                self._code.keep_module(image.image, made_code(frame))
                return
            verdict, message, diagnoses = parse_fault(frame)
        except (_Lost, WireError) as error:
            raise WorkerFault(self._verdict_of_loss(error, "while the module was loaded", 0.0)) from error
        raise DeviceFault(verdict, message, diagnoses)

    def run_case(self, request: CaseRequest) -> CaseResult:
        """Run a case and take its answer, or the verdict of having none.

        After a fatal answer `alive` is False and the rest of the cases need another worker.
        """
        started = time.monotonic()
        try:
            result = self._converse(request)
        except (_Lost, WireError) as error:
            lost = self._verdict_of_loss(error, f"in case {request.name}", request.time_limit_s)
            return CaseResult(
                verdict=lost.verdict,
                message=lost.message,
                seconds=time.monotonic() - started,
                fatal=True,
                incident=lost.incident,
            )
        if result.fatal:
            self.close()
        return result

    def _converse(self, request: CaseRequest) -> CaseResult:
        """Send the case and follow it through its stages, each with an allowance of its own."""
        moved = sum(buffer.size_bytes for buffer in request.buffers)
        moving_s = self.limits.placing_s + moved / BYTES_PER_SECOND
        memory_bytes = self.limits.memory_bytes + 4 * moved
        self._process.limit_memory(memory_bytes)
        self._send(*case_frame(request), deadline=time.monotonic() + moving_s)
        output_bytes = [buffer.size_bytes for buffer in request.outputs]
        # A second run of the same launches may have outputs of its own.
        self._reader.blob_cap = 2 * sum(output_bytes) + evidence_cap(request.timing, output_bytes)
        allowances = {
            # The inputs come in between planning and launches.
            "running": request.time_limit_s + self.limits.grace_s + moved / BYTES_PER_SECOND,
            "timing": request.time_limit_s + self._timing_s(request),
            "fetching": moving_s,
        }
        self._kernel_runs = False
        due = list(STAGES)
        allowance = moving_s
        while True:
            frame = self._receive(time.monotonic() + allowance, memory_bytes)
            if frame.header["type"] != "stage":
                return parse_result(frame, request)
            name = frame.header.get("name")
            if name not in due:
                raise WireError("a worker may pass each stage only once and in order")
            del due[: due.index(name) + 1]
            allowance = allowances[name]
            self._kernel_runs = name != "fetching"

    def _timing_s(self, request: CaseRequest) -> float:
        """What timing may take besides the kernels: its budget, and samples of the device that may follow it."""
        budget_s = 0.0 if request.timing is None else 2 * request.timing.budget_s
        return budget_s + SETTING_UP_S + self.limits.grace_s

    def _send(self, header: dict[str, object], blobs: Sequence[bytes | memoryview], *, deadline: float) -> None:
        poller = select.poll()
        poller.register(self._channel, select.POLLOUT)
        for part in encode(header, blobs):
            rest = part
            while rest.nbytes:
                try:
                    rest = rest[self._channel.send(rest) :]
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise _Lost("time") from None
                    poller.poll(1000 * WATCH_INTERVAL_S)
                except (BrokenPipeError, ConnectionResetError):
                    raise _Lost("death") from None

    def _receive(self, deadline: float, memory_bytes: int | None = None) -> Frame:
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        while True:
            try:
                frame = self._reader.advance()
            except ChannelClosed:
                raise _Lost("death") from None
            if frame is not None:
                return frame
            if time.monotonic() > deadline:
                raise _Lost("time")
            if time.monotonic() - self._looked > WATCH_INTERVAL_S:
                # Reading /proc costs as much as a small case: not more often than the watch is worth.
                self._looked = time.monotonic()
                if self._process.resident_bytes() > (memory_bytes or self.limits.memory_bytes):
                    raise _Lost("memory")
            poller.poll(1000 * min(WATCH_INTERVAL_S, max(deadline - time.monotonic(), 0.001)))

    def _verdict_of_loss(self, error: _Lost | WireError, when: str, limit_s: float) -> CaseResult:
        """Kill what is left of the worker and say whose fault the silence is."""
        reason = error.reason if isinstance(error, _Lost) else "garbage"
        # It may be a moment from closing the channel to the process's end; its own code tells more.
        ended = self._process.exit_code(1.0 if reason == "death" else 0.0)
        if reason == "death" and self._process.ran_out_of_memory():
            reason = "memory"
        self.close()
        if self._cancelled:
            return CaseResult(Verdict.CANCELLED, f"cancelled {when}", fatal=True)
        if reason == "time" and self._kernel_runs:
            figure = f" within {limit_s:g} s" if limit_s else ""
            if self.kind == "cpu":
                # A CPU device ends a kernel at its limit itself, and names the line; making its code has no such end.
                what = "the kernel was not translated for the CPU, or did not end,"
                allowed = (
                    f"{limit_s:g} s and {self.limits.grace_s:g} s more" if limit_s else f"{self.limits.load_s:g} s"
                )
                advice = "much code takes long: unroll less, call less of large headers, or judge it on a GPU"
                return CaseResult(Verdict.TIME_LIMIT, f"{what} within {allowed} {when}: {advice}", fatal=True)
            return CaseResult(Verdict.TIME_LIMIT, f"the kernel did not end{figure} and was killed {when}", fatal=True)
        if reason == "memory":
            return CaseResult(
                Verdict.MEMORY_LIMIT,
                f"the worker took more than {self.limits.memory_bytes >> 20} MiB of memory and was killed {when}",
                fatal=True,
            )
        if ended is not None and ended == -signal.SIGXCPU:
            return CaseResult(Verdict.TIME_LIMIT, f"the processor time of the worker was used up {when}", fatal=True)
        what = f"the {self.kind} worker {_describe_end(reason, ended, error)} {when}"
        incident = record_incident(what, self._log.text())
        return CaseResult(Verdict.JUDGE_ERROR, f"{what}; this is not the kernel's fault", fatal=True, incident=incident)

    def cancel(self) -> None:
        """Kill the process from any thread; what its owner waits for then ends as cancelled."""
        self._cancelled = True
        self._process.kill()

    def responds(self) -> bool:
        """Whether the process still runs and kept its channel open, at no cost."""
        poller = select.poll()
        poller.register(self._process.pidfd, select.POLLIN)
        poller.register(self._channel, select.POLLRDHUP)
        return not poller.poll(0)

    def close(self) -> None:
        """End the process and everything it started; safe to call twice."""
        if not self.alive:
            return
        self.alive = False
        try:
            self._process.end()
        finally:
            self._channel.close()

    def log(self) -> str:
        """What the process wrote to standard output and error so far, capped and inert."""
        return self._log.text(0.0)


def _describe_end(reason: str, code: int | None, error: Exception) -> str:
    if reason == "time":
        return "did not move its data in time"
    if reason == "garbage":
        return f"gave no valid answer ({error})"
    if code is None:
        return "closed its channel"
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended by itself (exit code {code})"


def _in_memory(data: bytes) -> BinaryIO:
    """A file without a name that holds `data`, which a process in a box can read where no path leads."""
    file = os.fdopen(os.memfd_create("judge-code"), "w+b")
    file.write(data)
    file.flush()
    return file


def _command(kind: Kind, ordinal: int) -> list[str]:
    return [*command("judge.worker.main"), "--device", kind, "--ordinal", str(ordinal)]


def _view(kind: Kind, ordinal: int) -> View:
    return plain_view() if kind == "cpu" else gpu_view(ordinal)


def _environment() -> dict[str, str]:
    """A small environment: none of the user's variables but those that find the driver and the package."""
    inherited = os.environ.get("PYTHONPATH", "")
    return {
        **{name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ},
        "PYTHONPATH": os.pathsep.join([str(PACKAGE_ROOT), *filter(None, inherited.split(os.pathsep))]),
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Hash order decides nothing, but a fixed one makes incidents reproducible.
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "CUPY_CACHE_IN_MEMORY": "1",
        "CUDA_CACHE_DISABLE": "1",
    }
