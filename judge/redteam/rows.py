"""Reads the catalogue: every row with what is submitted and what must come of it.

A row gives a whole `source`, or a `recipe` that builds one, or `head`, `body` and `launch` of the frame below.
`each` makes a row of every spelling it lists, put in place of @EACH@.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judge.errors import MachineError
from judge.redteam import large, odd  # noqa: F401 - imported for the recipes in them
from judge.redteam.recipes import RECIPES
from judge.verdict import Verdict

FOLDER = Path(__file__).parent / "catalogue"
HONEST_LAUNCH = "k<<<1, 64>>>(x, out, N, factor)"
HONEST_BODY = "out[i] = factor * x[i];"
_FRAME = """\
// @launch {launch}
{head}
__global__ void k(const float* x, float* out, int N, float factor) {{
  const int i = threadIdx.x;
  {body}
}}
"""
_TIMED_FRAME = """\
// @launch k<<<(N + 255) / 256, 256>>>(x, out, N, factor)
{head}
__global__ void k(const float* x, float* out, int N, float factor) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  {body}
}}
"""

Backend = Literal["cpu", "cuda"]
Verdicts = Annotated[tuple[Verdict, ...], Field(min_length=1)]


class _Entry(BaseModel):
    """A row as the file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    tries: Annotated[str, Field(min_length=8)]
    expect: Verdicts
    cuda: tuple[Verdict, ...] = ()
    says: tuple[str, ...] = ()
    cuda_says: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    longest_s: Annotated[float, Field(gt=0)] = 4.0
    time_limit_s: Annotated[float, Field(gt=0)] = 2.0
    hurried: bool = False
    timed: bool = False
    each: tuple[str, ...] = ("",)
    source: str | None = None
    recipe: str | None = None
    head: str = ""
    body: str = HONEST_BODY
    launch: str = HONEST_LAUNCH
    known: str = ""


@dataclass(frozen=True)
class Row:
    """One hostile submission.

    id: stable; file and row, with a number where the row has several spellings. tries: what it is after.
    source: may hold @CANARY@ and @FIFO@, paths on the machine that a run puts in. expect: verdicts that are
    right on the CPU backend; cuda: on a GPU, empty where the row is not for one. says: texts the report must
    have; cuda_says: that it must have on a GPU as well. forbid: texts nothing may have. longest_s: from
    submission to report on a quiet machine. hurried: the compiler gets a tenth of its usual time and memory.
    known: why the row does not hold yet, else empty. first: the first spelling of its row. timed: on a GPU a
    large case is timed too.
    """

    id: str
    tries: str
    source: bytes
    expect: tuple[Verdict, ...]
    cuda: tuple[Verdict, ...]
    says: tuple[str, ...]
    cuda_says: tuple[str, ...]
    forbid: tuple[str, ...]
    longest_s: float
    time_limit_s: float
    hurried: bool
    known: str = ""
    first: bool = True
    timed: bool = False

    def right_on(self, backend: Backend) -> tuple[Verdict, ...]:
        """The verdicts that are right there."""
        return self.expect if backend == "cpu" else self.cuda


@cache
def catalogue() -> tuple[Row, ...]:
    """Every row, file after file.

    Raises MachineError for a file that is no catalogue: the installation is damaged.
    """
    rows = [row for path in sorted(FOLDER.glob("*.toml")) for row in _rows_of(path)]
    if len({row.id for row in rows}) != len(rows):
        raise MachineError("two rows of the catalogue of hostile submissions have the same id")
    return tuple(rows)


def _rows_of(path: Path) -> Iterator[Row]:
    try:
        entries: list[Any] = tomllib.loads(path.read_text(encoding="utf-8"))["row"]
        for body in entries:
            yield from _spellings(path.stem, _Entry.model_validate(body))
    except (OSError, KeyError, ValueError, ValidationError) as error:
        raise MachineError(f"{path.name} of the catalogue of hostile submissions cannot be read: {error}") from error


def _spellings(kind: str, entry: _Entry) -> Iterator[Row]:
    for number, spelling in enumerate(entry.each, 1):
        name = f"{kind}/{entry.id}" + (f"-{number}" if len(entry.each) > 1 else "")
        yield Row(
            id=name,
            tries=entry.tries,
            source=_source(entry).replace(b"@EACH@", spelling.encode()),
            expect=entry.expect,
            cuda=entry.cuda,
            says=entry.says,
            cuda_says=entry.cuda_says,
            forbid=entry.forbid,
            longest_s=entry.longest_s,
            time_limit_s=entry.time_limit_s,
            hurried=entry.hurried,
            known=entry.known,
            first=number == 1,
            timed=entry.timed,
        )


def _source(entry: _Entry) -> bytes:
    if entry.recipe is not None:
        if entry.recipe not in RECIPES:
            raise ValueError(f"row {entry.id} names the recipe {entry.recipe}, which does not exist")
        return RECIPES[entry.recipe]()
    if entry.source is not None:
        return entry.source.encode()
    if entry.timed:
        return _TIMED_FRAME.format(head=entry.head, body=entry.body).encode()
    return framed(entry.head, entry.body, entry.launch)


def framed(head: str = "", body: str = HONEST_BODY, launch: str = HONEST_LAUNCH) -> bytes:
    """A submission with one kernel in the usual frame."""
    return _FRAME.format(head=head, body=body, launch=launch).encode()
