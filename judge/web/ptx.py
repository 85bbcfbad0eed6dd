"""The PTX that was judged, beside the source lines it came from, as long as the compiler's cache holds it.

Nothing is compiled here: a page must cost nothing but a look. What the CPU backend runs is unoptimized (-G), so that
every access of the source is in it; a GPU runs other code (judge.web.sass).
"""

import re

from judge.compiler import CPU_ARCH, Target
from judge.compiler.compile import kept_compilation
from judge.submission.unit import SOURCE_NAME, TranslationUnit
from judge.web.listing import KernelCode, lay_out

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_PLACE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_INSTRUCTION = re.compile(r"\s+(?:@!?%p\d+\s+)?[a-z]")


def kept_ptx(unit: TranslationUnit, wanted: str) -> KernelCode | None:
    """The PTX of a kernel, of the first one where there is none called wanted; None where it is not kept."""
    found = kept_compilation(unit, Target(kind="ptx", arch=CPU_ARCH, mode="debug"))
    if found is None or not found.ok or not found.lowered:
        return None
    names = list(found.lowered)
    name = wanted if wanted in names else names[0]
    at = instructions_by_line(found.image.decode("utf-8", "replace"), found.lowered[name])
    return lay_out(name, names, unit.submission.source, at)


def instructions_by_line(ptx: str, symbol: str) -> dict[int, list[str]]:
    """Instructions of an entry by the line of the submission they came from; under 0 those of other files."""
    own: set[str] = set()
    at: dict[int, list[str]] = {}
    line, inside = 0, False
    entry = re.compile(rf"\.entry\s+{re.escape(symbol)}\b")
    for text in ptx.split("\n"):
        file = _FILE.match(text)
        if file and file[2].lstrip("/") == SOURCE_NAME:
            own.add(file[1])
    for text in ptx.split("\n"):
        if not inside:
            inside = entry.search(text) is not None
        elif text.startswith("}"):
            break
        elif place := _PLACE.match(text):
            line = int(place[2]) if place[1] in own else 0
        elif _INSTRUCTION.match(text) and text.rstrip().endswith(";"):
            at.setdefault(line, []).append(" ".join(text.split()))
    return at
