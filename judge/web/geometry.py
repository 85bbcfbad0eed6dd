"""What the launch lines of a source come to in a case: grid, block, threads, shared bytes and the most occupancy.

A preview while typing, computed from the text alone; the compiler has the last word when it is judged.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.compiler.occupancy import limits_of, occupancy
from judge.errors import SubmissionError
from judge.problem import Case, Problem
from judge.submission.brackets import Unbalanced, top_level
from judge.submission.model import Expression, LaunchLine
from judge.submission.read import read_submission
from judge.web.expressions import Unknown, evaluate

ARCH = "sm_90"
MAX_THREADS, MAX_GRID, MAX_BLOCK = 1024, (2**31 - 1, 65535, 65535), (1024, 1024, 64)
_CONSTANT = re.compile(
    # Blanks only, never line ends: else every line of a long file could be looked at from every line before it.
    r"^[ \t]*+(?:(?:static|inline|__device__)[ \t]++)*+(?:constexpr|const)[ \t]++(?:static[ \t]++)?+"
    r"(?:unsigned[ \t]++)?"
    r"(?:int|unsigned|size_t|long|bool|uint32_t)[ \t]++(?P<name>\w++)[ \t]*+=(?P<value>[^;,{}\n]{1,200});"
    r"|^[ \t]*+#[ \t]*+define[ \t]++(?P<macro>\w++)[ \t]++(?P<text>[^\n/]{1,200})",
    re.MULTILINE,
)
_DIM3 = re.compile(r"\s*dim3\s*[({](.*)[)}]\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class LaunchPreview:
    """One launch. Figures are None where only the compiler knows them; unknown says which and why."""

    text: str
    line: int | None
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    shared_bytes: int | None
    unknown: Sequence[str]
    refused: Sequence[str]
    resident_blocks: int | None = None
    occupancy: float | None = None
    limited_by: Sequence[str] = ()

    @property
    def blocks(self) -> int | None:
        return None if self.grid is None else math.prod(self.grid)

    @property
    def threads(self) -> int | None:
        """Of one block."""
        return None if self.block is None else math.prod(self.block)


@dataclass(frozen=True)
class Preview:
    launches: Sequence[LaunchPreview] = ()
    default: bool = False
    error: str | None = None
    line: int | None = None


def preview(source: str, problem: Problem, case: Case) -> Preview:
    """The launches of a source in a case; the reason instead where its launch lines cannot be read."""
    try:
        submission = read_submission(source.encode("utf-8", "replace"), "preview.cu", problem)
    except SubmissionError as error:
        return Preview(error=str(error), line=error.line)
    names = _constants(submission.device_source, _parameters(case.parameters))
    launches = [_launch(line, names) for line in submission.launches]
    return Preview(launches, submission.default_launch)


def _parameters(values: Mapping[str, int | float | bool]) -> dict[str, int]:
    return {name: int(value) for name, value in values.items() if not isinstance(value, float)}


def _constants(source: str, names: dict[str, int]) -> dict[str, int]:
    """Parameters and what the file itself calls a number, in its order."""
    known = dict(names)
    for found in list(_CONSTANT.finditer(source))[:200]:
        name, text = found["name"] or found["macro"], found["value"] or found["text"]
        try:
            known.setdefault(name, evaluate(text, known))
        except (Unknown, RecursionError):
            continue
    return known


def _launch(line: LaunchLine, names: Mapping[str, int]) -> LaunchPreview:
    unknown: list[str] = []
    grid = _dimensions("grid", line.grid, names, unknown)
    block = _dimensions("block", line.block, names, unknown)
    shared: int | None = 0
    if line.shared is not None:
        shared = _value("shared bytes", line.shared.text, names, unknown)
    refused = list(_refusals(grid, block, shared))
    resident = None
    if block is not None and shared is not None and not refused:
        # Registers and static arrays are the compiler's to say: with none of them this is the most there can be.
        resident = occupancy(0, shared, math.prod(block), ARCH)
    return LaunchPreview(
        line.text,
        line.line,
        grid,
        block,
        shared,
        unknown,
        refused,
        resident.blocks if resident else None,
        resident.share if resident else None,
        resident.limited_by if resident else (),
    )


def _dimensions(
    what: str, expression: Expression, names: Mapping[str, int], unknown: list[str]
) -> tuple[int, int, int] | None:
    found = _DIM3.match(expression.text)
    inside = found[1] if found else expression.text
    try:
        parts = [inside[a:b] for a, b in top_level(inside, 0, len(inside))] if found else [inside]
    except Unbalanced:
        parts = []
    if not 1 <= len(parts) <= 3:
        unknown.append(f"{what}: dim3 has one to three numbers")
        return None
    values = [_value(what, text, names, unknown) for text in parts]
    if any(value is None for value in values):
        return None
    x, y, z = ([value for value in values if value is not None] + [1, 1])[:3]
    return x, y, z


def _value(what: str, text: str, names: Mapping[str, int], unknown: list[str]) -> int | None:
    try:
        return evaluate(text, names)
    except Unknown as reason:
        unknown.append(f"{what}: {reason}")
    except RecursionError:
        unknown.append(f"{what}: nested too deeply for a preview")
    return None


def _refusals(
    grid: tuple[int, int, int] | None, block: tuple[int, int, int] | None, shared: int | None
) -> Sequence[str]:
    found = []
    for what, given, limits in (("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)):
        for axis, value, limit in zip("xyz", given or (), limits, strict=False):
            if not 1 <= value <= limit:
                found.append(f"{what}.{axis} is {value}; it must be 1 to {limit}")
    if block is not None and math.prod(block) > MAX_THREADS:
        found.append(f"a block has {math.prod(block)} threads; at most {MAX_THREADS} are allowed")
    limits_here = limits_of(ARCH)
    if shared is not None and limits_here is not None and not 0 <= shared <= limits_here.block_shared_bytes:
        found.append(f"{shared} bytes of shared memory; a block may have {limits_here.block_shared_bytes} on {ARCH}")
    return found
