"""From the records that generated code leaves behind to events with blocks, threads and the other party."""

from typing import Any

import numpy as np

from judge.backends.cpu.addresses import (
    CONSTANT_SLOT,
    LOCAL_SLOT,
    MODULE_SLOT,
    OFFSET_MASK,
    PARAMETER_SLOT,
    SHARED_SLOT,
    split,
)
from judge.backends.cpu.device_printf import format_printf
from judge.backends.cpu.events import AccessEvent, Coordinates, Party
from judge.backends.cpu.launch_state import Context, LaunchState
from judge.backends.cpu.lowering.layout import (
    PC_EXITED,
    PC_PARKED,
    PC_TOGETHER,
    WARNING,
    Ctx,
    EventKind,
)
from judge.backends.cpu.lowering.runtime_values import PRINT_RECORD_BYTES
from judge.backends.cpu.memory import Bytes
from judge.backends.cpu.watching import meetings, read_cell
from judge.records import DiagnosisKind

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
    EventKind.BARRIER_COUNT: (DiagnosisKind.DIVERGENT_BARRIER, ""),
}

_RACES = {EventKind.RACE_READ: "write", EventKind.RACE_OVERWRITE: "read", EventKind.RACE_WRITE: "write"}
"""What the other side of a race did."""


def printed_text(records: Bytes, memory: dict[int, Bytes]) -> str:
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


def readable_memory(launch: LaunchState) -> dict[int, Bytes]:
    """Memory a format string or a string argument may lie in."""
    assert launch.module_block is not None
    return {CONSTANT_SLOT: launch.constants, MODULE_SLOT: launch.module_block, **launch.memory.slots}


def read_event(launch: LaunchState, record: Any, count: int) -> AccessEvent:
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


def _race_party(launch: LaunchState, record: Any, kind: EventKind, thread: Coordinates) -> Party:
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


def _other_party(launch: LaunchState, record: Any, kind: EventKind, thread: Coordinates) -> Party | None:
    """The other thread of a race, or whoever copied what had no value to where it was read."""
    if kind in _RACES:
        return _race_party(launch, record, kind, thread)
    if kind is not EventKind.UNINITIALIZED or not int(record["data0"]):
        return None
    cell = read_cell(int(record["data0"]))
    return Party(cell.site, launch.block_of(int(record["cta"])), launch.thread_of(*divmod(cell.thread, 32)), "copy")


_MILD = {1: "same value", 2: "collective"}


def met_between_contexts(launch: LaunchState, contexts: list[Context]) -> list[AccessEvent]:
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
    launch: LaunchState,
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
        other=_other_party(launch, record, kind, thread),
        detail=_detail(launch, record, kind, warning),
        warning=warning,
    )


def _detail(launch: LaunchState, record: Any, kind: EventKind, warning: bool) -> str:
    if kind is EventKind.ASSERT:
        return _assertion(launch, record)
    if kind in _RACES:
        return _MILD.get(int(record["data2"]), "") if warning else ""
    if kind in (EventKind.MASK_ABSENT, EventKind.MASK_SELF):
        return f"mask:{int(record['data0']):#010x}:{int(record['data1']):#010x}"
    if kind is EventKind.BARRIER_COUNT:
        return f"count:{int(record['data0'])}"
    return ""


def _partial_warp(launch: LaunchState, record: Any, count: int) -> AccessEvent:
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


def _assertion(launch: LaunchState, record: Any) -> str:
    memory = readable_memory(launch)
    slot, offset = split(int(record["data0"]))
    block = memory.get(slot)
    if block is None or offset >= block.size:
        return ""
    text = bytes(block[offset : offset + 400]).split(b"\0")[0].decode("utf-8", "replace")
    return f"`{text}`"


def _barrier_before(launch: LaunchState, pc: int) -> int:
    """The barrier instruction in front of the block that lanes go on with."""
    return launch.lowered.blocks[pc].start - 1


def deadlock_events(launch: LaunchState, context: Context) -> list[AccessEvent]:
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
