"""Run a launch on the JIT: contexts for the threads, chunks of CTAs, events and counts back.

A launch runs in CTA order on one thread when blocks may talk to each other through memory, and in
chunks on all threads otherwise.
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.counting import (
    InstructionCounts,
    KernelCounts,
    count_instructions,
    count_launch,
    hottest_instruction,
)
from judge.backends.cpu.events import AccessEvent, Coordinates
from judge.backends.cpu.launch_events import (
    deadlock_events,
    met_between_contexts,
    printed_text,
    read_event,
    readable_memory,
)
from judge.backends.cpu.launch_state import Context, LaunchState
from judge.backends.cpu.lowering.calls import split_barrier_reductions
from judge.backends.cpu.lowering.jit import STACK_BYTES, engine, host_features
from judge.backends.cpu.lowering.kernel import ENTRY_PC, LoweredKernel, lower_kernel
from judge.backends.cpu.lowering.layout import (
    ABORT_FAILED,
    ABORT_FAULTS,
    ABORT_TIME,
    WARNING,
    CtaShape,
    Ctx,
    Status,
)
from judge.backends.cpu.lowering.memory_ops import is_strong
from judge.backends.cpu.memory import Bytes, DeviceMemory
from judge.backends.cpu.traffic import PatternTable, SlotTraffic, merged_shadows, slot_traffic
from judge.records import DiagnosisKind

PLANNER_PREFIX = "judge_plan_"
"""How the kernels begin that compute geometry and arguments; they run as one thread."""


@dataclass
class LaunchResult:
    """How a launch went.

    stopped: "" when it ran to its end, else "trap", "assert", "deadlock" or "time". hottest: the
    instruction a launch that did not end spent its time at. traffic: by slot. counted: False where
    counts and traffic are not known.
    shadows: of each slot, which bytes were read: a byte a 4-byte word, a bit a byte in it. instructions:
    how often each ran. patterns: sectors and wavefronts, where they were asked for.
    """

    events: tuple[AccessEvent, ...] = ()
    printed: str = ""
    stopped: str = ""
    counts: KernelCounts = field(default_factory=KernelCounts)
    traffic: dict[int, SlotTraffic] = field(default_factory=dict)
    shadows: dict[int, Bytes] = field(default_factory=dict)
    instructions: InstructionCounts | None = None
    patterns: PatternTable | None = None
    hottest: int | None = None
    counted: bool = True
    translate_seconds: float = 0.0
    compile_seconds: float = 0.0
    run_seconds: float = 0.0


@dataclass(frozen=True)
class _Compiled:
    lowered: LoweredKernel
    address: int


class JitExecutor:
    """Compiles kernels at the latest on their first launch and keeps them.

    threads: 0 for one a core. watch: find races and uninitialised reads, next to bounds and alignment.
    """

    def __init__(self, threads: int = 0, *, watch: bool = True) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        self.watch = watch
        self._lowered: dict[tuple[int, str, CtaShape, bool], LoweredKernel] = {}
        self._compiled: dict[tuple[int, str, CtaShape, bool], _Compiled] = {}
        self._kernels: dict[tuple[int, str], ir.Kernel] = {}
        self._modules: list[ir.Module] = []

    def kernel(self, module: ir.Module, name: str) -> ir.Kernel:
        """The kernel as it is run: events and counts refer to its instructions."""
        key = (id(module), name)
        if key not in self._kernels:
            self._modules.append(module)  # keeps the id from being reused
            self._kernels[key] = split_barrier_reductions(module.kernels[name])
        return self._kernels[key]

    def watches(self, kernel: str) -> bool:
        """A planning kernel's code is ours but for expressions, and its structs have padding it copies."""
        return self.watch and not kernel.startswith(PLANNER_PREFIX)

    def lower(self, module: ir.Module, name: str, *, shape: CtaShape, patterns: bool = False) -> LoweredKernel:
        """The LLVM text of a kernel for CTAs of a shape. Raises NotEmulatedError."""
        key = (id(module), name, shape, patterns)
        if key not in self._lowered:
            self._lowered[key] = lower_kernel(
                self.kernel(module, name),
                shape=shape,
                masked_stores=host_features().masked_stores,
                watch=self.watches(name) and not patterns,
                patterns=patterns,
            )
        return self._lowered[key]

    def prepare(self, module: ir.Module, name: str, *, shape: CtaShape) -> None:
        """Make the code of a kernel ahead of its launch with CTAs of this shape. Raises NotEmulatedError."""
        self._compile(module, self.kernel(module, name), shape, False, LaunchResult())

    def run(
        self,
        module: ir.Module,
        kernel: str,
        grid: Coordinates,
        block: Coordinates,
        shared_bytes: int,
        arguments: bytes,
        memory: DeviceMemory,
        *,
        time_limit_s: float | None = None,
        traffic: bool = True,
        schedule: int = 0,
        patterns: bool = False,
    ) -> LaunchResult:
        """Run one launch over the allocations of `memory`, which it changes in place.

        shared_bytes: dynamic shared memory of a block. arguments: the kernel's parameter block.
        schedule: the order of CTAs and of the warps in one: 0 as numbered, 1 backwards, else shuffled by it.
        patterns: count sectors and bank conflicts, in place of looking for races and uninitialised reads.
        Raises NotEmulatedError for an instruction the backend does not have, KeyError for an unknown kernel.
        """
        code = self.kernel(module, kernel)
        result = LaunchResult()
        compiled = self._compile(module, code, CtaShape.of(block), patterns, result)
        launch = LaunchState(module, code, compiled.lowered, grid, block, shared_bytes, arguments, memory, traffic)
        launch.watch = self.watches(kernel) and not patterns
        launch.patterns = patterns
        launch.talks = any(i.opcode in ("atom", "red") or is_strong(i) for i in code.instructions)
        ctas = grid[0] * grid[1] * grid[2]
        launch.set_schedule(schedule, ctas)
        threads = 1 if launch.talks else max(1, min(self.threads, ctas))
        started = time.perf_counter()
        contexts, status = _run_threads(launch, compiled, ctas, threads, time_limit_s)
        result.run_seconds = time.perf_counter() - started
        _collect(result, launch, contexts, status)
        return result

    def _compile(
        self, module: ir.Module, kernel: ir.Kernel, shape: CtaShape, patterns: bool, result: LaunchResult
    ) -> _Compiled:
        key = (id(module), kernel.name, shape, patterns)
        known = self._compiled.get(key)
        if known is None:
            started = time.perf_counter()
            lowered = self.lower(module, kernel.name, shape=shape, patterns=patterns)
            result.translate_seconds = time.perf_counter() - started
            started = time.perf_counter()
            known = _Compiled(lowered, engine().compile(lowered.text))
            result.compile_seconds = time.perf_counter() - started
            self._compiled[key] = known
        return known


WAITING_S = 15.0
"""How long a launch may wait for a busy machine, on top of its limit."""


def _end_in_time(launch: LaunchState, threads: int, limit_s: float, over: threading.Event) -> None:
    """Abort a launch that used up its time. Processor time: a verdict must not depend on who else is computing."""
    used_before, started = time.process_time(), time.monotonic()
    pause = min(0.05, limit_s / 4)
    while not over.wait(pause):
        used = (time.process_time() - used_before) / threads
        if used > limit_s or time.monotonic() - started > limit_s + WAITING_S:
            launch.abort[0] = launch.abort[0] or ABORT_TIME
            return


def _run_threads(
    launch: LaunchState, compiled: _Compiled, ctas: int, threads: int, time_limit_s: float | None
) -> tuple[list[Context], list[Status]]:
    run = engine().run
    contexts = [Context(launch) for _ in range(threads)]
    over = threading.Event()
    if time_limit_s is not None:
        threading.Thread(target=_end_in_time, args=(launch, threads, time_limit_s, over), daemon=True).start()
    chunk = ctas if threads == 1 else max(1, ctas // (threads * 8))
    position = iter(range(0, ctas, chunk))
    lock = threading.Lock()

    def work(context: Context) -> Status:
        while True:
            with lock:
                start = next(position, None)
            if start is None or launch.abort[0]:
                return Status.DONE
            status = Status(run(context.pointer, start, min(start + chunk, ctas), compiled.address, ENTRY_PC))
            if status is not Status.DONE:
                launch.abort[0] = launch.abort[0] or ABORT_FAILED
                return status

    usual_stack = threading.stack_size(STACK_BYTES)
    try:
        with ThreadPoolExecutor(threads) as pool:
            statuses = list(pool.map(work, contexts))
    finally:
        threading.stack_size(usual_stack)
        over.set()
    if (
        launch.abort[0] == ABORT_TIME
        and Status.DONE in statuses
        and ctas > sum(c.get64(Ctx.DONE_CTAS) for c in contexts)
    ):
        statuses.append(Status.ABORTED)
    return contexts, statuses


def _collect(result: LaunchResult, launch: LaunchState, contexts: list[Context], statuses: list[Status]) -> None:
    counters = np.sum([c.counters for c in contexts], axis=0).tolist()
    result.instructions = count_instructions(launch.kernel, launch.lowered, counters)
    result.counts = count_launch(launch.kernel, launch.lowered, result.instructions)
    result.shadows = merged_shadows([c.shadows for c in contexts])
    result.traffic = slot_traffic([c.traffic for c in contexts], result.shadows)
    result.patterns = PatternTable.total([c.patterns for c in contexts if c.patterns is not None])
    sites = np.sum([c.site_counts for c in contexts], axis=0)
    events: dict[tuple[int, DiagnosisKind, bool], AccessEvent] = {}
    for context in contexts:
        for record in context.events[: context.get64(Ctx.EVENT_COUNT)]:
            mild = int(record["kind"]) & WARNING != 0
            event = read_event(launch, record, int(sites[2 * record["site"] + mild]))
            events.setdefault((event.instruction, event.kind, event.warning), event)
    for event in met_between_contexts(launch, contexts):
        events.setdefault((event.instruction, event.kind, event.warning), event)
    failed = [(c, s) for c, s in zip(contexts, statuses, strict=False) if s not in (Status.DONE, Status.ABORTED)]
    for context, status in failed:
        if status is Status.DEADLOCK:
            events.update({(e.instruction, e.kind, False): e for e in deadlock_events(launch, context)})
    result.events = tuple(events.values())
    kinds = {e.kind for e in result.events}
    if any(s is Status.FAULT for _, s in failed):
        result.stopped = "assert" if DiagnosisKind.ASSERT in kinds else "trap"
    elif any(s is Status.DEADLOCK for _, s in failed):
        result.stopped = "deadlock"
    elif Status.ABORTED in statuses and launch.abort[0] != ABORT_FAULTS:
        result.stopped = "time"
        result.hottest = hottest_instruction(launch.kernel, launch.lowered, counters)
    printed = [c.prints[: c.get64(Ctx.PRINT_USED)] for c in contexts]
    if any(p.size for p in printed):
        result.printed = printed_text(np.concatenate(printed), readable_memory(launch))
