"""Run a launch on the JIT: contexts for the threads, chunks of CTAs, events and counts back.

A launch runs in CTA order on one thread when blocks may talk to each other through memory, and in
chunks on all threads otherwise.
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import (
    CONSTANT_SLOT,
    FIRST_BUFFER_SLOT,
    LOCAL_SLOT,
    MAX_SLOTS,
    MODULE_SLOT,
    OFFSET_MASK,
    PARAMETER_SLOT,
    SHARED_SLOT,
    split,
)
from judge.backends.cpu.counting import (
    InstructionCounts,
    KernelCounts,
    count_instructions,
    count_launch,
    hottest_instruction,
)
from judge.backends.cpu.device_printf import format_printf
from judge.backends.cpu.events import AccessEvent, Coordinates, Party
from judge.backends.cpu.interpreter import initial_block
from judge.backends.cpu.lowering import runtime_async as async_queue
from judge.backends.cpu.lowering.calls import split_barrier_reductions
from judge.backends.cpu.lowering.jit import engine, host_features
from judge.backends.cpu.lowering.kernel import ENTRY_PC, LoweredKernel, lower_kernel
from judge.backends.cpu.lowering.layout import (
    ABORT_FAILED,
    ABORT_FAULTS,
    ABORT_TIME,
    EVENT,
    EVENT_CAPACITY,
    PC_EXITED,
    PC_PARKED,
    PC_TOGETHER,
    WARNING,
    CtaShape,
    Ctx,
    EventKind,
    Status,
)
from judge.backends.cpu.lowering.memory_ops import is_strong
from judge.backends.cpu.lowering.runtime_values import PRINT_RECORD_BYTES
from judge.backends.cpu.memory import Bytes, DeviceMemory, aligned_bytes
from judge.backends.cpu.orders import running_order
from judge.backends.cpu.traffic import PatternTable, SlotTraffic, merged_shadows, slot_traffic
from judge.backends.cpu.watching import WatchTable, global_watch, meetings, read_cell, shared_watch
from judge.records import DiagnosisKind

PLANNER_PREFIX = "judge_plan_"
"""How the kernels begin that compute geometry and arguments; they run as one thread."""

FUEL = 4096
"""Backward branches of a warp before others get their turn."""

PRINT_BYTES = 1 << 20

_SPACES = {SHARED_SLOT: "shared", LOCAL_SLOT: "local", CONSTANT_SLOT: "const", PARAMETER_SLOT: "param"}
_KINDS = {
    EventKind.OUT_OF_BOUNDS_READ: (DiagnosisKind.OUT_OF_BOUNDS, "read"),
    EventKind.OUT_OF_BOUNDS_WRITE: (DiagnosisKind.OUT_OF_BOUNDS, "write"),
    EventKind.MISALIGNED_READ: (DiagnosisKind.MISALIGNED, "read"),
    EventKind.MISALIGNED_WRITE: (DiagnosisKind.MISALIGNED, "write"),
    EventKind.TRAP: (DiagnosisKind.TRAP, ""),
    EventKind.ASSERT: (DiagnosisKind.ASSERT, ""),
    EventKind.DIVERGENT_BARRIER: (DiagnosisKind.DIVERGENT_BARRIER, ""),
    EventKind.RACE_READ: (DiagnosisKind.RACE, "read"),
    EventKind.RACE_OVERWRITE: (DiagnosisKind.RACE, "write"),
    EventKind.RACE_WRITE: (DiagnosisKind.RACE, "write"),
    EventKind.UNINITIALIZED: (DiagnosisKind.UNINITIALIZED, "read"),
    EventKind.UNINITIALIZED_SCALAR: (DiagnosisKind.UNINITIALIZED, ""),
    EventKind.MASK_ABSENT: (DiagnosisKind.DIVERGENT_BARRIER, ""),
    EventKind.MASK_SELF: (DiagnosisKind.DIVERGENT_BARRIER, ""),
    EventKind.LEFT_BEFORE_BARRIER: (DiagnosisKind.DIVERGENT_BARRIER, ""),
    EventKind.INPUT_WRITE: (DiagnosisKind.INPUT_MODIFIED, "write"),
    EventKind.PARTIAL_WARP: (DiagnosisKind.DIVERGENT_BARRIER, ""),
}

_RACES = {EventKind.RACE_READ: "write", EventKind.RACE_OVERWRITE: "read", EventKind.RACE_WRITE: "write"}
"""What the other side of a race did."""


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
    """Compiles kernels on their first launch and keeps them.

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
        launch = _Launch(module, code, compiled.lowered, grid, block, shared_bytes, arguments, memory, traffic)
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


class _Launch:
    """What all threads of a launch share."""

    def __init__(
        self,
        module: ir.Module,
        kernel: ir.Kernel,
        lowered: LoweredKernel,
        grid: Coordinates,
        block: Coordinates,
        shared_bytes: int,
        arguments: bytes,
        memory: DeviceMemory,
        traffic: bool,
    ) -> None:
        self.kernel, self.lowered, self.grid, self.block, self.memory = kernel, lowered, grid, block, memory
        self.traffic = traffic
        self.threads = block[0] * block[1] * block[2]
        self.warps = -(-self.threads // 32)
        dynamic_start = -(-kernel.shared_static_bytes // 16) * 16
        self.shared_bytes = dynamic_start + shared_bytes if shared_bytes else kernel.shared_static_bytes
        self.dynamic_shared_bytes = shared_bytes
        self.local_bytes = -(-kernel.local_bytes // 4) * 4
        self.parameters = aligned_bytes(max(kernel.parameter_bytes, len(arguments), 8))
        self.parameters[: len(arguments)] = np.frombuffer(arguments, dtype=np.uint8)
        self.constants = aligned_bytes(max(module.constant_bytes, 1))
        self.constants[: module.constant_bytes] = initial_block(module, module.constants, module.constant_bytes)
        self.module_bytes = module.global_bytes
        self.module_block = memory.resolve(MODULE_SLOT)
        if self.module_block is None:
            self.module_block = aligned_bytes(max(module.global_bytes, 1))
            self.module_block[: module.global_bytes] = initial_block(module, module.globals_, module.global_bytes)
        self.abort = np.zeros(1, dtype=np.int32)
        self.sites = 2 * (len(kernel.instructions) + 1)
        self.watch = False
        self.patterns = False
        self.talks = False
        self.cta_order: NDArray[np.int64] | None = None
        self.warp_order = np.arange(self.warps, dtype=np.int32)
        self.thread_ids = self._thread_ids()

    def _thread_ids(self) -> NDArray[np.int32]:
        linear = np.arange(self.warps * 32, dtype=np.int32)
        x, y, z = self.block
        ids = np.stack([linear % x, linear // x % y, linear // (x * y) % max(z, 1)])
        return np.ascontiguousarray(ids.reshape(3, self.warps, 32).transpose(1, 0, 2))

    def set_schedule(self, schedule: int, ctas: int) -> None:
        self.cta_fences = np.zeros(ctas if self.talks else 1, dtype=np.uint32)
        if schedule:
            self.cta_order, self.warp_order = running_order(schedule, ctas, self.warps)

    def may_write(self, slot: int) -> bool:
        if slot in (CONSTANT_SLOT, PARAMETER_SLOT):
            return False
        label = self.memory.labels.get(slot)
        return not self.watch or label is None or label.role != "input"

    def watch_table(self, shared_bytes: int) -> WatchTable:
        """What one context watches; nothing at all without detectors."""
        table = WatchTable(MAX_SLOTS)
        if not self.watch:
            return table
        table.add(SHARED_SLOT, shared_watch(shared_bytes))
        assert self.module_block is not None
        if self.module_bytes:
            table.add(MODULE_SLOT, global_watch(self.module_block.size, None))
        for slot, written in self.memory.written.items():
            table.add(slot, global_watch(self.memory.slots[slot].size, written))
        return table

    def block_of(self, cta: int) -> Coordinates:
        x, y, _ = self.grid
        return cta % x, cta // x % y, cta // (x * y)

    def thread_of(self, warp: int, lane: int) -> Coordinates:
        linear = warp * 32 + lane
        x, y, _ = self.block
        return linear % x, linear // x % y, linear // (x * y)


class _Context:
    """The memory one thread of a launch works in."""

    def __init__(self, launch: _Launch) -> None:
        lowered = launch.lowered
        self.launch = launch
        self.block = aligned_bytes(int(Ctx.SIZE))
        self.states = aligned_bytes(launch.warps * lowered.state_bytes)
        self.shared = aligned_bytes(max(launch.shared_bytes, 1))
        self.local = aligned_bytes(max(launch.warps * launch.local_bytes * 32, 1))
        self.counters = np.zeros(lowered.counters, dtype=np.int64)
        self.events = np.zeros(EVENT_CAPACITY, dtype=EVENT)
        self.site_counts = np.zeros(launch.sites, dtype=np.int64)
        self.bases = np.zeros(MAX_SLOTS, dtype=np.uint64)
        self.sizes = np.zeros(MAX_SLOTS, dtype=np.int64)
        self.writable = np.zeros(MAX_SLOTS, dtype=np.uint8)
        self.traffic = np.zeros(2 * MAX_SLOTS, dtype=np.int64)
        self.shadow_pointers = np.zeros(MAX_SLOTS, dtype=np.uint64)
        self.patterns = PatternTable.zeros(launch.sites) if launch.patterns else None
        self.prints = np.zeros(PRINT_BYTES, dtype=np.uint8)
        self.shadows: dict[int, Bytes] = {}
        self.watches = launch.watch_table(launch.shared_bytes)
        local_words = launch.warps * launch.local_bytes * 4 if launch.watch else 0
        self.local_written = aligned_bytes(local_words) if local_words else None
        copies = any(i.opcode == "cp" for i in launch.kernel.instructions)
        self.copies = aligned_bytes(launch.warps * async_queue.WARP_BYTES if copies else 0)
        self._place_slots()
        self._fill()

    def _place_slots(self) -> None:
        launch = self.launch
        fixed: list[tuple[int, NDArray[Any], int]] = [
            (SHARED_SLOT, self.shared, launch.shared_bytes),
            (CONSTANT_SLOT, launch.constants, launch.constants.size),
            (PARAMETER_SLOT, launch.parameters, launch.kernel.parameter_bytes),
        ]
        assert launch.module_block is not None
        fixed.append((MODULE_SLOT, launch.module_block, launch.module_block.size))
        fixed += [(slot, array, array.size) for slot, array in launch.memory.slots.items() if slot != MODULE_SLOT]
        for slot, array, size in fixed:
            self.bases[slot] = array.ctypes.data
            self.writable[slot] = launch.may_write(slot)
            self.sizes[slot] = size
            if launch.traffic and slot >= FIRST_BUFFER_SLOT:
                self.shadows[slot] = np.zeros(size // 4 + 2, dtype=np.uint8)
                self.shadow_pointers[slot] = self.shadows[slot].ctypes.data

    def _fill(self) -> None:
        launch = self.launch
        for name, array in (
            (Ctx.SLOT_BASES, self.bases),
            (Ctx.SLOT_SIZES, self.sizes),
            (Ctx.WRITABLE, self.writable),
            (Ctx.PARAMETERS, launch.parameters),
            (Ctx.COUNTERS, self.counters),
            (Ctx.EVENTS, self.events),
            (Ctx.SITE_COUNTS, self.site_counts),
            (Ctx.THREAD_IDS, launch.thread_ids),
            (Ctx.SHARED, self.shared),
            (Ctx.STATES, self.states),
            (Ctx.LOCAL, self.local),
            (Ctx.ABORT, launch.abort),
            (Ctx.TRAFFIC, self.traffic),
            (Ctx.SHADOWS, self.shadow_pointers),
            (Ctx.PRINT_BUFFER, self.prints),
            (Ctx.WATCHES, self.watches.table),
            (Ctx.CTA_FENCES, launch.cta_fences),
            (Ctx.LOCAL_WORDS, self.local_written),
            (Ctx.CTA_ORDER, launch.cta_order),
            (Ctx.WARP_ORDER, launch.warp_order),
            (Ctx.PATTERNS, self.patterns.rows if self.patterns else None),
        ):
            if array is None:
                continue
            self.set64(name, array.ctypes.data)
        if self.copies.size:
            self.set64(Ctx.ASYNC, self.copies.ctypes.data)
        for name, value in (
            (Ctx.SHARED_BYTES, launch.shared_bytes),
            (Ctx.STATE_BYTES, launch.lowered.state_bytes),
            (Ctx.LOCAL_WARP_BYTES, launch.local_bytes * 32),
            (Ctx.LOCAL_BYTES, launch.kernel.local_bytes),
            (Ctx.FUEL, FUEL),
            (Ctx.DYNAMIC_SHARED, launch.dynamic_shared_bytes),
            (Ctx.PRINT_CAPACITY, PRINT_BYTES),
            (Ctx.PARAMETER_BYTES, launch.kernel.parameter_bytes),
        ):
            self.set64(name, value)
        words = self.block.view(np.int32)
        for field_, value in (
            (Ctx.NTID_X32, launch.block[0]),
            (Ctx.NTID_Y32, launch.block[1]),
            (Ctx.NTID_Z32, launch.block[2]),
            (Ctx.NCTAID_X32, launch.grid[0]),
            (Ctx.NCTAID_Y32, launch.grid[1]),
            (Ctx.NCTAID_Z32, launch.grid[2]),
            (Ctx.WARPS32, launch.warps),
            (Ctx.THREADS32, launch.threads),
            (Ctx.TALKS32, int(launch.talks)),
        ):
            words[field_ // 4] = value

    def set64(self, name: Ctx, value: int) -> None:
        self.block.view(np.uint64)[name // 8] = value

    def get64(self, name: Ctx) -> int:
        return int(self.block.view(np.uint64)[name // 8])

    @property
    def pointer(self) -> int:
        return int(self.block.ctypes.data)


WAITING_S = 15.0
"""How long a launch may wait for a busy machine, on top of its limit."""


def _end_in_time(launch: _Launch, threads: int, limit_s: float, over: threading.Event) -> None:
    """Abort a launch that used up its time. Processor time: a verdict must not depend on who else is computing."""
    used_before, started = time.process_time(), time.monotonic()
    pause = min(0.05, limit_s / 4)
    while not over.wait(pause):
        used = (time.process_time() - used_before) / threads
        if used > limit_s or time.monotonic() - started > limit_s + WAITING_S:
            launch.abort[0] = launch.abort[0] or ABORT_TIME
            return


def _run_threads(
    launch: _Launch, compiled: _Compiled, ctas: int, threads: int, time_limit_s: float | None
) -> tuple[list[_Context], list[Status]]:
    run = engine().run
    contexts = [_Context(launch) for _ in range(threads)]
    over = threading.Event()
    if time_limit_s is not None:
        threading.Thread(target=_end_in_time, args=(launch, threads, time_limit_s, over), daemon=True).start()
    chunk = ctas if threads == 1 else max(1, ctas // (threads * 8))
    position = iter(range(0, ctas, chunk))
    lock = threading.Lock()

    def work(context: _Context) -> Status:
        while True:
            with lock:
                start = next(position, None)
            if start is None or launch.abort[0]:
                return Status.DONE
            status = Status(run(context.pointer, start, min(start + chunk, ctas), compiled.address, ENTRY_PC))
            if status is not Status.DONE:
                launch.abort[0] = launch.abort[0] or ABORT_FAILED
                return status

    try:
        if threads == 1:
            statuses = [work(contexts[0])]
        else:
            with ThreadPoolExecutor(threads) as pool:
                statuses = list(pool.map(work, contexts))
    finally:
        over.set()
    if (
        launch.abort[0] == ABORT_TIME
        and Status.DONE in statuses
        and ctas > sum(c.get64(Ctx.DONE_CTAS) for c in contexts)
    ):
        statuses.append(Status.ABORTED)
    return contexts, statuses


def _collect(result: LaunchResult, launch: _Launch, contexts: list[_Context], statuses: list[Status]) -> None:
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
            event = _event(launch, record, int(sites[2 * record["site"] + mild]))
            events.setdefault((event.instruction, event.kind, event.warning), event)
    for event in _met_between_contexts(launch, contexts):
        events.setdefault((event.instruction, event.kind, event.warning), event)
    failed = [(c, s) for c, s in zip(contexts, statuses, strict=False) if s not in (Status.DONE, Status.ABORTED)]
    for context, status in failed:
        if status is Status.DEADLOCK:
            events.update({(e.instruction, e.kind, False): e for e in _deadlock(launch, context)})
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
        result.printed = _printed(np.concatenate(printed), _readers(launch))


def _printed(records: Bytes, memory: dict[int, Bytes]) -> str:
    """The text of recorded device printf calls, in the order they ran."""

    def read_string(address: int) -> bytes:
        slot, offset = split(address)
        block = memory.get(slot)
        if block is None or offset >= block.size:
            return b""
        return block[offset : offset + (1 << 16)].tobytes().partition(b"\0")[0]

    lines = []
    for start in range(0, records.size, PRINT_RECORD_BYTES):
        record = records[start : start + PRINT_RECORD_BYTES]
        format_address = int(record[:8].view(np.uint64)[0])
        text, _ = format_printf(read_string(format_address), record[32:].tobytes(), read_string)
        lines.append(text)
    return "".join(lines)


def _readers(launch: _Launch) -> dict[int, Bytes]:
    """Memory a format string or a string argument may lie in."""
    assert launch.module_block is not None
    return {CONSTANT_SLOT: launch.constants, MODULE_SLOT: launch.module_block, **launch.memory.slots}


def _event(launch: _Launch, record: Any, count: int) -> AccessEvent:
    warning = int(record["kind"]) & WARNING != 0
    kind = EventKind(int(record["kind"]) & ~WARNING)
    block = launch.block_of(int(record["cta"]))
    thread = launch.thread_of(int(record["warp"]), int(record["lane"]))
    diagnosis, _ = _KINDS[kind]
    if kind is EventKind.DIVERGENT_BARRIER:
        here, there = (_barrier_before(launch, int(record[f"data{k}"])) for k in (1, 0))
        waiting = int(record["data2"])
        return AccessEvent(
            diagnosis,
            launch.kernel.name,
            here,
            block,
            thread,
            count=max(count, 1),
            other=Party(there, block, launch.thread_of(waiting // 32, waiting % 32), "wait"),
            detail="",
        )
    if kind is EventKind.LEFT_BEFORE_BARRIER:
        return AccessEvent(
            diagnosis,
            launch.kernel.name,
            _barrier_before(launch, int(record["data0"])),
            block,
            thread,
            count=max(count, 1),
            warning=True,
            detail="left",
        )
    if kind is EventKind.PARTIAL_WARP:
        return _partial_warp(launch, record, count)
    address = int(record["address"])
    return _access_event(launch, record, kind, warning, address, block, thread, count)


def _race_party(launch: _Launch, record: Any, kind: EventKind, thread: Coordinates) -> Party:
    """Who the cell of a race event names."""
    cell = read_cell(int(record["data0"]))
    cta = int(np.int64(record["data1"]))
    block = launch.block_of(cta if cta >= 0 else int(record["cta"]))
    other = launch.thread_of(cell.thread // 32, cell.thread % 32)
    known = cta >= 0 and cta != int(record["cta"])
    if other == thread and not known and cell.several:
        other = launch.thread_of(0, 1 if launch.threads > 1 and thread == (0, 0, 0) else 0)
    near = cell.thread // 32 == int(record["warp"]) and not cell.other_warps
    scope = "grid" if known else "warp" if near else "block"
    action = _RACES[kind]
    if action == "write" and launch.kernel.instructions[cell.site].opcode in ("atom", "red"):
        action = "atomic"
    return Party(cell.site, block, other, action, scope)


_MILD = {1: "same value", 2: "collective"}


def _met_between_contexts(launch: _Launch, contexts: list[_Context]) -> list[AccessEvent]:
    """Races between blocks that ran side by side, on different threads of the judge."""
    events = []
    for met in meetings([c.watches for c in contexts]):
        slot = met.address >> 40
        block = launch.memory.resolve(slot)
        second = met.second
        events.append(
            AccessEvent(
                DiagnosisKind.RACE,
                launch.kernel.name,
                second.site,
                launch.block_of(met.second_cta),
                launch.thread_of(second.thread // 32, second.thread % 32),
                action="write" if met.kind is EventKind.RACE_WRITE else "read",
                space="global",
                address=met.address,
                size=4,
                limit=block.size if block is not None else None,
                count=met.count,
                other=Party(
                    met.first.site,
                    launch.block_of(met.first_cta),
                    launch.thread_of(met.first.thread // 32, met.first.thread % 32),
                    "write",
                    "grid",
                ),
                detail=_MILD[1] if met.harmless else "",
                warning=met.harmless,
            )
        )
    return events


def _access_event(
    launch: _Launch,
    record: Any,
    kind: EventKind,
    warning: bool,
    address: int,
    block: Coordinates,
    thread: Coordinates,
    count: int,
) -> AccessEvent:
    """The event of an access to memory, or of an instruction without one."""
    diagnosis, action = _KINDS[kind]
    if action == "write" and launch.kernel.instructions[int(record["site"])].opcode in ("atom", "red"):
        action = "atomic"
    slot, offset = split(address)
    if offset > OFFSET_MASK // 2:
        # A negative distance borrows from the tag: the access belongs to the slot above.
        slot, offset = slot + 1, offset - OFFSET_MASK - 1
    space = _SPACES.get(slot, "global") if action else ""
    limits: dict[str, int] = {
        "shared": launch.shared_bytes,
        "local": launch.kernel.local_bytes,
        "const": launch.constants.size,
        "param": launch.kernel.parameter_bytes,
    }
    limit: int | None = limits.get(space)
    if space == "global":
        known = launch.memory.resolve(slot)
        limit = None if known is None else known.size
    return AccessEvent(
        diagnosis,
        launch.kernel.name,
        int(record["site"]),
        block,
        thread,
        action="self" if kind is EventKind.MASK_SELF else action,
        space=space,
        address=address if space == "global" else offset,
        size=int(record["size"]),
        limit=limit,
        count=max(count, 1),
        other=_race_party(launch, record, kind, thread) if kind in _RACES else None,
        detail=_detail(launch, record, kind, warning),
        warning=warning,
    )


def _detail(launch: _Launch, record: Any, kind: EventKind, warning: bool) -> str:
    if kind is EventKind.ASSERT:
        return _assertion(launch, record)
    if kind in _RACES:
        return _MILD.get(int(record["data2"]), "") if warning else ""
    if kind in (EventKind.MASK_ABSENT, EventKind.MASK_SELF):
        return f"mask:{int(record['data0']):#010x}:{int(record['data1']):#010x}"
    return ""


def _partial_warp(launch: _Launch, record: Any, count: int) -> AccessEvent:
    """A warp-wide instruction that some lanes do not come to: data0 is the mask of those that do."""
    here, warp = int(record["data0"]), int(record["warp"])
    missing = next(lane for lane in range(32) if not here >> lane & 1)
    block = launch.block_of(int(record["cta"]))
    site = int(record["site"])
    form = launch.kernel.instructions[site].form
    return AccessEvent(
        DiagnosisKind.DIVERGENT_BARRIER,
        launch.kernel.name,
        site,
        block,
        launch.thread_of(warp, int(record["lane"])),
        count=max(count, 1),
        other=Party(None, block, launch.thread_of(warp, missing), "is elsewhere"),
        detail=f"{form} needs all 32 lanes of the warp",
    )


def _assertion(launch: _Launch, record: Any) -> str:
    memory = _readers(launch)
    slot, offset = split(int(record["data0"]))
    block = memory.get(slot)
    if block is None or offset >= block.size:
        return ""
    text = bytes(block[offset : offset + 400]).split(b"\0")[0].decode("utf-8", "replace")
    return f"`{text}`"


def _barrier_before(launch: _Launch, pc: int) -> int:
    """The barrier instruction in front of the block that lanes go on with."""
    return launch.lowered.blocks[pc].start - 1


def _deadlock(launch: _Launch, context: _Context) -> list[AccessEvent]:
    """One event a barrier that lanes wait at for ever."""
    cta = context.get64(Ctx.CTA)
    states = context.states.reshape(launch.warps, launch.lowered.state_bytes)
    pcs = states[:, :128].copy().view(np.int32).reshape(launch.warps, 32)
    waiting: dict[int, list[Coordinates]] = {}
    for warp, lane in zip(*np.nonzero((pcs & PC_PARKED != 0) & (pcs != PC_EXITED)), strict=True):
        place = _barrier_before(launch, int(pcs[warp, lane]) & ~(PC_PARKED | PC_TOGETHER))
        waiting.setdefault(place, []).append(launch.thread_of(int(warp), int(lane)))
    live = int(np.count_nonzero(pcs != PC_EXITED))
    events = []
    for place, threads in waiting.items():
        others = [p for p in waiting if p != place]
        party = Party(others[0], launch.block_of(cta), waiting[others[0]][0], "wait") if others else None
        events.append(
            AccessEvent(
                DiagnosisKind.DEADLOCK,
                launch.kernel.name,
                place,
                launch.block_of(cta),
                threads[0],
                count=len(threads),
                other=party,
                detail=f"{len(threads)} of {live} live threads of the block wait here",
            )
        )
    return events
