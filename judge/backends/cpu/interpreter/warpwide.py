"""Instructions by which the lanes of a warp exchange values: shfl, vote, match, redux, elect, activemask.

The scheduler has brought the lanes of the member mask together before one of these runs; lanes
that execute it without being named, or are named without executing it, are reported there. A value
taken from a lane that does not take part is undefined in PTX; here it is what that lane's register
holds.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.interpreter.state import LANES, Step, signed_list
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError

SHUFFLE_MODES = ("up", "down", "bfly", "idx")
_FULL = 0xFFFF_FFFF


def member_operand(instruction: ir.Instruction) -> ir.Operand | None:
    """The member mask of a .sync instruction, None for the forms without one."""
    if instruction.opcode in ("shfl", "vote", "match", "redux", "elect") and "sync" in instruction.modifiers:
        return instruction.sources[-1]
    if instruction.opcode in ("bar", "barrier") and "warp" in instruction.modifiers:
        return instruction.sources[0]
    return None


def _lane_bits(step: Step) -> int:
    return sum(1 << lane for lane in step.lanes.tolist())


def _groups(step: Step) -> dict[int, list[int]]:
    """Places in Step.lanes by the member mask they gave: each mask is an exchange of its own."""
    operand = member_operand(step.instruction)
    masks = step.integers(operand, "u32") if operand is not None else [_FULL] * len(step.lanes)
    groups: dict[int, list[int]] = {}
    for place, mask in enumerate(masks):
        groups.setdefault(mask, []).append(place)
    return groups


def source_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """(lane to read, whether it lies in the segment) of a shuffle; out of it a lane reads itself."""
    segment = c >> 8 & 31
    bound = c & 31
    last = (lane & segment) | (bound & ~segment)
    match mode:
        case "up":
            wanted = lane - (b & 31)
            valid = wanted >= last
        case "down":
            wanted = lane + (b & 31)
            valid = wanted <= last
        case "bfly":
            wanted = lane ^ (b & 31)
            valid = wanted <= last
        case _:
            wanted = (lane & segment) | (b & 31 & ~segment)
            valid = wanted <= last
    return (wanted if valid else lane), valid


@executes("shfl")
def shfl(step: Step) -> None:
    mode = next(m for m in step.modifiers if m in SHUFFLE_MODES)
    a, b, c = step.instruction.sources[:3]
    everyone = Step(step.warp, step.index, step.instruction, np.arange(LANES))
    values = everyone.raw(a, "b32")
    sources = [
        source_lane(mode, lane, distance, bound)
        for lane, distance, bound in zip(
            step.lanes.tolist(), step.integers(b, "u32"), step.integers(c, "u32"), strict=True
        )
    ]
    destination, *predicate = step.instruction.destinations
    step.write_raw(destination, "b32", values[[lane for lane, _ in sources]])
    if predicate:
        step.write_predicates(predicate[0], np.array([valid for _, valid in sources]))


@executes("vote")
def vote(step: Step) -> None:
    """all, any and uni of no lanes cannot happen: the lanes that vote execute it."""
    predicate = step.predicates(step.instruction.sources[0])
    lanes = step.lanes.tolist()
    results = np.zeros(len(lanes), dtype=np.uint64)
    for places in _groups(step).values():
        votes = predicate[places]
        if step.has("ballot"):
            value = sum(1 << lanes[place] for place in places if predicate[place])
        elif step.has("all"):
            value = int(votes.all())
        elif step.has("any"):
            value = int(votes.any())
        else:
            value = int(votes.all() or not votes.any())
        results[places] = value
    step.write_raw(step.instruction.destinations[0], "b32" if step.has("ballot") else "pred", results)


@executes("activemask")
def activemask(step: Step) -> None:
    bits = np.full(len(step.lanes), _lane_bits(step), dtype=np.uint64)
    step.write_raw(step.instruction.destinations[0], "b32", bits)


@executes("match")
def match_(step: Step) -> None:
    """any: the lanes with the same value. all: the member lanes when they all agree, else 0."""
    type_ = step.instruction.types[0]
    values = step.raw(step.instruction.sources[0], type_).tolist()
    lanes = step.lanes.tolist()
    results = np.zeros(len(lanes), dtype=np.uint64)
    agreed = np.zeros(len(lanes), dtype=bool)
    for places in _groups(step).values():
        same = {v: sum(1 << lanes[p] for p in places if values[p] == v) for v in {values[p] for p in places}}
        for place in places:
            if step.has("any"):
                results[place] = same[values[place]]
            elif len(same) == 1:
                results[place] = same[values[place]]
                agreed[place] = True
    destination, *predicate = step.instruction.destinations
    step.write_raw(destination, "b32", results)
    if predicate:
        step.write_predicates(predicate[0], agreed)


_REDUCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "min": min,
    "max": max,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}


@executes("redux")
def redux(step: Step) -> None:
    type_ = step.instruction.types[0]
    if type_ == "f32":
        raise NotEmulatedError(step.instruction.form)
    raw = step.raw(step.instruction.sources[0], type_)
    values = signed_list(raw, 32) if type_[0] == "s" else raw.tolist()
    operation = _REDUCTIONS[next(m for m in step.modifiers if m in _REDUCTIONS)]
    results = [0] * len(values)
    for places in _groups(step).values():
        total = reduce(operation, (values[p] for p in places))
        for place in places:
            results[place] = total
    step.write_integers(step.instruction.destinations[0], type_, results)


@executes("elect")
def elect(step: Step) -> None:
    """The lowest member lane is the leader."""
    lanes = step.lanes.tolist()
    leaders = np.zeros(len(lanes), dtype=np.uint64)
    is_leader = np.zeros(len(lanes), dtype=bool)
    for places in _groups(step).values():
        leaders[places] = lanes[places[0]]
        is_leader[places[0]] = True
    destination, *predicate = step.instruction.destinations
    step.write_raw(destination, "b32", leaders)
    if predicate:
        step.write_predicates(predicate[0], is_leader)
