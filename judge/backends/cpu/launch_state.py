"""What one launch works on: the module's memory and settings, and the native block of each thread that runs it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import (
    CONSTANT_SLOT,
    FIRST_BUFFER_SLOT,
    MAX_SLOTS,
    MODULE_SLOT,
    PARAMETER_SLOT,
    SHARED_SLOT,
)
from judge.backends.cpu.events import Coordinates
from judge.backends.cpu.interpreter import initial_block
from judge.backends.cpu.lowering import runtime_async as async_queue
from judge.backends.cpu.lowering.kernel import LoweredKernel
from judge.backends.cpu.lowering.layout import (
    EVENT,
    EVENT_CAPACITY,
    FENCE_ROW,
    Ctx,
)
from judge.backends.cpu.memory import Bytes, DeviceMemory, aligned_bytes
from judge.backends.cpu.orders import running_order
from judge.backends.cpu.traffic import PatternTable
from judge.backends.cpu.watching import WatchTable, global_watch, shared_watch

FUEL = 4096
"""Backward branches of a warp before others get their turn."""

PRINT_BYTES = 1 << 20


class LaunchState:
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
        self.cta_fences = np.zeros(FENCE_ROW * (1 + ctas if self.talks else 1), dtype=np.uint32)
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
            scratch = self.memory.labels[slot].role != "output"
            table.add(slot, global_watch(self.memory.slots[slot].size, written, scratch=scratch))
        return table

    def block_of(self, cta: int) -> Coordinates:
        x, y, _ = self.grid
        return cta % x, cta // x % y, cta // (x * y)

    def thread_of(self, warp: int, lane: int) -> Coordinates:
        linear = warp * 32 + lane
        x, y, _ = self.block
        return linear % x, linear // x % y, linear // (x * y)


class Context:
    """The memory one thread of a launch works in."""

    def __init__(self, launch: LaunchState) -> None:
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
            variables = slot == MODULE_SLOT and launch.module_bytes > 0
            if launch.traffic and (slot >= FIRST_BUFFER_SLOT or variables):
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
