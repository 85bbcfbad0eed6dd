"""From the events of a run to the diagnoses a learner reads.

An event has an instruction index and an address; a diagnosis has a source line, a buffer's name
and an element's index in the shape the user gave the buffer. One site (kind, line, buffer) gives
one diagnosis; what repeats is counted.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from judge.backends.base import BufferLabel
from judge.backends.cpu import ir
from judge.backends.cpu.addresses import (
    MODULE_SLOT,
    NULL_SLOT,
    OFFSET_MASK,
    SLOT_SHIFT,
    split,
)
from judge.backends.cpu.events import AccessEvent, Party
from judge.records import Diagnosis, DiagnosisKind

_HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".inl")
_VERBS = {"read": "reads", "write": "writes", "atomic": "updates"}
_INT_SPAN = 1 << 32


@dataclass(frozen=True)
class Place:
    """Memory an address belongs to, in the user's words.

    offset: byte offset from its start, negative before it. element_bytes and shape: as the user sees it.
    """

    name: str
    words: str
    offset: int
    size: int
    element_bytes: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Scene:
    """What the events of one launch are read against."""

    module: ir.Module
    lines: Sequence[str]
    labels: Mapping[int, BufferLabel]
    source_name: str | None


def diagnose(
    events: Iterable[AccessEvent],
    module: ir.Module,
    source: str,
    labels: Mapping[int, BufferLabel],
    source_name: str | None = None,
) -> list[Diagnosis]:
    """Diagnoses of a launch, in the order their sites first showed up.

    source: text whose line N is line N of the instructions' locations.
    labels: what each allocation slot is called.
    source_name: the submission's file name in locations; without it every file that is no header counts.
    """
    scene = _Scene(module, source.splitlines(), labels, source_name)
    sites: dict[tuple[DiagnosisKind, int | None, int, str | None, str, bool], Diagnosis] = {}
    for event in events:
        line = _line_of(module.kernels[event.kernel], event.instruction, source_name)
        diagnosis = _describe(event, line, scene)
        place = line if line is not None else event.instruction
        key = (diagnosis.kind, line, place, diagnosis.buffer, event.action, event.warning)
        known = sites.get(key)
        if known is not None:
            diagnosis = known.model_copy(update={"occurrences": known.occurrences + event.count})
        sites[key] = diagnosis
    return list(sites.values())


def source_line(
    kernel: ir.Kernel, instruction: int, source: str, source_name: str | None = None
) -> tuple[int | None, str | None]:
    """(1-based line, its stripped text) of an instruction, (None, None) where no location names the source."""
    line = _line_of(kernel, instruction, source_name)
    return line, _text_of(source.splitlines(), line)


def _line_of(kernel: ir.Kernel, instruction: int | None, source_name: str | None) -> int | None:
    """The innermost line of the submission: out of a header's helper to where the user called it."""
    if instruction is None or not 0 <= instruction < len(kernel.instructions):
        return None
    location = kernel.instructions[instruction].location
    while location is not None:
        if source_name is not None:
            own = location.file == source_name or location.file.endswith("/" + source_name)
        else:
            own = not location.file.endswith(_HEADER_SUFFIXES)
        if own and location.line > 0:
            return location.line
        location = location.inlined_at
    return None


def _text_of(lines: Sequence[str], line: int | None) -> str | None:
    if line is None or line > len(lines):
        return None
    return lines[line - 1].strip()


def _describe(event: AccessEvent, line: int | None, scene: _Scene) -> Diagnosis:
    kernel = scene.module.kernels[event.kernel]
    place = _place_of(event, kernel, scene) if event.space else None
    who = f"thread {_triple(event.thread)} of block {_triple(event.block)}"
    other = _other_words(event.other, kernel, scene.source_name)
    kind, message, hint = _words(event, place, who, other)
    return Diagnosis(
        kind=kind,
        message=message[0].upper() + message[1:],
        line=line,
        source=_text_of(scene.lines, line),
        kernel=readable_name(kernel.name),
        block=event.block,
        thread=event.thread,
        buffer=place.name if place else None,
        index=_index_of(place),
        occurrences=event.count,
        hint=hint,
        warning=event.warning,
    )


def _words(event: AccessEvent, place: Place | None, who: str, other: str) -> tuple[DiagnosisKind, str, str | None]:
    """(kind, sentence, hint) of an event."""
    detail = f": {event.detail}" if event.detail else ""
    match event.kind:
        case DiagnosisKind.OUT_OF_BOUNDS:
            return _out_of_bounds(event, place, who)
        case DiagnosisKind.MISALIGNED:
            where = f"byte {place.offset} of {place.words}" if place else f"address {event.address:#x}"
            sentence = f"{who} {_verb(event)} {event.size} bytes at {where}, which is not a multiple of {event.size}."
            return (
                event.kind,
                sentence,
                "A vector access such as float4 needs an address aligned to the whole vector; check the index and "
                "the row length, or load single elements.",
            )
        case DiagnosisKind.UNINITIALIZED:
            where = f"{_element(place)} of {place.words}" if place else "a variable"
            return (
                event.kind,
                f"{who} reads {where} before anything was written there{detail}.",
                "Give it a value on every path; if another thread writes it, a barrier must lie between.",
            )
        case DiagnosisKind.RACE:
            where = f"{_element(place)} of {place.words}" if place else "the same address"
            action = event.action or "access"
            return (
                event.kind,
                f"{who} and {other} touch {where} with nothing that orders them ({action} here).",
                "Put __syncthreads() between the two accesses, or make both atomic.",
            )
        case DiagnosisKind.DIVERGENT_BARRIER:
            return (
                event.kind,
                f"{who} waits at this barrier while {other or 'other threads of its block'} do not come to it{detail}.",
                "Every thread of the block must reach the same __syncthreads(); move it out of the if or loop. "
                "A warp-level call must name only lanes that execute it.",
            )
        case DiagnosisKind.DEADLOCK:
            return (
                event.kind,
                f"{who} waits for ever: no other thread of its block can run any more{detail}.",
                "Some threads wait at a barrier that the others never reach; let all of them reach it.",
            )
        case DiagnosisKind.ASSERT:
            return event.kind, f"{who} failed an assertion{detail}.", None
        case DiagnosisKind.TRAP:
            return event.kind, f"{who} stopped the kernel with a trap{detail}.", None
        case _:
            return event.kind, f"{event.kind.value.replace('_', ' ')} by {who}{detail}.", None


def _out_of_bounds(event: AccessEvent, place: Place | None, who: str) -> tuple[DiagnosisKind, str, str | None]:
    begin = f"{who} {_verb(event)} {event.size} byte{'s' if event.size != 1 else ''}"
    if place is None:
        if split(event.address)[0] == NULL_SLOT:
            return (
                event.kind,
                f"{begin} through a null pointer (address {event.address:#x}).",
                "A pointer argument is null or was never set; check the arguments of the launch line.",
            )
        return (
            event.kind,
            f"{begin} at address {event.address:#018x}, which lies in no buffer.",
            "The pointer was never set, or arithmetic on it overflowed.",
        )
    if place.size == 0:
        return event.kind, f"{begin} of {place.words}, which has no bytes.", "Give the launch enough shared bytes."
    distance = _distance(place, event.size)
    wrapped = _wrapped_offset(place)
    if wrapped is not None:
        return (
            DiagnosisKind.INT_OVERFLOW_ADDRESS,
            f"{begin} of {place.words}, {distance}; the index overflowed 32 bits (element "
            f"{wrapped // place.element_bytes} was meant).",
            "Compute the index in 64 bits: cast one factor to size_t or long long.",
        )
    hints = {
        "shared": "Check the index against the array's size, and the shared bytes of the launch line.",
        "local": "Check the loop bound against the array's size.",
    }
    guard = "Guard the access with the size: the last block is usually only partly filled."
    return event.kind, f"{begin} of {place.words}, {distance}{_extent(place)}.", hints.get(event.space, guard)


def _verb(event: AccessEvent) -> str:
    return _VERBS.get(event.action, "accesses")


def _distance(place: Place, size: int) -> str:
    """How far outside the place the access lies, counted in elements."""
    unit = place.element_bytes
    if place.offset < 0:
        return _count(-(place.offset // unit), "element") + " before its start"
    if place.offset < place.size:
        inside = place.size - place.offset
        return f"{size - inside} of them past its end"
    return _count((place.offset - place.size) // unit + 1, "element") + " past its end"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _extent(place: Place) -> str:
    elements = place.size // place.element_bytes
    if len(place.shape) > 1:
        return f" (shape {'x'.join(map(str, place.shape))}, {_count(elements, 'element')})"
    return f" ({_count(elements, 'element')} of {_count(place.element_bytes, 'byte')})"


def _element(place: Place) -> str:
    index = _index_of(place)
    return "element [" + "][".join(map(str, index)) + "]" if index else f"byte {place.offset}"


def _wrapped_offset(place: Place) -> int | None:
    """The byte offset meant when a 32-bit index wrapped around; None when that explains nothing."""
    for meant in (place.offset + _INT_SPAN * place.element_bytes, place.offset + _INT_SPAN):
        if place.offset < 0 and 0 <= meant < place.size:
            return meant
    return None


def _index_of(place: Place | None) -> tuple[int, ...] | None:
    """Index in the place's own shape when inside it, else the flat element number."""
    if place is None:
        return None
    flat = place.offset // place.element_bytes
    if not 0 <= place.offset < place.size or not place.shape:
        return (flat,)
    index = []
    for extent in reversed(place.shape):
        index.append(flat % extent)
        flat //= extent
    return tuple(reversed(index))


def _place_of(event: AccessEvent, kernel: ir.Kernel, scene: _Scene) -> Place | None:
    module = scene.module
    match event.space:
        case "global":
            return _global_place(event, module, scene.labels)
        case "shared":
            return _shared_place(event, kernel)
        case "local":
            return _variable_place(event, kernel.local, "local variable", kernel.local_bytes)
        case "const":
            return _variable_place(event, module.constants, "constant", module.constant_bytes)
        case _:
            limit = event.limit or 0
            return Place("parameters", "the kernel's parameters", event.address, limit, 1, (limit,))


def _global_place(event: AccessEvent, module: ir.Module, labels: Mapping[int, BufferLabel]) -> Place | None:
    slot, offset = split(event.address)
    if offset > OFFSET_MASK >> 1:
        # A negative distance borrows from the tag: the access belongs to the slot above.
        slot, offset = (slot + 1) & ((1 << (64 - SLOT_SHIFT)) - 1), offset - (1 << SLOT_SHIFT)
    if slot == MODULE_SLOT:
        return _variable_place(event, module.globals_, "device variable", module.global_bytes, offset)
    label = labels.get(slot)
    if label is None:
        return None
    elements = 1
    for extent in label.shape:
        elements *= extent
    words = f"{label.role} {label.name}" if label.role == "workspace" else label.name
    return Place(label.name, words, offset, elements * label.element_bytes, label.element_bytes, label.shape)


def _shared_place(event: AccessEvent, kernel: ir.Kernel) -> Place:
    offset = event.address
    dynamic = next((v for v in kernel.shared if v.size == 0), None)
    dynamic_start = -(-kernel.shared_static_bytes // 16) * 16
    limit = event.limit or 0
    if dynamic is not None and offset >= dynamic_start:
        name = readable_name(dynamic.name)
        size = max(limit - dynamic_start, 0)
        unit = max(event.size, 1)
        return Place(
            name, f"dynamic shared memory {name}", offset - dynamic_start, size - size % unit, unit, (size // unit,)
        )
    return _variable_place(event, kernel.shared, "shared array", limit)


def _variable_place(
    event: AccessEvent, variables: Sequence[ir.Variable], words: str, block_bytes: int, offset: int | None = None
) -> Place:
    """The variable an offset belongs to: the last one that starts at or before it."""
    offset = event.address if offset is None else offset
    unit = max(event.size, 1)
    owner = None
    for variable in sorted(variables, key=lambda v: v.offset):
        if variable.size and (variable.offset <= offset or owner is None):
            owner = variable
    if owner is None:
        return Place(words, f"the {words}s of this kernel", offset, block_bytes, unit, (block_bytes // unit,))
    if owner.size % unit:
        unit = 1
    name = readable_name(owner.name)
    return Place(name, f"{words} {name}", offset - owner.offset, owner.size, unit, (owner.size // unit,))


def _other_words(other: Party | None, kernel: ir.Kernel, source_name: str | None) -> str:
    if other is None:
        return ""
    line = _line_of(kernel, other.instruction, source_name)
    where = f" ({other.action} at line {line})" if line is not None else f" ({other.action})"
    return f"thread {_triple(other.thread)} of block {_triple(other.block)}{where}"


def _triple(coordinates: tuple[int, int, int]) -> str:
    return "({}, {}, {})".format(*coordinates)


def readable_name(symbol: str) -> str:
    """The last identifier of a mangled name: `_ZZ4flashPfE4tile` gives `tile`, `_Z5flashILi64EEvPf` gives `flash`."""
    if not symbol.startswith("_Z"):
        return symbol
    head = symbol[2:]
    if head.startswith("Z"):
        inner = _last_local_name(head)
        if inner is not None:
            return inner
    names = []
    position = re.match(r"[NKLS]*", head).end()  # type: ignore[union-attr]
    while (match := re.match(r"\d+", head[position:])) is not None:
        start = position + match.end()
        position = start + int(match.group())
        names.append(head[start:position])
    return names[-1] if names and names[-1] else symbol


def _last_local_name(mangled: str) -> str | None:
    """The name behind the last `E<length>` whose length fits what follows it."""
    for match in reversed(list(re.finditer(r"E(\d+)", mangled))):
        digits = match.group(1)
        length = int(digits)
        name = mangled[match.end() : match.end() + length]
        if len(name) == length and re.fullmatch(r"[A-Za-z_]\w*", name):
            return name
    return None
