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
from judge.backends.cpu.addresses import MODULE_SLOT, OFFSET_MASK, SLOT_SHIFT, split
from judge.backends.cpu.events import AccessEvent, Party
from judge.backends.cpu.sentences import OtherSide, Place, tell
from judge.records import Diagnosis, DiagnosisKind

_WIDTH = {"": 0, "warp": 1, "block": 2, "grid": 3}
"""Of several races at one pair of lines the one between the most distant threads says what is needed."""

_UNNAMED_LOCALS = "__local_depot"
"""PTX has one block for all local arrays of a function, and no names in it."""

_HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".inl")


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
    sites: dict[tuple[DiagnosisKind, int, str | None, str, bool], Diagnosis] = {}
    widths: dict[tuple[DiagnosisKind, int, str | None, str, bool], int] = {}
    racing: dict[tuple[str | None, int], tuple[int, int]] = {}
    mild: dict[tuple[str | None, int], tuple[int, int]] = {}
    copied: set[tuple[DiagnosisKind, int, str | None, str, bool]] = set()
    for event in sorted(events, key=lambda e: e.warning):
        kernel = module.kernels[event.kernel]
        line = line_of(kernel, event.instruction, source_name)
        diagnosis = _describe(event, line, scene)
        place = line if line is not None else event.instruction
        key = (diagnosis.kind, place, diagnosis.buffer, event.action, event.warning)
        if event.kind is DiagnosisKind.RACE and event.other is not None:
            # The two sides of a race find each other; the one seen first speaks for both.
            met = line_of(kernel, event.other.instruction, source_name)
            other_place = met if met is not None else event.other.instruction or 0
            known_pairs = mild if event.warning else racing
            pair = known_pairs.setdefault((diagnosis.buffer, place), (place, other_place))
            known_pairs.setdefault((diagnosis.buffer, other_place), pair)
            key = (diagnosis.kind, pair[0], diagnosis.buffer, "", event.warning)
        known = sites.get(key)
        if known is not None:
            wider = _WIDTH[event.other.scope if event.other else ""] > widths[key]
            speaks = diagnosis if wider else known
            diagnosis = speaks.model_copy(update={"occurrences": known.occurrences + event.count})
        widths[key] = max(widths.get(key, 0), _WIDTH[event.other.scope if event.other else ""])
        sites[key] = diagnosis
        if event.space == "local" or event.other is not None:
            copied.add(key)
    parted = any(d.kind is DiagnosisKind.DIVERGENT_BARRIER and not d.warning for d in sites.values())
    return [
        d
        for key, d in sites.items()
        if not _follows_from_race(d, racing, may_be_copy=key in copied)
        # Threads that met different barriers end at different times: that is the same fault again.
        and not (parted and d.kind is DiagnosisKind.DIVERGENT_BARRIER and d.warning)
    ]


def _follows_from_race(
    diagnosis: Diagnosis, racing: Mapping[tuple[str | None, int], tuple[int, int]], *, may_be_copy: bool
) -> bool:
    """Whoever reads too early in a race reads what nobody has written yet: that is the race again.

    racing: the places of proved races. Where one lies, writes that change nothing are no news either.
    may_be_copy: what was read may have been copied from where somebody read too early.
    """
    if racing and may_be_copy and diagnosis.kind is DiagnosisKind.UNINITIALIZED:
        return True
    known = diagnosis.line is not None and (diagnosis.buffer, diagnosis.line) in racing
    return known and (
        diagnosis.kind is DiagnosisKind.UNINITIALIZED or (diagnosis.kind is DiagnosisKind.RACE and diagnosis.warning)
    )


def source_line(
    kernel: ir.Kernel, instruction: int, source: str, source_name: str | None = None
) -> tuple[int | None, str | None]:
    """(1-based line, its stripped text) of an instruction, (None, None) where no location names the source."""
    line = line_of(kernel, instruction, source_name)
    return line, _text_of(source.splitlines(), line)


def line_of(kernel: ir.Kernel, instruction: int | None, source_name: str | None) -> int | None:
    """The innermost line of the submission: out of a header's helper to where the user called it."""
    if instruction is None or not 0 <= instruction < len(kernel.instructions):
        return None
    return own_line(kernel.instructions[instruction].location, source_name)


def own_line(location: ir.Location | None, source_name: str | None) -> int | None:
    """The submission's line of a location: its own, or where the header's function was called."""
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
    told = tell(event, place, _other_side(event.other, kernel, line, scene.source_name))
    return Diagnosis(
        kind=told.kind,
        message=told.message[0].upper() + told.message[1:],
        line=line,
        source=_text_of(scene.lines, line),
        kernel=readable_name(kernel.name),
        block=event.block,
        thread=event.thread,
        buffer=place.name if place else None,
        index=place.index if place else None,
        occurrences=event.count,
        hint=told.hint,
        warning=event.warning,
    )


def _other_side(other: Party | None, kernel: ir.Kernel, line: int | None, source_name: str | None) -> OtherSide | None:
    if other is None:
        return None
    there = line_of(kernel, other.instruction, source_name)
    return OtherSide(other, there, there is not None and there == line)


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
    if name.startswith(_UNNAMED_LOCALS):
        name = words = "local variable" if owner.size == unit else "local array"
    elif owner.size == unit and words == "shared array":
        words = f"shared variable {name}"
    else:
        words = f"{words} {name}"
    return Place(name, words, offset - owner.offset, owner.size, unit, (owner.size // unit,))


def readable_name(symbol: str) -> str:
    """The last identifier of a mangled name: `_ZZ4flashPfE4tile` gives `tile`, `_Z5flashILi64EEvPf` gives `flash`."""
    if not symbol.startswith("_Z"):
        return symbol
    head = symbol[2:]
    if head.startswith("Z"):
        inner = _last_local_name(head)
        if inner is not None:
            return inner
    names: list[str] = []
    prefix = re.match(r"[NKLS]*", head)
    assert prefix is not None
    position = prefix.end()
    # Only a nested name goes on; what follows a plain one are the types of its parameters.
    while (not names or "N" in prefix[0]) and (match := re.match(r"\d+", head[position:])) is not None:
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
