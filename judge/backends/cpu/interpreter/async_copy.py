"""cp.async: a copy that happens when its thread waits for it.

Hardware may copy at any time between the instruction and the wait. Here it reads its source at
once and writes the destination at the wait, so that a kernel that looks too early sees the old bytes.
"""

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.interpreter.access import address_of, parts, read_bytes, write_checked
from judge.backends.cpu.interpreter.state import PendingCopy, Step
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError

SIZES = (4, 8, 16)


@executes("cp")
def copy_async(step: Step) -> None:
    """A short source is padded with zeros; a source of no bytes is not touched."""
    if step.modifiers[0] != "async" or "bulk" in step.modifiers or step.has("mbarrier"):
        raise NotEmulatedError(step.instruction.form)
    if step.has("commit_group"):
        step.warp.committed[step.lanes] += 1
    elif step.has("wait_all"):
        _finish(step, None)
    elif step.has("wait_group"):
        _finish(step, step.integers(step.instruction.sources[0], "u32")[0])
    else:
        _issue(step)


def _issue(step: Step) -> None:
    operands = [o for o in (*step.instruction.destinations, *step.instruction.sources) if o is not None]
    to, from_, size, *rest = (o for o in operands if not _is_policy(step, operands, o))
    bytes_ = step.integers(size, "u32")[0]
    if bytes_ not in SIZES or ("cg" in step.modifiers and bytes_ != 16):
        raise NotEmulatedError(f"{step.instruction.form} of {bytes_} bytes")
    wanted = np.full(step.lanes.size, bytes_)
    if rest and isinstance(rest[0], ir.Register) and rest[0].type == "pred":
        wanted = np.where(step.predicates(rest[0]), 0, bytes_)
    elif rest:
        wanted = np.minimum(np.array(step.integers(rest[0], "u32")), bytes_)
    data = np.zeros((step.lanes.size, bytes_), dtype=np.uint8)
    sources = address_of(step, from_)
    for length in np.unique(wanted).tolist():
        places = np.flatnonzero(wanted == length)
        part = Step(step.warp, step.index, step.instruction, step.lanes[places])
        if length == bytes_:
            data[places] = read_bytes(part, "global", sources[places], bytes_)
        else:
            for byte in range(length):
                data[places, byte] = read_bytes(part, "global", sources[places] + np.uint64(byte), 1)[:, 0]
    for part_, good in write_checked(step, parts(step, "shared", address_of(step, to)), bytes_):
        for place in np.flatnonzero(good).tolist():
            position = int(part_.positions[place])
            lane = int(step.lanes[position])
            copy = PendingCopy(lane, int(step.warp.committed[lane]), int(part_.offsets[place]), data[position])
            step.warp.copies.append(copy)


def _is_policy(step: Step, operands: list[ir.Operand], operand: ir.Operand) -> bool:
    """The cache policy that .L2::cache_hint adds at the end."""
    return step.has("L2::cache_hint") and operand is operands[-1]


def _finish(step: Step, keep: int | None) -> None:
    """Write what the executing lanes asked for, save their `keep` newest groups; None: everything."""
    warp = step.warp
    executing = set(step.lanes.tolist())
    left = []
    for copy in warp.copies:
        due = keep is None or copy.group < int(warp.committed[copy.lane]) - keep
        if copy.lane in executing and due:
            warp.cta.shared[copy.offset : copy.offset + copy.data.size] = copy.data
        else:
            left.append(copy)
    warp.copies = left
