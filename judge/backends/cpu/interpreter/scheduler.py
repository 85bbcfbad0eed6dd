"""Who runs next: lanes of a warp, warps of a CTA, CTAs of a grid.

A warp runs the lanes that share the lowest program counter. That alone would never end a spin lock
whose holder waits at a higher counter, so a group that keeps jumping backward is set aside for a
while and the others run. When a whole warp spins, the other warps run, and when a whole CTA spins,
other CTAs (a grid-wide barrier).
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from judge.backends.cpu import ir
from judge.backends.cpu.events import Party
from judge.backends.cpu.interpreter.state import LANES, Cta, Lanes, Launch, Mask, Operation, Step, StoppedError, Warp
from judge.backends.cpu.interpreter.table import OPERATIONS
from judge.backends.cpu.interpreter.warpwide import member_operand
from judge.backends.cpu.orders import running_order
from judge.backends.cpu.refusal import NotEmulatedError
from judge.records import DiagnosisKind

BACKWARD_JUMPS = 64
"""Backward jumps a group may take before the other lanes of its warp get their turn."""
SPINS_BEFORE_OTHER_CTAS = 128
"""Rounds in which a CTA does nothing but jump backward before another CTA gets its turn."""

_CONTROL = frozenset({"bra", "brx", "ret", "exit"})
_NEVER = np.iinfo(np.int64).max


def run_grid(launch: Launch) -> None:
    """Run every CTA in the launch's order, x fastest in that of the numbers.

    Raises StoppedError when one ends the launch.
    """
    width, height, depth = launch.grid
    order, _ = running_order(launch.schedule, width * height * depth, 1)
    waiting = (Cta(launch, (n % width, n // width % height, n // (width * height))) for n in map(int, order))
    active: deque[Iterator[bool]] = deque()
    while True:
        if not active:
            following = next(waiting, None)
            if following is None:
                return
            active.append(_run_cta(following))
        current = active.popleft()
        spins = next(current, False)
        if not spins:
            continue
        # Let the others go on, and start one more that this one may be waiting for.
        active.append(current)
        following = next(waiting, None)
        if following is not None:
            active.appendleft(_run_cta(following))


def _run_cta(cta: Cta) -> Iterator[bool]:
    """Run a CTA to its end; yields True whenever it only spins."""
    spins = 0
    order = running_order(cta.launch.schedule, 1, len(cta.warps))[1].tolist()
    while any(warp.alive.any() for warp in cta.warps):
        before = cta.launch.instructions
        spinning = False
        for number in order:
            spinning |= _run_warp(cta.warps[number])
        released = _release_barriers(cta)
        if not released and cta.launch.instructions == before and not _force_meeting(cta):
            _report_deadlock(cta)
        spins = spins + 1 if spinning and not released else 0
        if spins >= SPINS_BEFORE_OTHER_CTAS:
            spins = 0
            yield True


def _runnable(warp: Warp) -> Mask:
    return warp.alive & (warp.barrier < 0) & ~warp.yielded


def _run_warp(warp: Warp) -> bool:
    """Run a warp until no lane can go on; True when that is only because all of them spin."""
    while True:
        runnable = _runnable(warp)
        ready = runnable & ~warp.meeting
        if not ready.any():
            if warp.yielded.any():
                warp.yielded[:] = False
                return True
            return False
        lowest = int(warp.pc[ready].min())
        group = runnable & (warp.pc == lowest)
        others = warp.pc[runnable & (warp.pc > lowest)]
        _run_group(warp, lowest, group, int(others.min()) if others.size else _NEVER)


def _run_group(warp: Warp, pc: int, group: Mask, next_other: int) -> None:
    """Run lanes that share a program counter until they part, wait, or reach `next_other`."""
    launch = warp.cta.launch
    code = launch.kernel.instructions
    lanes = np.flatnonzero(group)
    while True:
        if pc >= len(code):
            _exit_lanes(warp, lanes)
            return
        instruction = code[pc]
        launch.instructions += 1
        if launch.instructions > launch.instruction_limit:
            raise StoppedError("budget")
        executing = _guarded(warp, instruction, lanes)
        if instruction.opcode in _CONTROL:
            targets = _jump(warp, pc, instruction, lanes, executing)
            if targets is None:
                return
            warp.pc[lanes] = targets
            first = int(targets[0])
            if _spend(warp, lanes[targets <= pc]) or (targets != first).any() or first >= next_other:
                return
            if first <= pc and next_other != _NEVER:
                return  # others may lie between
            pc = first
            continue
        if executing.size:
            step = Step(warp, pc, instruction, executing)
            parked = _park(step)
            if parked.size:
                lanes = np.setdiff1d(lanes, parked)
                step.lanes = np.setdiff1d(executing, parked)
            if step.lanes.size and instruction.opcode not in ("bar", "barrier"):
                _operation(instruction)(step)
        pc += 1
        warp.pc[lanes] = pc
        if pc >= next_other or not lanes.size:
            return


def _operation(instruction: ir.Instruction) -> Operation:
    operation = OPERATIONS.get(instruction.opcode)
    if operation is None:
        raise NotEmulatedError(instruction.form)
    return operation


def _spend(warp: Warp, jumped_back: Lanes) -> bool:
    """Count a backward jump; True when the lanes have had their share and are set aside."""
    warp.jumps[jumped_back] += 1
    spent = jumped_back[warp.jumps[jumped_back] >= BACKWARD_JUMPS]
    warp.jumps[spent] = 0
    warp.yielded[spent] = True
    return spent.size > 0


def _guarded(warp: Warp, instruction: ir.Instruction, lanes: Lanes) -> Lanes:
    if instruction.guard is None:
        return lanes
    holds = warp.registers[instruction.guard.register.index, lanes] != 0
    executing: Lanes = lanes[holds != instruction.guard.negated]
    return executing


def _exit_lanes(warp: Warp, lanes: Lanes) -> None:
    """Lanes end. Those parked until others come look again, since fewer are now expected."""
    warp.alive[lanes] = False
    warp.meeting[:] = False


def _jump(warp: Warp, pc: int, instruction: ir.Instruction, lanes: Lanes, executing: Lanes) -> NDArray[np.int64] | None:
    """Where each of `lanes` goes next, None when none of them is left or some have ended."""
    if instruction.opcode in ("ret", "exit"):
        if executing.size == 0:
            return np.full(lanes.size, pc + 1, dtype=np.int64)
        warp.pc[lanes] = pc + 1
        _exit_lanes(warp, executing)
        return None
    targets = np.full(LANES, pc + 1, dtype=np.int64)
    choices = [s.index for s in instruction.sources if isinstance(s, ir.Target)]
    if instruction.opcode == "bra":
        targets[executing] = choices[0]
    else:
        chosen = Step(warp, pc, instruction, executing).integers(instruction.sources[0], "u32")
        targets[executing] = [choices[min(c, len(choices) - 1)] for c in chosen]
    return targets[lanes]


_NOBODY: Lanes = np.zeros(0, dtype=np.intp)


def _park(step: Step) -> Lanes:
    """Park the lanes of a step that must wait for others; the rest go on with the instruction now."""
    operand = member_operand(step.instruction)
    if operand is not None:
        return _meet(step, operand)
    if step.instruction.opcode in ("bar", "barrier"):
        return _arrive(step)
    return _NOBODY


def _meet(step: Step, operand: ir.Operand) -> Lanes:
    """Lanes whose member mask names a living lane that is not here yet."""
    warp = step.warp
    masks = np.array(step.integers(operand, "u32"), dtype=np.uint64)
    is_barrier = step.instruction.opcode in ("bar", "barrier")
    here = set(step.lanes.tolist())
    elsewhere = _waiting_at_warp_barriers(warp) - here if is_barrier else set()
    parked = []
    for mask in np.unique(masks).tolist():
        members = step.lanes[masks == mask]
        named = {lane for lane in range(LANES) if mask >> lane & 1 and warp.alive[lane]}
        if named <= here | elsewhere:
            for lane in named & elsewhere:
                warp.pc[lane] += 1
                warp.meeting[lane] = False
            warp.meeting[members] = False
        else:
            warp.meeting[members] = True
            parked.append(members)
    return np.concatenate(parked) if parked else _NOBODY


def _waiting_at_warp_barriers(warp: Warp) -> set[int]:
    """Lanes parked at any bar.warp.sync: the ones in both arms of an if meet each other."""
    code = warp.cta.launch.kernel.instructions
    found = set()
    for lane in np.flatnonzero(warp.meeting).tolist():
        instruction = code[int(warp.pc[lane])]
        if instruction.opcode in ("bar", "barrier") and "warp" in instruction.modifiers:
            found.add(lane)
    return found


def _force_meeting(cta: Cta) -> bool:
    """Nothing can run, yet lanes wait for lanes of their mask that never come: report, and let them go on."""
    for warp in cta.warps:
        parked = np.flatnonzero(warp.meeting)
        if not parked.size:
            continue
        pc = int(warp.pc[parked].min())
        executing = parked[warp.pc[parked] == pc]
        instruction = cta.launch.kernel.instructions[pc]
        step = Step(warp, pc, instruction, executing)
        operand = member_operand(instruction)
        assert operand is not None
        wanted = step.integers(operand, "u32")[0]
        absent = [n for n in range(LANES) if wanted >> n & 1 and warp.alive[n] and n not in executing]
        lane = absent[0] if absent else int(executing[0])
        step.report(
            DiagnosisKind.DIVERGENT_BARRIER,
            int(executing[0]),
            other=Party(int(warp.pc[lane]), cta.index, warp.thread_index(lane), "is elsewhere"),
            detail=f"{instruction.form} with mask {wanted:#010x}, lane {lane} is not there",
        )
        warp.meeting[executing] = False
        if instruction.opcode not in ("bar", "barrier"):
            _operation(instruction)(step)
        warp.pc[executing] = pc + 1
        return True
    return False


def _arrive(step: Step) -> Lanes:
    """bar.sync, bar.red, bar.arrive and their barrier spellings."""
    warp, instruction, lanes = step.warp, step.instruction, step.lanes
    sources = list(instruction.sources)
    reduces = "red" in instruction.modifiers
    votes = step.predicates(sources.pop()) if reduces else np.zeros(lanes.size, dtype=bool)
    numbers = step.integers(sources[0], "u32") if sources else [0] * lanes.size
    counts = step.integers(sources[1], "u32") if len(sources) > 1 else [0] * lanes.size
    if "arrive" in instruction.modifiers:
        for number, count in zip(numbers, counts, strict=True):
            warp.cta.arrivals.setdefault(number, []).append(count)
        return _NOBODY
    warp.barrier[lanes] = numbers
    warp.barrier_count[lanes] = counts
    warp.barrier_value[lanes] = votes
    return lanes


def _release_barriers(cta: Cta) -> bool:
    """Open every barrier whose threads have all arrived; threads that have exited are not waited for."""
    numbers = {int(n) for warp in cta.warps for n in warp.barrier[warp.barrier >= 0]}
    released = False
    for number in sorted(numbers):
        waiting = [(warp, np.flatnonzero(warp.barrier == number)) for warp in cta.warps]
        arrived = sum(lanes.size for _, lanes in waiting) + len(cta.arrivals.get(number, []))
        wanted = max(int(warp.barrier_count[lanes].max()) for warp, lanes in waiting if lanes.size)
        alive = sum(int(warp.alive.sum()) for warp in cta.warps)
        if arrived < (wanted or alive):
            continue
        _check_one_place(cta, waiting)
        _open(waiting)
        cta.arrivals.pop(number, None)
        released = True
    return released


def _open(waiting: list[tuple[Warp, Lanes]]) -> None:
    votes = np.concatenate([warp.barrier_value[lanes] for warp, lanes in waiting])
    for warp, lanes in waiting:
        for pc in np.unique(warp.pc[lanes]).tolist():
            here = lanes[warp.pc[lanes] == pc]
            instruction = warp.cta.launch.kernel.instructions[pc]
            if "red" in instruction.modifiers:
                step = Step(warp, pc, instruction, here)
                result = {"popc": int(votes.sum()), "and": int(votes.all()), "or": int(votes.any())}
                name = next(m for m in instruction.modifiers if m in result)
                step.write_raw(
                    instruction.destinations[0],
                    "b32" if name == "popc" else "pred",
                    np.full(here.size, result[name], dtype=np.uint64),
                )
        warp.pc[lanes] += 1
        warp.barrier[lanes] = -1


def _check_one_place(cta: Cta, waiting: list[tuple[Warp, Lanes]]) -> None:
    """An aligned barrier must be the same instruction for the whole block."""
    code = cta.launch.kernel.instructions
    seats = [(warp, lane, int(warp.pc[lane])) for warp, lanes in waiting for lane in lanes.tolist()]
    first_warp, first_lane, first_pc = seats[0]
    for warp, lane, pc in seats[1:]:
        if pc != first_pc and _is_aligned(code[pc]) and _is_aligned(code[first_pc]):
            step = Step(first_warp, first_pc, code[first_pc], np.array([first_lane]))
            step.report(
                DiagnosisKind.DIVERGENT_BARRIER,
                first_lane,
                other=Party(pc, cta.index, warp.thread_index(lane), "waits at another barrier"),
            )
            return


def _is_aligned(instruction: ir.Instruction) -> bool:
    return instruction.opcode == "bar" or "aligned" in instruction.modifiers


def _report_deadlock(cta: Cta) -> None:
    """Every thread left waits at a barrier that will not open."""
    code = cta.launch.kernel.instructions
    seats = [(warp, lane, int(warp.pc[lane])) for warp in cta.warps for lane in np.flatnonzero(warp.alive).tolist()]
    warp, lane, pc = seats[0]
    other = next((s for s in seats if s[2] != pc), None)
    Step(warp, pc, code[pc], np.array([lane])).report(
        DiagnosisKind.DEADLOCK,
        lane,
        count=len(seats),
        other=None if other is None else Party(other[2], cta.index, other[0].thread_index(other[1]), "waits"),
    )
    raise StoppedError("deadlock")
