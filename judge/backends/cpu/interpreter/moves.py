"""mov with packing and unpacking, address conversion, and instructions without effect here."""

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import MODULE_SLOT, SLOT_SHIFT, SPACE_SLOTS
from judge.backends.cpu.interpreter.rounding import Raw
from judge.backends.cpu.interpreter.state import Step, generic_base
from judge.backends.cpu.interpreter.table import executes


def space_of(step: Step) -> str:
    """State space of the form, "" for a generic address."""
    for modifier in step.modifiers:
        space = modifier.partition("::")[0]
        if space in SPACE_SLOTS:
            return space
    return ""


@executes("mov")
def mov(step: Step) -> None:
    type_ = step.instruction.types[0]
    destination, source = step.instruction.destinations[0], step.instruction.sources[0]
    if isinstance(source, ir.Vector):
        value = pack(step, source, type_)
    elif isinstance(source, ir.Address) and isinstance(source.base, ir.Register):
        value = step.raw(source, "b64")
    else:
        value = step.raw(source, type_)
    if isinstance(destination, ir.Vector):
        unpack(step, destination, type_, value)
    else:
        step.write_raw(destination, type_, value)


def pack(step: Step, vector: ir.Vector, type_: str) -> Raw:
    """The first element is the least significant part."""
    bits = ir.WIDTHS[type_] // len(vector.elements)
    value = np.zeros(len(step.lanes), dtype=np.uint64)
    for place, element in enumerate(vector.elements):
        if element is not None:
            value |= step.raw(element, f"b{bits}") << np.uint64(bits * place)
    return value


def unpack(step: Step, vector: ir.Vector, type_: str, value: Raw) -> None:
    bits = ir.WIDTHS[type_] // len(vector.elements)
    for place, element in enumerate(vector.elements):
        step.write_raw(element, f"b{bits}", value >> np.uint64(bits * place))


@executes("cvta")
def cvta(step: Step) -> None:
    """Between an address of a space and the generic address of the same byte."""
    type_ = step.instruction.types[0]
    base = np.uint64(generic_base(space_of(step)))
    value = step.raw(step.instruction.sources[0], type_)
    step.write_raw(step.instruction.destinations[0], type_, value - base if step.has("to") else value + base)


@executes("isspacep")
def isspacep(step: Step) -> None:
    slots = step.raw(step.instruction.sources[0], "u64") >> np.uint64(SLOT_SHIFT)
    space = space_of(step)
    inside = slots >= MODULE_SLOT if space == "global" else slots == SPACE_SLOTS[space]
    step.write_predicates(step.instruction.destinations[0], inside)


@executes(
    "membar",
    "fence",
    "nanosleep",
    "prefetch",
    "prefetchu",
    "applypriority",
    "discard",
    "pmevent",
    "griddepcontrol",
    "setmaxnreg",
)
def no_effect(step: Step) -> None:
    """Memory here is sequentially consistent, and hints change nothing."""


@executes("createpolicy")
def createpolicy(step: Step) -> None:
    """Cache policies are opaque and unused; any value serves."""
    step.write_raw(step.instruction.destinations[0], "b64", np.zeros(len(step.lanes), dtype=np.uint64))
