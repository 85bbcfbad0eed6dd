"""The CPU as a device: memory in slots, launches through the JIT, faults as diagnoses."""

import platform
from dataclasses import replace

import numpy as np

from judge.backends.base import (
    BufferLabel,
    DeviceFault,
    DeviceProperties,
    KernelAttributes,
    Launch,
    LaunchOutcome,
)
from judge.backends.cpu import ir
from judge.backends.cpu.addresses import MODULE_SLOT
from judge.backends.cpu.diagnose import diagnose, own_line, readable_name, source_line
from judge.backends.cpu.executor import PLANNER_PREFIX, JitExecutor, LaunchResult
from judge.backends.cpu.figures import buffer_name, launch_counters
from judge.backends.cpu.interpreter import initial_block
from judge.backends.cpu.lowering.jit import engine, host_features, start_engine
from judge.backends.cpu.lowering.layout import CtaShape
from judge.backends.cpu.memory import Bytes, DeviceMemory, aligned_bytes
from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.link import load
from judge.backends.cpu.ptx.scope import RESERVED_SHARED_OFFSET
from judge.backends.cpu.reference_executor import ReferenceExecutor
from judge.backends.cpu.refusal import NotEmulatedError
from judge.backends.cpu.traffic import merged_shadows, unique_bytes
from judge.records import Counters, Diagnosis, DiagnosisKind

SOURCE_NAME = "submission.cu"

JIT_MACHINES = ("x86_64", "AMD64")
"""Where generated code has been run and compared; elsewhere the interpreter is right and slow."""

_FAULT_KINDS = {DiagnosisKind.TRAP, DiagnosisKind.ASSERT}


def _place(location: ir.Location | None) -> str:
    """The submission's line in front of a refusal; of a header nobody called from it, its name too."""
    if location is None:
        return ""
    line = own_line(location, SOURCE_NAME)
    return f"line {line}: " if line is not None else f"{location.file} line {location.line}: "


def _not_emulated(what: object, location: ir.Location | None = None) -> DeviceFault:
    return DeviceFault("compile_error", f"{_place(location)}not emulated: {what}, needs a GPU")


class CpuDevice:
    """One device of a worker process.

    threads: 0 for one a core. watch: find races and uninitialised reads. jit: False runs the reference
    interpreter; None decides by the machine. prepared: what made_code() gave in an earlier process.
    """

    def __init__(self, threads: int = 0, *, watch: bool = True, jit: bool | None = None, prepared: bytes = b"") -> None:
        machine = platform.machine()
        if jit is None:
            jit = machine in JIT_MACHINES
        self._jit = jit
        if jit:
            start_engine(prepared)
        self.properties = DeviceProperties(
            kind="cpu",
            name=f"PTX on {host_features().cpu} ({machine})" if jit else f"PTX interpreted ({machine}), slow",
            arch="compute_90",
        )
        self.memory = DeviceMemory()
        self.executor = JitExecutor(threads, watch=watch) if jit else ReferenceExecutor()
        self._module: ir.Module | None = None
        self._source = ""
        self._shadows: dict[int, Bytes] = {}
        """Which bytes of each slot any launch has read since it was allocated."""

    @property
    def module(self) -> ir.Module:
        if self._module is None:
            raise KeyError("no module is loaded")
        return self._module

    def load(self, image: bytes, source: str, prepared: bytes = b"") -> None:
        """Load PTX text and make its code. Raises DeviceFault "compile_error" for what is not PTX or needs a GPU."""
        if self._jit:
            engine().code.offer(prepared)
        try:
            module = load(image.decode("utf-8", "replace"))
        except PtxError as error:
            raise DeviceFault("compile_error", f"{_place(error.location)}{error}") from error
        for name in module.kernels:
            try:
                self.executor.prepare(module, name, shape=self._expected_shape(name))
            except NotEmulatedError as error:
                raise _not_emulated(error, error.location) from error
        self._module = module
        self._source = source
        self.release_all()

    def made_code(self) -> bytes:
        return engine().code.pack() if self._jit else b""

    @staticmethod
    def _expected_shape(kernel: str) -> CtaShape:
        """What a kernel will most likely be launched with: only a guess, so that its code is made once."""
        return CtaShape.SINGLE if kernel.startswith(PLANNER_PREFIX) else CtaShape.LINE

    def attributes(self, kernel: str) -> KernelAttributes:
        """Raises KeyError when the module has no such kernel."""
        entry = self.module.kernels[kernel]
        return KernelAttributes(
            static_shared_bytes=entry.shared_static_bytes,
            max_threads_per_block=entry.max_threads or self.properties.max_threads_per_block,
            parameter_bytes=entry.parameter_bytes,
            local_bytes=entry.local_bytes,
        )

    def allocate(self, label: BufferLabel, size_bytes: int) -> int:
        return self.memory.allocate(label, size_bytes)

    def upload(self, address: int, data: bytes | memoryview) -> None:
        view = memoryview(data).cast("B")
        self.memory.view(address, len(view))[:] = view
        self.memory.mark_written(address, len(view), written=True)

    def download(self, address: int, size_bytes: int) -> bytes:
        return self.memory.view(address, size_bytes).tobytes()

    def poison(self, address: int, size_bytes: int, byte: int) -> None:
        self.memory.view(address, size_bytes)[:] = byte
        self.memory.mark_written(address, size_bytes, written=False)

    def release_all(self) -> None:
        """Free every allocation and set `__device__` variables back to what the module gives them."""
        self.memory.release_all()
        self._shadows.clear()
        if self._module is not None and self._module.global_bytes:
            block = aligned_bytes(self._module.global_bytes)
            block[:] = initial_block(self._module, self._module.globals_, self._module.global_bytes)
            self.memory.slots[MODULE_SLOT] = block

    def variables_changed(self) -> bool:
        """Whether `__device__` variables hold anything but what the module gave them."""
        block = self.memory.slots.get(MODULE_SLOT)
        if block is None:
            return False
        module = self.module
        return not np.array_equal(block, initial_block(module, module.globals_, module.global_bytes))

    def launch(
        self, launch: Launch, *, time_limit_s: float, schedule: int = 0, patterns: bool = False
    ) -> LaunchOutcome:
        """Run one launch to its end, its blocks and warps in the order of the schedule.

        Raises DeviceFault for a trap, an assertion, a deadlock, the time limit and undefined behavior.
        """
        try:
            result = self.executor.run(
                self.module,
                launch.kernel,
                launch.grid,
                launch.block,
                launch.shared_bytes,
                launch.arguments,
                self.memory,
                time_limit_s=time_limit_s,
                schedule=schedule,
                patterns=patterns,
            )
        except NotEmulatedError as error:
            raise _not_emulated(error) from error
        self._refuse_reserved(launch.kernel, result)
        outcome = LaunchOutcome(
            diagnoses=self._diagnoses(launch.kernel, result),
            counters=self._counters(launch.kernel, result),
            seconds=result.run_seconds,
            printed=result.printed,
            unique_bytes_read=self._read_so_far(result.shadows),
        )
        self._raise_fault(launch, result, outcome, time_limit_s)
        return outcome

    def _refuse_reserved(self, kernel: str, result: LaunchResult) -> None:
        """Cooperative groups keep tiles of several warps in shared memory that is the system's, not the kernel's."""
        for event in result.events:
            if event.space == "shared" and event.address >= RESERVED_SHARED_OFFSET:
                instruction = self._as_run(kernel).kernels[kernel].instructions[event.instruction]
                raise _not_emulated("cooperative groups' tiles of several warps", instruction.location)

    def _diagnoses(self, kernel: str, result: LaunchResult) -> list[Diagnosis]:
        module = self._as_run(kernel)
        return diagnose(result.events, module, self._source, self.memory.labels, SOURCE_NAME)

    def _as_run(self, kernel: str) -> ir.Module:
        """The module with the kernel whose instruction indices events refer to."""
        module = self.module
        kernels = {**module.kernels, kernel: self.executor.kernel(module, kernel)}
        return replace(module, kernels=kernels)

    def _counters(self, kernel: str, result: LaunchResult) -> Counters | None:
        if not result.counted:
            return None
        return launch_counters(result, self.executor.kernel(self.module, kernel), self.memory, SOURCE_NAME)

    def _read_so_far(self, shadows: dict[int, Bytes]) -> dict[str, int]:
        self._shadows = merged_shadows([shadows, self._shadows])
        named = {buffer_name(slot, self.memory): marks for slot, marks in self._shadows.items()}
        return {name: unique_bytes(marks) for name, marks in named.items() if name is not None}

    def _raise_fault(self, launch: Launch, result: LaunchResult, outcome: LaunchOutcome, time_limit_s: float) -> None:
        proved = [d for d in outcome.diagnoses if d.kind not in _FAULT_KINDS and not d.warning]
        diagnoses = tuple(outcome.diagnoses)
        if result.stopped == "time":
            raise DeviceFault("time_limit", self._where(launch, result, time_limit_s), diagnoses, outcome=outcome)
        if result.stopped in ("trap", "assert") and not proved:
            raise DeviceFault("runtime_error", diagnoses[0].message, diagnoses, outcome=outcome)
        if result.stopped == "deadlock" or proved:
            raise DeviceFault("undefined_behavior", diagnoses[0].message, diagnoses, outcome=outcome)

    def _where(self, launch: Launch, result: LaunchResult, time_limit_s: float) -> str:
        entry = self.executor.kernel(self.module, launch.kernel)
        name = readable_name(launch.kernel)
        text = f"kernel {name} did not end within {time_limit_s:g} s"
        if result.hottest is None:
            return text + "."
        line, source = source_line(entry, result.hottest, self._source, SOURCE_NAME)
        return text + (f"; it spent most of it at line {line}: {source}" if line is not None else ".")
