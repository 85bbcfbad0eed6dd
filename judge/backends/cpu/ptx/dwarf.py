"""What the debug sections of `-G` PTX know: who called an expanded function, and how local variables are called.

With -G a `.loc` inside an expanded function names that function's line and not who called it; only
the DWARF entries of tag inlined_subroutine know. They carry two labels of the code, a file and a
line. Entries of variables in local memory carry an offset in their function's block and a name. That
is all that is read here, from the text of the sections.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from judge.backends.cpu.ir import Kernel, Location, Variable
from judge.backends.cpu.ptx.routine import Routine
from judge.backends.cpu.ptx.syntax import InlinedRange

MAX_RANGES = 20_000
MAX_CHAIN = 32
_MAX_STEPS = 4_000_000

_INLINED_SUBROUTINE = 0x1D
_ORIGIN, _LOW_PC, _HIGH_PC, _CALL_FILE, _CALL_LINE = 0x31, 0x11, 0x12, 0x58, 0x59
_DATA1, _DATA2 = 0x0B, 0x05
# The bytes after the labels are looked at, not taken: an entry of the same kind may follow at once.
_ENTRY = re.compile(
    r"\.b8[ \t]+(\d{1,3})\s+\.b32[ \t]+\d+\s+\.b64[ \t]+(\$[\w$]+)\s+\.b64[ \t]+(\$[\w$]+)\s+"
    r"(?=\.b8[ \t]+([\d,]+)\s+\.b8[ \t]+([\d,]+)(?:\s+\.b8[ \t]+([\d,]+))?)",
    re.ASCII,
)
_BYTES = re.compile(r"\.b8[ \t]+([\d, ]+)", re.ASCII)

# DW_OP_addr BLOCK, DW_OP_plus_uconst OFFSET, then the variable's name.
_LOCAL = re.compile(
    r"\.b8[ \t]+3\s+\.b64[ \t]+(__local_depot\w+)\s+\.b8[ \t]+35\s+"
    r"\.b8[ \t]+([\d, ]+)\s+\.b8[ \t]+([\d, ]+)\s+\.b8[ \t]+0\s",
    re.ASCII,
)
MAX_LOCAL_NAMES = 10_000


def local_names(entries: str) -> dict[str, dict[int, str]]:
    """Names of the variables of each local block, by their offset in it. entries: text of .debug_info."""
    found: dict[str, dict[int, str]] = {}
    for count, match in enumerate(_LOCAL.finditer(entries)):
        if count == MAX_LOCAL_NAMES:
            break
        offset = _uleb128(iter([*_octets(match[2]), 0]))
        name = bytes(_octets(match[3]))
        if name.isascii():
            found.setdefault(match[1], {})[offset] = name.decode()
    return found


def name_locals(kernel: Kernel, names: Mapping[str, Mapping[int, str]]) -> Kernel:
    """The kernel with each local block of the compiler's divided into the variables in it."""
    divided: list[Variable] = []
    for block in kernel.local:
        inside = {o: n for o, n in names.get(block.name.partition("#")[0], {}).items() if o < block.size}
        starts = sorted(inside)
        if not starts:
            divided.append(block)
            continue
        if starts[0] > 0:
            divided.append(replace(block, size=starts[0]))
        for start, end in zip(starts, [*starts[1:], block.size], strict=True):
            divided.append(replace(block, name=inside[start], offset=block.offset + start, size=end - start))
    return replace(kernel, local=tuple(divided))


def inlined_ranges(abbreviations: str, entries: str, files: dict[int, str]) -> list[InlinedRange]:
    """The expanded calls of a module, callers before what was expanded into them.

    abbreviations, entries: text of .debug_abbrev and .debug_info. What is not understood is left out.
    """
    line_bytes = _call_line_bytes(abbreviations)
    found: list[InlinedRange] = []
    for match in _ENTRY.finditer(entries):
        size = line_bytes.get(int(match[1]))
        if size is None:
            continue
        values = [byte for group in match.groups()[3:] if group for byte in _octets(group)]
        if len(values) <= size:
            continue
        line = values[1] | (values[2] << 8 if size == 2 else 0)
        found.append(InlinedRange(match[2], match[3], Location(files.get(values[0], f"file {values[0]}"), line, 0)))
        if len(found) == MAX_RANGES:
            break
    return found


def _call_line_bytes(abbreviations: str) -> dict[int, int]:
    """Bytes of the call line (1 or 2), by the code of each abbreviation that says where it was called."""
    data = iter([byte for group in _BYTES.findall(abbreviations) for byte in _octets(group)])
    sizes: dict[int, int] = {}
    try:
        while code := _uleb128(data):
            tag = _uleb128(data)
            next(data)
            attributes: list[tuple[int, int]] = []
            while (pair := (_uleb128(data), _uleb128(data))) != (0, 0):
                attributes.append(pair)
            names = [name for name, _ in attributes[:5]]
            if tag == _INLINED_SUBROUTINE and names == [_ORIGIN, _LOW_PC, _HIGH_PC, _CALL_FILE, _CALL_LINE]:
                forms = [form for _, form in attributes[3:5]]
                if forms[0] == _DATA1 and forms[1] in (_DATA1, _DATA2):
                    sizes[code] = 1 if forms[1] == _DATA1 else 2
    except StopIteration:
        return sizes
    return sizes


def _octets(text: str) -> list[int]:
    """The bytes of a `.b8` line. Inline assembly writes what it likes, so larger figures count as the largest byte."""
    return [min(int(digits), 255) if len(digits) <= 3 else 255 for digits in re.findall(r"\d+", text, re.ASCII)]


def _uleb128(data: Iterator[int]) -> int:
    value = shift = 0
    while True:
        byte = next(data)
        value |= (byte & 0x7F) << min(shift, 63)
        shift += 7
        if byte < 0x80:
            return value


def chain_inlined(routine: Routine, ranges: list[InlinedRange]) -> None:
    """Put each expanded call at the end of the chains of the instructions it covers."""
    steps = 0
    # Innermost first: every caller goes behind what it called.
    for inlined in reversed(ranges):
        start, end = routine.labels.get(inlined.start), routine.labels.get(inlined.end)
        if start is None or end is None:
            continue
        steps += end - start
        if steps > _MAX_STEPS:
            return
        # Neighbors share one Location object; the old one is kept so that its id stays its own.
        known: dict[int, tuple[Location, Location]] = {}
        for item in routine.items[start:end]:
            old = item.location
            if old is not None:
                if id(old) not in known:
                    known[id(old)] = (old, _lengthened(old, inlined.call))
                item.location = known[id(old)][1]


def _lengthened(location: Location, call: Location) -> Location:
    chain = [location]
    while chain[-1].inlined_at is not None:
        chain.append(chain[-1].inlined_at)
    if len(chain) >= MAX_CHAIN:
        return location
    for place in reversed(chain):
        call = Location(place.file, place.line, place.column, call)
    return call
