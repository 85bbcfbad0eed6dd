"""Calls that stay calls: vprintf, __assertfail, malloc and free."""

from functools import partial

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.device_printf import format_printf
from judge.backends.cpu.interpreter.access import parts
from judge.backends.cpu.interpreter.state import Step, StoppedError
from judge.backends.cpu.interpreter.table import executes
from judge.backends.cpu.refusal import NotEmulatedError
from judge.records import DiagnosisKind


def read_memory(step: Step, place: int, address: int, size: int) -> bytes:
    """Bytes at a generic address as the lane at a place of Step.lanes sees it, fewer at a block's end."""
    lane_step = Step(step.warp, step.index, step.instruction, step.lanes[place : place + 1])
    (part,) = parts(lane_step, "", np.array([address], dtype=np.uint64))
    if part.block is None or part.limit is None:
        return b""
    start, offset = int(part.starts[0]), int(part.offsets[0])
    return part.block[start + offset : start + min(offset + size, part.limit)].tobytes()


def read_string(step: Step, place: int, address: int) -> bytes:
    """The bytes up to a NUL, at most 64 KiB."""
    return read_memory(step, place, address, 1 << 16).partition(b"\0")[0]


@executes("call")
def call(step: Step) -> None:
    match step.modifiers[0]:
        case "vprintf":
            _vprintf(step)
        case "__assertfail":
            _assertfail(step)
        case name:
            raise NotEmulatedError(f"call of {name}")


def _argument(source: ir.Operand) -> str:
    if isinstance(source, ir.Register):
        return f"b{source.bits}"
    return "b64"


def _vprintf(step: Step) -> None:
    """Lanes print in lane order, whole lines at a time; the result is the number of arguments."""
    formats, arguments = (step.raw(s, _argument(s)).tolist() for s in step.instruction.sources[:2])
    counts = []
    for place, (format_address, argument_address) in enumerate(zip(formats, arguments, strict=True)):
        text, count = format_printf(
            read_string(step, place, format_address),
            read_memory(step, place, argument_address, 1 << 12) if argument_address else b"",
            partial(read_string, step, place),
        )
        step.launch.printed.append(text)
        counts.append(count)
    if step.instruction.destinations:
        step.write_integers(step.instruction.destinations[0], "s32", counts)


def _assertfail(step: Step) -> None:
    """__assertfail(message, file, line, function, character size) ends the launch."""
    message, file, line, function = (step.raw(s, _argument(s)).tolist()[0] for s in step.instruction.sources[:4])
    texts = [read_string(step, 0, address).decode("utf-8", "replace") for address in (message, file, function)]
    detail = f"`{texts[0]}` in {texts[2]}, {texts[1]}:{line & 0xFFFF_FFFF}"
    step.report(DiagnosisKind.ASSERT, int(step.lanes[0]), count=len(step.lanes), detail=detail)
    raise StoppedError("assert")


@executes("trap", "brkpt")
def trap(step: Step) -> None:
    step.report(DiagnosisKind.TRAP, int(step.lanes[0]), count=len(step.lanes))
    raise StoppedError("trap")
