"""The bug zoo: small kernels with one planted bug each, and right ones that look dangerous.

A file of tests/zoo/bugs, tests/zoo/right, tests/zoo/orders or tests/zoo/limits defines

    extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n)

with `in` n floats (values 1..n), `out` and `ws` n floats that nobody has written. Its lines may say

    // launch <<<4, 64>>> n=250   grid and block as integers or (x, y, z); shared=BYTES adds dynamic shared memory
    // says TEXT                  words of the first message about a bug
    // known miss: REASON         what should be told and is not, or the other way round: a failure that is expected
    // warnings 1                 how many warnings a right kernel gets
    // out EXPRESSION             what a right kernel writes, as NumPy: x the input, i = 0..n-1, b = i // 64, n, np

A bug's line ends in `// BUG kind`, with the kind of the diagnosis; lines that may be told as well, such as
the other line of a race, end in `// OTHER`, and those a bug has further faults at in `// ALSO kind`. A kind with a
question mark (`race?`) stands for a warning. The loop of a kernel that never ends is marked `// HOT`. A kernel of
tests/zoo/orders has no fault but that its `// out` comes out only where blocks and warps run as numbered.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

ZOO = Path(__file__).parent
LAUNCH = re.compile(r"// launch <<<\s*(\([^)]*\)|\d+)\s*,\s*(\([^)]*\)|\d+)\s*>>>(?:\s+n=(\d+))?(?:\s+shared=(\d+))?")
MARK = re.compile(r"// (BUG|ALSO) (\w+)(\??)")


@dataclass(frozen=True)
class Mark:
    """A planted fault: its kind, 1-based line, and whether it is a warning."""

    kind: str
    line: int
    mild: bool


@dataclass(frozen=True)
class Specimen:
    """A file of the zoo.

    bug: the planted one (None in a right kernel). others: lines that may be told in its place; also: what
    follows from it. hot: lines of a loop that never ends. out: NumPy expression of a right kernel's output.
    """

    path: Path
    source: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    n: int
    shared_bytes: int
    bug: Mark | None
    others: frozenset[int]
    also: tuple[Mark, ...]
    hot: frozenset[int]
    warnings: int
    says: str
    known_miss: str
    out: str

    @property
    def verdict(self) -> str | None:
        """The verdict this kernel should get from the device, None when it runs to its end."""
        if self.hot:
            return "time_limit"
        if self.bug is None or self.bug.mild:
            return None
        return "runtime_error" if self.bug.kind in ("trap", "assert") else "undefined_behavior"

    def expected_output(self) -> np.ndarray:
        """What a right kernel writes, float64 [n]."""
        i = np.arange(self.n)
        names = {"np": np, "x": i + 1.0, "i": i, "b": i // 64, "n": self.n}
        return np.broadcast_to(np.asarray(eval(self.out, names), np.float64), (self.n,))


def _extent(text: str) -> tuple[int, int, int]:
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _note(source: str, words: str) -> str:
    found = re.search(rf"^// {words} (.+)$", source, re.MULTILINE)
    return found[1].strip() if found else ""


def read_specimen(path: Path) -> Specimen:
    source = path.read_text()
    launch = LAUNCH.search(source)
    grid, block, n, shared = launch.groups() if launch else ("4", "64", None, None)
    marks = {"BUG": list[Mark](), "ALSO": list[Mark]()}
    lines = source.splitlines()
    for number, text in enumerate(lines, start=1):
        for role, kind, mild in MARK.findall(text):
            marks[role].append(Mark(kind, number, bool(mild)))
    assert len(marks["BUG"]) <= 1, f"{path.name} plants more than one bug"
    ends = {word: frozenset(k for k, t in enumerate(lines, 1) if t.endswith(f"// {word}")) for word in ("OTHER", "HOT")}
    return Specimen(
        path,
        source,
        _extent(grid),
        _extent(block),
        int(n or 250),
        int(shared or 0),
        marks["BUG"][0] if marks["BUG"] else None,
        ends["OTHER"],
        tuple(marks["ALSO"]),
        ends["HOT"],
        int(_note(source, "warnings") or 0),
        _note(source, "says"),
        _note(source, "known miss:"),
        _note(source, "out"),
    )


def specimens(folder: str) -> Iterator[Specimen]:
    for path in sorted((ZOO / folder).glob("*.cu")):
        yield read_specimen(path)


def include_folders() -> list[str]:
    spec = find_spec("nvidia")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    roots = [Path(root) / "cu13" / "include" for root in spec.submodule_search_locations]
    found = [folder for root in roots for folder in (root, root / "cccl") if folder.is_dir()]
    return [f"-I{folder}" for folder in (*found, ZOO.parent.parent / "judge" / "compiler" / "include")]
