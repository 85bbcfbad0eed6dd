"""The block table of the sequence that failed: which page holds which tokens, and which pages a fault touched.

A case's table follows from its seed, so it is made again for the picture instead of being kept in every report.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from markupsafe import Markup

from judge.examples import case_generator
from judge.problem import Case, Group, Problem
from judge.records import CaseReport
from judge.verification.numbers import count_of
from judge.web import svg

WIDTH, HEIGHT, ACROSS, GAP, TOP = 44, 34, 16, 4, 8
MAX_PAGES = 256
NEEDED = {"block_table", "context_lens"}
_making = Lock()


@dataclass(frozen=True)
class PageRow:
    logical: int
    physical: int
    tokens: str
    remark: str


@dataclass(frozen=True)
class DrawnTable:
    """sequence: which one. left_out: pages that were not drawn."""

    sequence: int
    context: int
    page: int
    picture: Markup
    rows: Sequence[PageRow]
    left_out: int


def draw_block_table(problem: Problem, told: CaseReport, seed: int) -> DrawnTable | None:
    """The picture for the explained case; None where the problem has no block table."""
    if not {buffer.name for buffer in problem.inputs} >= NEEDED or "PAGE" not in told.parameters:
        return None
    case = next((one for one in problem.cases if one.name == told.name), None)
    if case is None or case.group is Group.BENCH:
        return None
    # One at a time: a case may have tens of megabytes, and only its table is kept.
    with _making:
        table, contexts = _table_of(_Wanted(problem, case, seed))
    page = int(told.parameters["PAGE"])
    touched = _touched(told)
    sequence = _failing(told, table, touched)
    context = contexts[sequence]
    rows = []
    for logical, physical in enumerate(table[sequence]):
        first, last = logical * page, min((logical + 1) * page, context) - 1
        held = "" if last < first else str(first) if first == last else f"{first} to {last}"
        words = ["unused: do not read" if last < first else ""]
        words += [f"partly filled: {last - first + 1} of {page} slots"] if 0 <= last - first < page - 1 else []
        words += ["touched by the fault"] if physical in touched else []
        rows.append(PageRow(logical, physical, held, "; ".join(word for word in words if word)))
    shown = rows[:MAX_PAGES]
    return DrawnTable(
        sequence, context, page, _picture(shown, sequence, context, page, touched), shown, len(rows) - len(shown)
    )


@dataclass(frozen=True, eq=False)
class _Wanted:
    """What a table is made from; the key is small, so that the cache compares no problems."""

    problem: Problem
    case: Case
    seed: int

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wanted) and other._key == self._key

    @property
    def _key(self) -> tuple[str, str, str, int]:
        return self.problem.id, self.problem.version, self.case.name, self.seed


@lru_cache(maxsize=128)
def _table_of(wanted: _Wanted) -> tuple[list[list[int]], list[int]]:
    made = wanted.problem.generate(wanted.case, case_generator(wanted.case, wanted.seed))
    return made["block_table"].tolist(), made["context_lens"].tolist()


def _touched(told: CaseReport) -> set[int]:
    """Physical pages that diagnoses name; an index outside of the cache gives a page outside of it, -1 say."""
    pages = set()
    parameters = told.parameters
    elements = int(parameters["PAGE"]) * int(parameters.get("num_kv_heads", 1)) * int(parameters.get("D", 1))
    for diagnosis in told.diagnoses:
        if diagnosis.buffer in {"k_cache", "v_cache"} and diagnosis.index:
            flat = len(diagnosis.index) == 1
            pages.add(diagnosis.index[0] // elements if flat else diagnosis.index[0])
    return pages


def _failing(told: CaseReport, table: list[list[int]], touched: set[int]) -> int:
    """The sequence the first mismatch lies in, else the one whose table or pages a fault touched, else the first."""
    wanted = None
    if told.error is not None and told.error.first is not None:
        wanted = told.error.first.index[0]
    else:
        named = [d.index[0] for d in told.diagnoses if d.buffer in {*NEEDED, "q", "out"} and d.index]
        owners = [n for n, pages in enumerate(table) if touched & set(pages)]
        wanted = next(iter((*named, *owners)), None)
    return wanted if wanted is not None and 0 <= wanted < len(table) else 0


def _picture(rows: Sequence[PageRow], sequence: int, context: int, page: int, touched: set[int]) -> Markup:
    parts: list[str] = []
    for row in rows:
        x = 4 + row.logical % ACROSS * (WIDTH + GAP)
        y = TOP + row.logical // ACROSS * (HEIGHT + GAP + 10)
        used = max(0, min(context - row.logical * page, page))
        kind = "page-touched" if row.physical in touched else "page-used" if used else "page-unused"
        parts.append(svg.tag("rect", x=x, y=y, width=WIDTH, height=HEIGHT, class_=kind))
        if 0 < used < page:
            filled = WIDTH * used / page
            parts.append(
                svg.tag("rect", x=x + filled, y=float(y), width=WIDTH - filled, height=HEIGHT, class_="page-empty")
            )
        parts.append(svg.text(x + WIDTH / 2, y + 21, str(row.physical), "page-number", "middle"))
        parts.append(svg.text(x + WIDTH / 2, y + HEIGHT + 10, str(row.logical), "small", "middle"))
    lines = -(-len(rows) // ACROSS)
    title = (
        f"Block table of sequence {sequence}: {count_of(context, 'token')} in {count_of(-(-context // page), 'page')} "
        f"of {page}. In each box the physical page, under it the logical one. The table below says the same."
    )
    width = 8 + min(len(rows), ACROSS) * (WIDTH + GAP)
    return svg.picture(width, TOP + lines * (HEIGHT + GAP + 10) + 6, title, parts)
