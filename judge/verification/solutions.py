"""The model solutions of a problem, in the order in which each takes a step over the one before.

    submissions/accepted/*.cu   the kernels; the comment at the head says what was added and what was measured
    ladder.txt                  their names in order, a line each

Page, `judge solution` and docs/ladders.md all go by ladder.txt. Without one a kernel called plain comes first.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

LADDER_FILE = "ladder.txt"
_FIRST = "plain"
_OBVIOUS = 2
"""Up to so many kernels need no ladder.txt."""

_DIRECTIVE = re.compile(r"(problem|expect-[a-z]+|needs-gpu):|@")
_LABEL = re.compile(r"(Added over [\w.]+|Predicted|Measured):\s*")

Kind = Literal["text", "item", "added", "predicted", "measured"]


@dataclass(frozen=True)
class Remark:
    """A piece of a head comment, as one line. kind "item": of the list of what was added."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Solution:
    """A model solution. name: that of its file without the ending."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def remarks(self) -> Sequence[Remark]:
        """What its head comment says; empty where it has none."""
        return read_remarks(self.source)

    @property
    def about(self) -> str:
        """What it is, in a sentence or two; empty where it does not say."""
        return next((one.text for one in self.remarks[:1] if one.kind == "text"), "")

    @property
    def measured(self) -> str:
        """What was measured; empty where that is not said."""
        return next((one.text for one in self.remarks if one.kind == "measured"), "")


def model_solutions(folder: Path) -> list[Solution]:
    """All of a problem's folder: those in ladder.txt in its order, then the others by name, plain before them."""
    found = {path.stem: path for path in sorted((folder / "submissions" / "accepted").glob("*.cu"))}
    ladder = read_ladder(folder) or [_FIRST]
    order = [name for name in dict.fromkeys(ladder) if name in found]
    return [Solution(found[name]) for name in (*order, *(name for name in found if name not in order))]


def read_ladder(folder: Path) -> list[str] | None:
    """The names in ladder.txt; None where there is no such file."""
    path = folder / LADDER_FILE
    return path.read_text(encoding="utf-8").split() if path.is_file() else None


def ladder_faults(folder: Path) -> Iterator[str]:
    """What is wrong with ladder.txt, each as a sentence."""
    names = {path.stem for path in (folder / "submissions" / "accepted").glob("*.cu")}
    ladder = read_ladder(folder)
    if ladder is None:
        if len(names) > _OBVIOUS:
            yield f"{LADDER_FILE} is missing: it names the {len(names)} accepted kernels, the simplest first"
        return
    yield from (f"{LADDER_FILE} names {name}, which is no accepted kernel" for name in ladder if name not in names)
    yield from (f"{LADDER_FILE} does not name {name}" for name in sorted(names - set(ladder)))
    twice = sorted({name for name in ladder if ladder.count(name) > 1})
    yield from (f"{LADDER_FILE} names {name} more than once" for name in twice)


def read_remarks(source: str) -> Sequence[Remark]:
    """The prose at the head of a kernel, taken apart at empty lines, list items and labels."""
    remarks: list[Remark] = []
    ended = True
    for line in source.splitlines():
        text = line.strip()
        if not text.startswith("//"):
            if remarks or text:
                break
            continue
        text = text.removeprefix("//")
        indented = text.startswith("  ")
        text = text.strip()
        if _DIRECTIVE.match(text):
            continue
        begun = _begun(text)
        if not text:
            ended = True
        elif begun is not None:
            remarks.append(begun)
            ended = False
        elif ended or remarks[-1].kind == "added" or (remarks[-1].kind == "item" and not indented):
            remarks.append(Remark("text", text))
            ended = False
        else:
            remarks[-1] = Remark(remarks[-1].kind, f"{remarks[-1].text} {text}".strip())
    return tuple(remarks)


def _begun(text: str) -> Remark | None:
    """The remark that begins with this line; None where it goes on with the one before."""
    if text.startswith("- "):
        return Remark("item", text[2:])
    label = _LABEL.match(text)
    if label is None:
        return None
    rest = text[label.end() :]
    if label[1] == "Predicted":
        return Remark("predicted", rest)
    return Remark("measured", rest) if label[1] == "Measured" else Remark("added", label[0].strip())
